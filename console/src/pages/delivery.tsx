// One delivery: everything that happened between us, the push service and the device, in order.
import { Link, useParams } from 'react-router';
import type { Delivery } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { stateOf } from '../components/deliveries.tsx';
import { DeliveryTimeline } from '../components/delivery-timeline.tsx';
import { HiddenValue } from '../components/hidden-values.tsx';
import { Loaded } from '../components/loaded.tsx';
import { nameOf } from '../components/message-text.ts';
import { Status } from '../components/status.tsx';
import { asSentence, codeTitle, pageOfCode } from '../failure-codes.ts';
import { channelNames, count, formatDuration, formatExact } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

export function DeliveryPage() {
  const app = useAppId();
  const { message = '', device = '' } = useParams();
  const query = useAnswer(
    'listDeliveries',
    { app, id: message, device_id: device, limit: 1 },
    { refetchInterval: ({ state }) => (state.data?.data[0]?.status === 'retrying' ? 3000 : false) },
  );
  const parent = useAnswer('getMessage', { app, id: message }).data;
  const name = parent ? nameOf({ id: parent.id, name: parent.name, title: parent.content.title }) : message;
  return (
    <Loaded query={query}>
      {({ data: [delivery] }) =>
        delivery ? (
          <Whole app={app} message={message} name={name} delivery={delivery} />
        ) : (
          <Empty title="No delivery to this device">
            The message <Link to={paths.message(app, message)}>{name}</Link> has no delivery to{' '}
            <span className="mono">{device}</span> yet, or the device was not in its audience.
          </Empty>
        )
      }
    </Loaded>
  );
}

function Whole(props: { app: string; message: string; name: string; delivery: Delivery }) {
  const { app, message, name, delivery } = props;
  const { may } = useMay('device.read');
  const { error_code: code, explained } = delivery;
  const page = code === null ? undefined : pageOfCode(code, app);
  return (
    <>
      <PageHead
        above={
          <>
            <Link to={paths.messages(app)}>Messages</Link> / <Link to={paths.message(app, message)}>{name}</Link>
          </>
        }
        title={
          <>
            Delivery <Status status={stateOf(delivery)} />
          </>
        }
        answer={tellDelivery(delivery)}
      />
      <div className="grid-2">
        <Card title="Timeline">
          <DeliveryTimeline entries={delivery.timeline} />
        </Card>
        <div className="stack">
          {code !== null && explained && (
            <Card title={codeTitle(code)}>
              <p style={{ margin: '0 0 8px' }}>{asSentence(explained.meaning)}</p>
              <p style={{ margin: 0 }}>
                <span className="muted">Next: </span>
                {explained.action} {page !== undefined && <Link to={page}>Open it</Link>}
              </p>
            </Card>
          )}
          <Card title="Facts">
            <Facts
              facts={[
                ['Message', <LinkedId key="m" id={message} to={paths.message(app, message)} />],
                [
                  'Device',
                  may ? (
                    <LinkedId key="d" id={delivery.device_id} to={paths.device(app, delivery.device_id)} />
                  ) : (
                    <CopyableId key="d" id={delivery.device_id} />
                  ),
                ],
                [
                  'User',
                  delivery.external_id === undefined ? (
                    <HiddenValue key="u" />
                  ) : (
                    delivery.external_id && (
                      <Link key="u" to={paths.user(app, delivery.external_id)}>
                        {delivery.external_id}
                      </Link>
                    )
                  ),
                ],
                ['Channel', channelNames[delivery.channel]],
                [
                  'Queued',
                  <span key="q">
                    <RelativeTime at={delivery.queued_at} />,{' '}
                    <span className="muted">{formatExact(delivery.queued_at)}</span>
                  </span>,
                ],
                ['Attempts', String(delivery.attempts)],
                [
                  "Provider's id",
                  delivery.provider_message_id && (
                    <span key="p" className="mono">
                      {delivery.provider_message_id}
                    </span>
                  ),
                ],
              ]}
            />
          </Card>
        </div>
      </div>
    </>
  );
}

/** The id of an object that has a page, with a button that copies it. */
function LinkedId({ id, to }: { id: string; to: string }) {
  return (
    <span className="linked-id">
      <Link className="mono" to={to}>
        {id}
      </Link>
      <CopyableId id={id} isIconAlone />
    </span>
  );
}

function tellDelivery(delivery: Delivery): string {
  const { status, error_code, attempts, queued_at, sent_at, clicked_at, displayed_at } = delivery;
  const tries = count(attempts, 'attempt');
  const code = error_code === null ? '' : codeTitle(error_code);
  if (status === 'skipped') return `Not tried: ${code.toLowerCase()}.`;
  if (status === 'retrying') return `${code} so far, after ${tries}. Another attempt follows.`;
  if (status === 'failed') return `${code}, after ${tries}.`;
  const time = sent_at ? `, ${formatDuration(Date.parse(sent_at) - Date.parse(queued_at))} after it was queued` : '';
  const mark = clicked_at ? ' The person clicked it.' : displayed_at ? ' The device displayed it.' : '';
  return `The push service took it at ${attempts === 1 ? 'the first attempt' : `attempt ${attempts}`}${time}.${mark}`;
}
