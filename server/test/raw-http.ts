// HTTP as bytes on a socket, for requests that no well-behaved client sends: broken framing,
// doubled headers, endless bodies. It reads answers by their Content-Length and judges nothing.
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Headers by lower-case name; of a repeated header the last value. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface RawConnection {
  send(data: string | Uint8Array): void;
  /** The next answer. Rejects when the connection ends before it is complete. */
  answer(options?: { isHead?: boolean }): Promise<RawAnswer>;
  /** Resolves when the server has closed its side. */
  readonly closed: Promise<void>;
  destroy(): void;
}

/** Opens a connection to the server of an `http:` address. */
export async function connectRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ host: hostname, port: Number(port) });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  let received = Buffer.alloc(0);
  let isClosed = false;
  let wake = (): void => undefined;
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  // A server that closes with unread bytes resets the connection; that is an end, too.
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    const end = (): void => {
      isClosed = true;
      wake();
      resolve();
    };
    socket.once('end', end);
    socket.once('close', end);
  });
  return {
    send: (data) => void socket.write(data),
    async answer({ isHead = false } = {}) {
      for (;;) {
        const parsed = parseAnswer(received, isHead);
        if (parsed) {
          received = received.subarray(parsed.length);
          return parsed.answer;
        }
        if (isClosed) throw new Error(`the connection ended after ${received.length} bytes: ${received.toString()}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    closed,
    destroy: () => void socket.destroy(),
  };
}

/** Sends one request on a new connection. */
export async function exchange(url: string, request: string | Uint8Array): Promise<RawAnswer> {
  const connection = await connectRaw(url);
  try {
    connection.send(request);
    return await connection.answer({ isHead: request.toString().startsWith('HEAD ') });
  } finally {
    connection.destroy();
  }
}

function parseAnswer(bytes: Buffer, isHead: boolean): { answer: RawAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const status = Number(statusLine.split(' ')[1]);
  const hasBody = !isHead && status >= 200;
  const length = headEnd + 4 + (hasBody ? Number(headers['content-length'] ?? 0) : 0);
  if (bytes.length < length) return undefined;
  const text = bytes.subarray(headEnd + 4, length).toString();
  const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
  return { answer: { status, headers, text, body: isJson ? JSON.parse(text) : undefined }, length };
}
