// Server-sent events: an answer that goes on until its reader leaves, falls behind, or is told to
// connect again. A reader that falls behind is dropped, so that nothing is kept for it. Knows no
// resource: a room writes the events.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** The one who reads a stream. */
export interface EventReader {
  /** Sends one event, whose data is JSON on one line. Drops the reader that has fallen behind. */
  send(json: string): void;
  /** Ends the stream. The reader may connect again, and is judged again then. */
  end(): void;
}

/**
 * An answer that continues. While it is open it has no turn, no place at the door and no connection
 * to the database.
 */
export class EventStream {
  /**
   * Called when the headers have gone out. The function it returns is called once, when the stream
   * has ended.
   */
  readonly open: (reader: EventReader) => () => void;
  constructor(open: (reader: EventReader) => () => void) {
    this.open = open;
  }
}

export interface EventStreams {
  /** Answers a request with a stream. */
  serve(stream: EventStream, response: ServerResponse, headers: OutgoingHttpHeaders): void;
  /** Ends all streams, so that their readers connect to another process. */
  endAll(): void;
}

/** Milliseconds between two signs of life: shorter than the usual minute of a proxy (a guess). */
const heartbeatEveryMs = 15_000;
/** Milliseconds after which a browser connects again. */
const retryMs = 2000;
/**
 * Bytes that may wait for a reader, beyond the buffers of the system. A reader with more has fallen
 * behind.
 */
const behindBytesMax = 256 * 1024;

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  // nginx collects an answer before it forwards it, unless this header forbids it.
  'x-accel-buffering': 'no',
  connection: 'close',
};

export function createEventStreams(): EventStreams {
  const open = new Set<{ readonly beat: () => void; readonly end: () => void }>();
  let timer: NodeJS.Timeout | undefined;
  let isClosing = false;

  return {
    serve({ open: begin }, response, headers) {
      const { socket } = response;
      // The reader may have left while the request was checked. Then no event would announce its
      // end.
      if (response.closed || response.destroyed || !socket || socket.destroyed) return;
      let isOver = false;
      let onEnd: (() => void) | undefined;
      const write = (text: string): void => {
        if (isOver) return;
        const waiting = response.writableLength;
        if (waiting > 0 && waiting + Buffer.byteLength(text) > behindBytesMax) response.destroy();
        else response.write(text);
      };
      const one = {
        beat: () => write(':\n\n'),
        end(): void {
          if (response.writableLength > 0) response.destroy();
          else response.end();
        },
      };
      response.on('error', () => response.destroy());
      response.on('close', () => {
        if (isOver) return;
        isOver = true;
        open.delete(one);
        if (open.size === 0) clearInterval(timer);
        // A reader that leaves ends only its own half of the connection.
        if (!response.writableFinished) socket.destroy();
        onEnd?.();
      });
      response.writeHead(200, { ...headers, ...streamHeaders });
      response.write(`retry: ${retryMs}\n\n`);
      if (open.size === 0) {
        timer = setInterval(() => {
          for (const each of open) each.beat();
        }, heartbeatEveryMs);
        timer.unref();
      }
      open.add(one);
      onEnd = begin({ send: (json) => write(`data: ${json}\n\n`), end: one.end });
      if (isClosing) one.end();
    },
    endAll() {
      isClosing = true;
      for (const each of open) each.end();
    },
  };
}
