// The connections of a server that closes. Node.js ends those that are at rest at that moment, and
// no others. A client may keep a connection without a request, or one whose answer was under way,
// for longer than a process may take to end.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Closing {
  /** Ends each connection from now on when nothing on it is left to be answered. */
  begin(): void;
  /** Returns whether the connection ends with the answer that is about to be sent. */
  endsWith(socket: Socket): boolean;
}

/**
 * Milliseconds for the first request of a connection. Browsers open some connections in advance,
 * and a request that is on its way arrives sooner.
 */
const firstRequestMs = 1000;

export function followConnections(server: Server): Closing {
  const connections = new Map<Socket, { hasAsked: boolean; unanswered: number }>();
  let isClosing = false;
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { hasAsked: false, unanswered: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    const connection = connections.get(socket);
    if (!connection) return;
    connection.hasAsked = true;
    connection.unanswered++;
    response.once('close', () => {
      connection.unanswered--;
      // The answer may have begun before the server began to close, and so without a word of the
      // end.
      if (isClosing && connection.unanswered === 0) socket.destroySoon();
    });
  });
  return {
    begin() {
      isClosing = true;
      setTimeout(() => {
        for (const [socket, { hasAsked }] of connections) if (!hasAsked) socket.destroy();
      }, firstRequestMs);
    },
    endsWith: (socket) => isClosing && connections.get(socket)?.unanswered === 1,
  };
}
