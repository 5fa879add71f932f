// A count that follows typing. A single change is counted at once, and a series of changes when it
// pauses. A new request cancels the former one, and the former number stays visible until the new
// one arrives.
import { Tooltip } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call, Problem } from '../../api/client.ts';
import type { Preview, PreviewRequest } from '../../api/objects.ts';
import { keyOf } from '../../api/queries.ts';
import { channelNames, count, countUsers, formatNumber } from '../../format.ts';

const typingPauseMs = 120;
const asksAtOnce = { leading: true };
const freshMs = 15_000;

interface LiveCount {
  readonly counted: Preview | undefined;
  /** True: the number belongs to a former filter. */
  readonly isMoving: boolean;
  readonly error: unknown;
}

interface LiveOptions {
  /** While true, no new count is requested. */
  readonly isPaused?: boolean;
  /**
   * True: it waits until no other part is being counted, so that many parts do not block other
   * people's counts.
   */
  readonly isPart?: boolean;
}

/** Counts an audience live; null counts nothing. An older count is also canceled in the service. */
export function useLiveCount(
  app: string,
  question: PreviewRequest | null,
  { isPaused = false, isPart = false }: LiveOptions = {},
): LiveCount {
  const text = question === null ? null : JSON.stringify(question);
  const [asked] = useDebouncedValue(text, typingPauseMs, asksAtOnce);
  const given = { app, body: JSON.parse(asked ?? '{}') as PreviewRequest };
  const query = useQuery({
    queryKey: keyOf('previewAudience', given),
    queryFn: ({ signal }) => {
      const ask = () => call('previewAudience', given, { signal });
      return isPart ? inTurn(ask, signal) : ask();
    },
    enabled: asked !== null && text !== null && !isPaused,
    placeholderData: keepPreviousData,
    staleTime: freshMs,
    retry: false,
  });
  if (text === null) return { counted: undefined, isMoving: false, error: null };
  const isMoving = asked !== text || query.isFetching;
  return { counted: query.data, isMoving, error: isMoving ? null : query.error };
}

let lastTurn: Promise<unknown> = Promise.resolve();

/** Does one piece of work after the other. Work that was aborted meanwhile is skipped. */
function inTurn<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const turn = lastTurn.then(() => {
    signal.throwIfAborted();
    return work();
  });
  lastTurn = turn.catch(() => undefined);
  return turn;
}

/** `40,000 web push, 5,000 Apple push`. */
function tellChannels({ by_channel: channels }: Preview): string {
  const parts = Object.entries(channelNames).flatMap(([channel, name]) => {
    const devices = channels[channel as keyof typeof channelNames];
    return devices > 0 ? [`${formatNumber(devices)} ${name}`] : [];
  });
  return parts.length === 0 ? 'no device' : parts.join(', ');
}

const tooSlow =
  'This takes more than two seconds to count, so no number is shown. A message still reaches exactly these people.';

const toDo = (error: unknown): string =>
  `${error instanceof Problem ? 'Correct' : 'Complete'} the filter to see how many it reaches.`;

/**
 * The count of the whole filter: devices, people, channels. Screen readers read it out when it
 * changes.
 */
export function WholeCount({ live }: { live: LiveCount }) {
  const { counted, isMoving, error } = live;
  if (error instanceof Problem && error.status !== 400) {
    return (
      <p className="live-count" role="status">
        {error.path === null ? error.message : tooSlow}
      </p>
    );
  }
  return (
    <p className={isMoving && counted ? 'live-count is-moving' : 'live-count'} role="status" aria-busy={isMoving}>
      {counted && !error ? (
        <>
          <strong>{count(counted.count, 'device')}</strong> of {countUsers(counted)}
          {counted.count > 0 && <span className="muted"> · {tellChannels(counted)}</span>}
        </>
      ) : (
        <span className="muted">{isMoving ? 'Counting…' : toDo(error)}</span>
      )}
    </p>
  );
}

/** The count of one condition, at the end of its row. */
export function PartCount({ app, filter, isPaused }: { app: string; filter: object | null; isPaused: boolean }) {
  const question = filter === null ? null : { filter };
  const { counted, isMoving, error } = useLiveCount(app, question, { isPaused, isPart: true });
  if (!counted || error) return <span className="part-count" />;
  const label = `${count(counted.count, 'device')} fulfil this condition: ${tellChannels(counted)}`;
  return (
    <Tooltip label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the channels behind the number are told on focus */}
      <span className={isMoving ? 'part-count is-moving' : 'part-count'} tabIndex={0} role="note" aria-label={label}>
        {formatNumber(counted.count)}
      </span>
    </Tooltip>
  );
}
