// The program behind `node-server.ts`: returns every body and the two headers unless its fault says
// otherwise. When it is told to end, it writes down which requests it acted upon.
import { readFileSync, writeFileSync } from 'node:fs';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { createRandom } from '../../../rig/src/random.ts';
import { shortBytes, shortPath } from './foreign-server.ts';

interface Orders {
  readonly port: number;
  readonly seed: number;
  readonly actedFile: string;
  readonly fault?: 'resets' | 'goaway' | 'settings';
  readonly initialWindowSize?: number;
  readonly maxConcurrentStreams?: number;
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders;
const { initialWindowSize = 65_535, maxConcurrentStreams = 100 } = orders;
const random = createRandom(orders.seed);
const acted: number[] = [];
const sockets = new Set<Socket>();
/**
 * The highest stream of a session that is acted upon. It no longer rises after the session has sent
 * GOAWAY.
 */
const lastStreams = new WeakMap<ServerHttp2Session, number>();
const leaving = new WeakSet<ServerHttp2Session>();
const shrunk = new WeakSet<ServerHttp2Session>();
let count = 0;

interface Incoming {
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
  /** Acts upon the request: returns its body. */
  accept(): void;
}

const faults = {
  none: ({ accept }: Incoming) => accept(),
  resets({ stream, accept }: Incoming) {
    if (random.below(4) > 0) {
      accept();
      // The reset comes in the middle of the answer or after it.
      if (random.below(4) === 0) setImmediate(() => stream.close(random.pick([2, 5, 8])));
    } else stream.close(random.pick([1, 2, 5, 7, 7, 7, 8, 11]));
  },
  goaway({ stream, session, accept }: Incoming) {
    const id = stream.id ?? 0;
    const last = lastStreams.get(session) ?? 0;
    if (leaving.has(session)) {
      // Streams above the last stream of the GOAWAY are not acted upon.
      if (id <= last) accept();
      return;
    }
    lastStreams.set(session, Math.max(id, last));
    if (count % 60 === 0) {
      leaving.add(session);
      session.goaway(0, Math.max(id, last));
    }
    setImmediate(accept);
  },
  settings({ session, accept }: Incoming) {
    // node:http2 closes a session that owes more than ten acknowledgements of settings.
    if (count % 3 === 0 && !session.pendingSettingsAck) {
      if (shrunk.delete(session)) session.settings({ initialWindowSize: 65_535 });
      else {
        shrunk.add(session);
        session.settings({
          maxConcurrentStreams: 30 + random.below(90),
          // Never 0: with a window of 0 no request would end and the window would never open again.
          initialWindowSize: 1 + random.below(random.pick([300, 30_000])),
          headerTableSize: random.below(6_000),
        });
      }
    }
    setImmediate(accept);
  },
};
const meet = faults[orders.fault ?? 'none'];

const server = createSecureServer({
  cert: readFileSync(certificateFile),
  key: readFileSync(keyFile),
  settings: { initialWindowSize, maxConcurrentStreams },
});
server.on('connection', (socket: Socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('close', () => sockets.delete(socket));
});
server.on('session', (session) => session.on('error', () => {}));
server.on('stream', (stream, headers) => {
  const chunks: Buffer[] = [];
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => {
    const session = stream.session as ServerHttp2Session | undefined;
    if (session === undefined || session.destroyed || stream.destroyed) return;
    count += 1;
    const accept = () => {
      if (stream.destroyed) return;
      acted.push(Number(headers['x-id']));
      stream.respond({ ':status': 200, 'x-id': headers['x-id'], 'x-echo': headers['x-echo'] });
      const body = Buffer.concat(chunks);
      stream.end(String(headers[':path']).startsWith(shortPath) ? body.subarray(0, shortBytes) : body);
    };
    meet({ stream, session, accept });
  });
});
server.listen(orders.port, '127.0.0.1');

/**
 * Cuts a connection, with a TCP reset or without. The session's own `destroy` would send GOAWAY
 * first.
 */
process.on('SIGUSR2', () => {
  const socket = [...sockets][random.below(sockets.size || 1)];
  if (random.below(2) === 0) socket?.resetAndDestroy();
  else socket?.destroy();
});

process.on('SIGTERM', () => {
  writeFileSync(orders.actedFile, acted.join('\n'));
  process.exit(0);
});
