// A gate between the service and its database. Shut: connections end and new ones are refused, as
// when the database is down. Frozen: connections stay open and nothing passes, as when the network
// is broken. Full: connections above a number are refused with 53300.

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { whenDone } from '../../../rig/src/when-done.ts';

export interface DatabaseGate {
  /** To be passed to `setup({ reachDatabase })`. */
  reach(url: string): Promise<string>;
  /** Bytes that the service has sent to the database so far. */
  readonly bytesSent: number;
  shut(): Promise<void>;
  open(): Promise<void>;
  freeze(): void;
  /** Frozen in one direction: the service's bytes pass, and no answer does. */
  freezeAnswers(): void;
  thaw(): void;
  /** Limits the service's connections from now on; existing ones stay. */
  allow(connectionsMax: number): void;
}

/**
 * The server's error before it closes the connection (PostgreSQL protocol, 53.7: ErrorResponse).
 */
function tooManyClients(): Buffer {
  const fields = Buffer.from('SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0');
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

export function createDatabaseGate(): DatabaseGate {
  const sockets = new Set<Socket>();
  const answering = new Set<Socket>();
  let connectToDatabase: () => Socket;
  let server: Server;
  let port = 0;
  let bytesSent = 0;
  let isFrozen = false;
  let connectionsMax = Number.POSITIVE_INFINITY;

  const open = async (): Promise<void> => {
    server = createServer((inner) => {
      inner.on('error', () => undefined);
      if (answering.size >= connectionsMax) {
        // Answered after the client's startup message.
        inner.once('data', () => inner.end(tooManyClients()));
        return;
      }
      const outer = connectToDatabase();
      answering.add(outer);
      for (const [socket, other] of [
        [inner, outer],
        [outer, inner],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', (hadError) => {
          sockets.delete(socket);
          answering.delete(socket);
          // Bytes before the end, such as the reason of a refusal, are still passed on.
          if (hadError) other.destroy();
          else other.end();
        });
        socket.pipe(other);
        if (isFrozen) socket.pause();
      }
      inner.on('data', (chunk: Buffer) => {
        bytesSent += chunk.length;
      });
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });

  return {
    get bytesSent() {
      return bytesSent;
    },
    async reach(text) {
      const url = new URL(text);
      const directory = url.searchParams.get('host');
      const databasePort = Number(url.port || 5432);
      const { hostname } = url;
      connectToDatabase = () =>
        directory === null
          ? connect({ host: hostname, port: databasePort })
          : connect({ path: `${directory}/.s.PGSQL.${databasePort}` });
      await open();
      whenDone(async () => {
        if (server.listening) await shut();
      });
      url.searchParams.delete('host');
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    shut,
    open,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    freezeAnswers() {
      for (const socket of answering) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    allow(most) {
      connectionsMax = most;
    },
  };
}
