// A connection to PostgreSQL that is watched until it is ready. One that ends before then (the server starts, is full or is
// closed to everybody, or a proxy stands there alone) is refused, and said to be: the driver by itself connects again at once,
// thousands of times a second, and whoever waits for the connection waits for as long as that goes on.
import { connect, type Socket } from 'node:net';

export interface DatabaseAddress {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** A unix socket, in place of host and port. */
  readonly path?: string | false | undefined;
  readonly ssl?: unknown;
}

/** The type of the message that ends a start-up (PostgreSQL documentation, "Message Formats"). */
const readyForQuery = 'Z'.charCodeAt(0);

/** For the driver's option `socket`. Several hosts are tried in turn. */
export function createDatabaseSockets(): (address: DatabaseAddress) => Socket {
  let attempts = 0;
  return ({ host, port, path, ssl }) => {
    const turn = attempts++ % host.length;
    const name = host[turn] ?? 'localhost';
    const socket = path ? connect(path) : connect({ host: name, port: port[turn] ?? 5432 });
    // The driver takes the name for the certificate from here. Under TLS it speaks through a socket of its own.
    if (ssl) return Object.assign(socket, { host: name });
    refuseUntilReady(socket);
    return socket;
  };
}

function refuseUntilReady(socket: Socket): void {
  let received = Buffer.alloc(0);
  const watch = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    // Each message is its type, its length without the type, and that much.
    while (received.length >= 5) {
      if (received[0] === readyForQuery) {
        socket.off('data', watch).off('end', refuse);
        return;
      }
      const length = 1 + received.readUInt32BE(1);
      if (received.length < length) return;
      received = received.subarray(length);
    }
  };
  const refuse = (): void => {
    const error = new Error('the database ended the connection before it was ready');
    socket.destroy(Object.assign(error, { code: 'CONNECTION_REFUSED' }));
  };
  socket.on('data', watch).on('end', refuse);
}
