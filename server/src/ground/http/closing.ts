// The connections of a server that closes. Node.js ends only those that are idle at that moment. A
// client may keep a connection without a request, or one whose answer was under way, for longer
// than a process may take to end.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Closing {
  /** Ends each connection from now on when nothing on it is left to be answered. */
  begin(): void;
  /** Returns whether the connection ends with the answer that is about to be sent. */
  endsWith(socket: Socket): boolean;
}

/**
 * Milliseconds to wait for the first request of a connection. A request on its way arrives sooner;
 * connections that browsers open in advance have none.
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
      // The answer may have begun before the server began to close, so its headers may not announce
      // the end.
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
