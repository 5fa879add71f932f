// The live feed of an app. The tabs of a browser share one stream: the tab that holds the lock
// reads it and tells the others. When that tab closes, the lock passes to the next one, whose
// stream begins with the whole state.

import { addressOf } from './client.ts';
import type { LiveEvent } from './objects.ts';

type Told = { readonly event: LiveEvent } | { readonly isConnected: boolean } | { readonly asks: true };

export interface LiveListener {
  /** An event of the feed, read by any tab. */
  readonly onEvent: (event: LiveEvent) => void;
  readonly onConnected: (isConnected: boolean) => void;
}

/** Milliseconds before the first try after a refusal; each further wait is twice as long. */
const retryMs = 2000;
const retryMsMax = 30_000;

/** Follows an app's feed until the function that it returns is called. */
export function followLive(appId: string, listener: LiveListener): () => void {
  const name = `carillon-live ${appId}`;
  const tabs = new BroadcastChannel(name);
  const stop = new AbortController();
  let leads = false;
  let isConnected = false;

  const tell = (connected: boolean) => {
    isConnected = connected;
    listener.onConnected(connected);
    if (leads) tabs.postMessage({ isConnected } satisfies Told);
  };
  tabs.onmessage = ({ data }: MessageEvent<Told>) => {
    if ('asks' in data) {
      if (leads) tabs.postMessage({ isConnected } satisfies Told);
    } else if (leads) return;
    else if ('event' in data) listener.onEvent(data.event);
    else tell(data.isConnected);
  };
  tabs.postMessage({ asks: true } satisfies Told);

  const read = () => {
    leads = true;
    return readStream<LiveEvent>(addressOf('followApp', { app: appId }), stop.signal, {
      onConnected: tell,
      onEvent: (event) => {
        listener.onEvent(event);
        tabs.postMessage({ event } satisfies Told);
      },
    });
  };
  // Without Web Locks, over plain http from another machine, every tab has a stream of its own.
  const turn = navigator.locks ? navigator.locks.request(name, { signal: stop.signal }, read) : read();
  turn.catch((error: unknown) => {
    // Aborted when the tab leaves, so that it does not wait for the lock any more.
    if (!stop.signal.aborted) throw error;
  });
  return () => {
    stop.abort();
    tabs.close();
  };
}

/**
 * Reads a stream of server-sent events until `signal` aborts. The browser opens a broken stream
 * again. A refused stream is opened again here, after a growing wait.
 */
export function readStream<Event>(
  address: string,
  signal: AbortSignal,
  { onEvent, onConnected }: { onEvent(event: Event): void; onConnected(isConnected: boolean): void },
): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = retryMs;
    const open = () => {
      source = new EventSource(address);
      source.onopen = () => {
        waitMs = retryMs;
        onConnected(true);
      };
      source.onmessage = ({ data }: MessageEvent<string>) => onEvent(JSON.parse(data) as Event);
      source.onerror = () => {
        onConnected(false);
        if (source?.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, waitMs);
        waitMs = Math.min(retryMsMax, waitMs * 2);
      };
    };
    const close = () => {
      clearTimeout(timer);
      source?.close();
      resolve();
    };
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', close, { once: true });
    open();
  });
}
