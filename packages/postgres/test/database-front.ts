// A server that listens in front of a database and decides what happens to each connection.
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Takes one connection. `reach` connects to the database. */
export type TakeConnection = (raw: Socket, reach: () => Socket) => void;

/** Returns the database's address through the front; `directory`: by a Unix socket there. */
export async function startFront(directUrl: string, take: TakeConnection, directory?: string): Promise<string> {
  const address = new URL(directUrl);
  const socketDirectory = address.searchParams.get('host');
  const port = Number(address.port || 5432);
  const target =
    socketDirectory === null ? { host: address.hostname, port } : { path: `${socketDirectory}/.s.PGSQL.${port}` };
  const server = createServer((raw) => {
    raw.on('error', () => undefined);
    take(raw, () => connect(target as NetConnectOpts).on('error', () => undefined));
  });
  await new Promise<void>((resolve) => {
    if (directory === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(`${directory}/.s.PGSQL.${port}`, resolve);
  });
  onTestFinished(() => void server.close());
  address.hostname = '127.0.0.1';
  if (directory === undefined) {
    address.searchParams.delete('host');
    address.port = String((server.address() as AddressInfo).port);
  } else address.searchParams.set('host', directory);
  return address.href;
}

/** Passes everything on. */
export const pass: TakeConnection = (raw, reach) => {
  const far = reach();
  raw.pipe(far).pipe(raw);
};

export interface Exchanges {
  readonly url: string;
  /** Round trips so far: how often a client sent something after it was answered. */
  readonly count: number;
}

/** Turns of the event loop without data after which a client waits for an answer. */
const quietTurns = 10;

/**
 * Counts the round trips of all connections. Passes bytes on when a client has sent all it has to
 * say.
 */
export async function countExchanges(directUrl: string): Promise<Exchanges> {
  let count = 0;
  const url = await startFront(directUrl, (raw, reach) => {
    const far = reach();
    let held: Buffer[] = [];
    let quiet = 0;
    const passOn = (): void => {
      if (quiet++ < quietTurns) return void setImmediate(passOn);
      count++;
      far.write(Buffer.concat(held));
      held = [];
    };
    raw.on('data', (chunk: Buffer) => {
      quiet = 0;
      if (held.push(chunk) === 1) passOn();
    });
    far.pipe(raw);
    raw.on('close', () => far.destroy());
  });
  return {
    url,
    get count() {
      return count;
    },
  };
}
