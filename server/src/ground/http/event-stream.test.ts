import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEventStreams, type EventReader, EventStream } from './event-stream.ts';

/** A server that answers each request with a stream, and the readers that came. */
async function serve() {
  const streams = createEventStreams();
  const readers: { reader: EventReader; ended: Promise<void> }[] = [];
  let arrived = (): void => undefined;
  const server = createServer((_request, response) => {
    streams.serve(
      new EventStream((reader) => {
        let end = (): void => undefined;
        const ended = new Promise<void>((resolve) => {
          end = resolve;
        });
        readers.push({ reader, ended });
        arrived();
        return () => end();
      }),
      response,
      { 'x-request-id': 'req_1' },
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    server,
    streams,
    async reader() {
      while (readers.length === 0) {
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      }
      const [first] = readers;
      if (!first) throw new Error('nobody reads');
      return first;
    },
  };
}

const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('a stream of events', () => {
  it('sends each event as one line of data, with the headers of the answer', async () => {
    const { port, reader } = await serve();
    const answering = fetch(`http://127.0.0.1:${port}/`);
    const { reader: one, ended } = await reader();
    one.send('{"a":1}');
    one.send('{"a":2}');
    one.end();
    const answer = await answering;
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toBe('req_1');
    await answer.text().catch(() => undefined);
    await ended;
    one.send('{"a":3}');
  });

  it('ends when its reader leaves, and so does the connection', async () => {
    const { port, reader, server } = await serve();
    // Not by `fetch`, which connects again by itself after it was aborted.
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    const { ended } = await reader();
    socket.destroy();
    await ended;
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  it('never begins for a reader that has left before', async () => {
    const streams = createEventStreams();
    let begun = 0;
    const stream = new EventStream(() => {
      begun++;
      return () => undefined;
    });
    const server = createServer((_request, response) => {
      response.on('close', () => {
        streams.serve(stream, response, {});
        server.emit('judged');
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const judged = new Promise((resolve) => server.once('judged', resolve));
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    server.once('request', () => socket.destroy());
    await judged;
    expect(begun).toBe(0);
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  it('drops a reader that does not read, instead of keeping events for it', async () => {
    const { port, reader } = await serve();
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.pause();
    socket.on('error', () => undefined);
    const { reader: one, ended } = await reader();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    let sent = 0;
    for (; !isOver && sent < 10_000; sent++) {
      one.send(JSON.stringify('x'.repeat(64 * 1024)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(isOver).toBe(true);
    socket.destroy();
  });

  it('ends with all others, and none begins afterwards', async () => {
    const { port, streams, reader } = await serve();
    const answering = fetch(`http://127.0.0.1:${port}/`);
    const { ended } = await reader();
    streams.endAll();
    await ended;
    await (await answering).text().catch(() => undefined);
    const text = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(await text().catch(() => '')).toMatch(/^(?:retry: \d+\n\n)?$/);
  });
});
