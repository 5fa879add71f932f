// Events of an app as they arrive, for checking an integration.
import { Button, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import { addressOf } from '../api/client.ts';
import { readStream } from '../api/live.ts';
import type { ArrivedEvent, TailEvent } from '../api/objects.ts';
import { useAppId } from '../api/session.ts';
import { DeveloperTabs } from '../components/developer-tabs.tsx';
import { useFilters } from '../components/list.tsx';
import { ValuesAsSent } from '../components/values-as-sent.tsx';
import { count } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { Filters, PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

/** Events that the page keeps; older ones are on the pages of their users. */
const keptMax = 500;
const typingPauseMs = 300;

export function LiveEvents() {
  const app = useAppId();
  const { filters, set } = useFilters(['name', 'text']);
  const [name] = useDebouncedValue(filters.name, typingPauseMs);
  const { shown, waiting, isConnected, isPaused, setPaused } = useTail(app, name);
  const wanted = (filters.text ?? '').trim().toLowerCase();
  const found = shown.filter((event) => wanted === '' || JSON.stringify(event).toLowerCase().includes(wanted));
  return (
    <>
      <PageHead
        title="Developers"
        answer={
          <>
            <span className={`dot tone-${isConnected ? 'good' : 'warn'}`} aria-hidden="true" />{' '}
            {isConnected
              ? 'Listening. An event appears within a second of its request.'
              : 'Connecting to the stream of events…'}
          </>
        }
        actions={
          <Button
            variant="default"
            onClick={() => setPaused(!isPaused)}
            leftSection={
              isPaused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />
            }
          >
            {isPaused ? `Go on${waiting > 0 ? `, ${count(waiting, 'new event')}` : ''}` : 'Pause'}
          </Button>
        }
      />
      <DeveloperTabs app={app} />
      <Card isFlush>
        <Filters>
          <TextInput
            type="search"
            label="Event name"
            placeholder="purchase"
            style={{ flex: '1 1 160px', maxWidth: 240 }}
            value={filters.name ?? ''}
            onChange={({ currentTarget }) => set('name', currentTarget.value)}
          />
          <TextInput
            type="search"
            label="Contains"
            placeholder="A user or value"
            style={{ flex: '1 1 160px', maxWidth: 240 }}
            value={filters.text ?? ''}
            onChange={({ currentTarget }) => set('text', currentTarget.value)}
          />
        </Filters>
        {found.length > 0 ? (
          <Rows app={app} events={found} />
        ) : (
          <Empty
            title={shown.length === 0 ? 'Waiting for the first event' : 'No event has this text'}
            action={
              shown.length === 0 && (
                <CodeBlock label="An event" code="await carillon.track('article_read', { section: 'news' });" />
              )
            }
          >
            {shown.length === 0
              ? 'No events in the last 7 days. This line on a page of your site tracks one.'
              : 'Change the text above.'}
          </Empty>
        )}
      </Card>
    </>
  );
}

/** The tail of events, newest first. While it is paused, events wait and are counted. */
function useTail(app: string, name: string | undefined) {
  const [all, setAll] = useState<readonly ArrivedEvent[]>([]);
  const [held, setHeld] = useState<readonly ArrivedEvent[] | null>(null);
  const [isConnected, setConnected] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    void readStream<TailEvent>(addressOf('followEvents', { app, name }), stop.signal, {
      onConnected: setConnected,
      onEvent: ({ type, events }) =>
        // A stream begins with the last events, also when it is opened again. Events are therefore
        // shown only once.
        setAll((before) => (type === 'recent' ? events : [...events, ...before].slice(0, keptMax))),
    });
    return () => stop.abort();
  }, [app, name]);
  const seen = new Set(held?.map(({ id }) => id));
  return {
    shown: held ?? all,
    waiting: held === null ? 0 : all.filter(({ id }) => !seen.has(id)).length,
    isConnected,
    isPaused: held !== null,
    setPaused: (isPaused: boolean) => setHeld(isPaused ? all : null),
  };
}

function Rows({ app, events }: { app: string; events: readonly ArrivedEvent[] }) {
  return (
    <ul className="rows" aria-label="Events">
      {events.map(({ id, name, device_id, external_id, occurred_at, properties }) => (
        <li key={id} className="row">
          <span className="muted event-time">
            <RelativeTime at={occurred_at} />
          </span>
          <strong className="event-name">{name}</strong>
          {external_id !== null && <Link to={paths.user(app, external_id)}>{external_id}</Link>}
          {device_id !== null && (
            <Link className="mono" to={paths.device(app, device_id)}>
              {device_id}
            </Link>
          )}
          <ValuesAsSent values={properties} />
        </li>
      ))}
    </ul>
  );
}
