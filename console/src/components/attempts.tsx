// The last attempts of a webhook, each with its duration drawn.
import { Link } from 'react-router';
import type { WebhookAttempt } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { formatDuration } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import { type Column, VirtualRows } from '../ui/virtual-rows.tsx';
import { Loaded } from './loaded.tsx';
import { isGood, shortAnswer, tellAnswer } from './webhook-text.ts';

const timeLimitMs = 5000;

export function Attempts({ app, webhook }: { app: string; webhook: string }) {
  const attempts = useAnswer('listWebhookAttempts', { webhook }, { refetchInterval: 5000 });
  return (
    <Card title="Last attempts" isFlush>
      <Loaded query={attempts}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No attempt yet">The next outcome or click is the first event. Or send a test above.</Empty>
          ) : (
            <VirtualRows
              label="Attempts"
              rows={data}
              columns={columnsOf(app)}
              keyOf={({ event_id, attempt }) => `${event_id} ${attempt}`}
              renderRow={(_row, attributes, cells) => <div {...attributes}>{cells}</div>}
              minWidth={720}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

const columnsOf = (app: string): readonly Column<WebhookAttempt>[] => [
  { name: 'When', width: '116px', cell: ({ at }) => <RelativeTime at={at} /> },
  {
    name: 'Answer',
    width: '140px',
    onCard: 'aside',
    cell: (attempt) => (
      <span title={tellAnswer(attempt)}>
        <State
          tone={isGood(attempt) ? 'good' : 'bad'}
          mark={isGood(attempt) ? 'done' : 'failed'}
          text={shortAnswer(attempt)}
        />
      </span>
    ),
  },
  {
    name: 'Event',
    width: 'minmax(120px, 1fr)',
    onCard: 'title',
    cell: ({ event }) => <span className="mono">{event}</span>,
  },
  { name: 'Attempt', width: '64px', isRight: true, cell: ({ attempt }) => String(attempt) },
  {
    name: 'Message',
    width: 'minmax(120px, 1fr)',
    cell: ({ message_id, device_id }) =>
      message_id === null ? null : (
        <Link
          className="mono"
          to={device_id === null ? paths.message(app, message_id) : paths.delivery(app, message_id, device_id)}
        >
          {message_id}
        </Link>
      ),
  },
  {
    name: 'Duration',
    width: '160px',
    cell: ({ duration_ms }) => (
      <span style={{ display: 'flex', gap: 8, alignItems: 'center' }}>
        <span className="duration">
          <span style={{ width: `${Math.min(100, Math.max(1, (duration_ms / timeLimitMs) * 100))}%` }} />
        </span>
        {formatDuration(duration_ms)}
      </span>
    ),
  },
];
