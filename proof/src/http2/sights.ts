// Counts what was seen on the connections of a run, because a proof that met no fault proves
// nothing. It observes and changes nothing.
import type { TLSSocket } from 'node:tls';
import type { Http2Engine } from '@carillon/http2';
import { FrameReader, frameTypes, readUint32 } from '../../../packages/http2/src/frames.ts';
import { errorCodes } from '../../../packages/http2/src/protocol-error.ts';

const names = {
  connections: 'connections',
  goaways: 'GOAWAY',
  resets: 'RST_STREAM',
  refusals: 'REFUSED_STREAM',
  settings: 'SETTINGS',
  windowUpdates: 'WINDOW_UPDATE',
  lost: 'connections lost',
  brokenOff: 'connections that we gave up',
  timeouts: 'timeouts',
} as const;

export type SightName = keyof typeof names;

export class Sights {
  readonly counts: Record<SightName, number> = {
    connections: 0,
    goaways: 0,
    resets: 0,
    refusals: 0,
    settings: 0,
    windowUpdates: 0,
    lost: 0,
    brokenOff: 0,
    timeouts: 0,
  };
  /**
   * Reasons for which our side gave up connections: the peer broke the protocol, or our side
   * believes so.
   */
  readonly accusations: string[] = [];

  /** The same engine, observed. */
  watch(engine: Http2Engine): Http2Engine {
    return (socket, options) => {
      this.counts.connections += 1;
      const { events } = options;
      const session = engine(socket, {
        ...options,
        events: {
          onReady: () => events.onReady(),
          onCapacity: () => events.onCapacity(),
          onDrain: (error) => events.onDrain(error),
          onClose: (error) => {
            this.#onClose(error);
            events.onClose(error);
          },
        },
      });
      this.#read(socket);
      return session;
    };
  }

  #onClose(error: unknown): void {
    if (error === undefined) return;
    if (error instanceof Error && error.name === 'ProtocolError') {
      this.counts.brokenOff += 1;
      this.accusations.push(error.message);
    } else this.counts.lost += 1;
  }

  #read(socket: TLSSocket): void {
    const reader = new FrameReader((type, flags, _id, bytes, start) => {
      if (type === frameTypes.goaway) this.counts.goaways += 1;
      else if (type === frameTypes.rstStream) {
        this.counts.resets += 1;
        if (readUint32(bytes, start) === errorCodes.refusedStream) this.counts.refusals += 1;
      } else if (type === frameTypes.settings && (flags & 1) === 0) this.counts.settings += 1;
      else if (type === frameTypes.windowUpdate) this.counts.windowUpdates += 1;
    });
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
  }

  /** A text such as `12 GOAWAY, 3 connections`. */
  describe(which: readonly SightName[]): string {
    return which.map((name) => `${this.counts[name]} ${names[name]}`).join(', ');
  }

  /** The names of the sights that were never seen. */
  missing(which: readonly SightName[]): readonly string[] {
    return which.filter((name) => this.counts[name] === 0).map((name) => names[name]);
  }
}
