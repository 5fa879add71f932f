import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { formatExact, formatRelative } from '../format.ts';

const tickMs = 10_000;
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer serves every instant on the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => nowMs);

/** How long ago, with the exact instant on hover and focus. An absent instant is a dash. */
export function RelativeTime({ at, none = '–' }: { at: string | null | undefined; none?: string }) {
  const now = useNow();
  if (!at) return <span className="muted">{none}</span>;
  return (
    <Tooltip label={formatExact(at)}>
      <time dateTime={at}>{formatRelative(at, Math.max(now, Date.now() - tickMs))}</time>
    </Tooltip>
  );
}
