// Tracks events over HTTP as fast as they are accepted. Each connection sends a request of fifty
// events and sends the next when it is answered. The HTTP/1.1 is written by hand, so that it costs
// little beside the service.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { percentile } from '../../../rig/src/measure.ts';
import { serveParent } from '../child-end.ts';
import { makeEvent, writeEvent } from './make-event.ts';

export type ToLoad =
  | { readonly type: 'open'; readonly port: number; readonly key: string; readonly deviceIds: readonly string[] }
  | { readonly type: 'run'; readonly seconds: number; readonly connections: number };

export interface LoadRun {
  readonly events: number;
  readonly seconds: number;
  readonly msP50: number;
  readonly msP99: number;
}

const eventsAtOnce = 50;
let target: Extract<ToLoad, { type: 'open' }> | undefined;
let made = 0;

serveParent(async (question: ToLoad): Promise<LoadRun | undefined> => {
  if (question.type === 'run') return run(question.seconds, question.connections);
  target = question;
  return undefined;
});

async function run(seconds: number, connections: number): Promise<LoadRun> {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  const times = (await Promise.all(Array.from({ length: connections }, () => track(until)))).flat();
  return {
    events: times.length * eventsAtOnce,
    seconds: (performance.now() - startedAt) / 1000,
    msP50: percentile(times, 0.5),
    msP99: percentile(times, 0.99),
  };
}

/** Sends on one connection until the time `until`. Returns the duration of each request. */
async function track(until: number): Promise<number[]> {
  if (!target) throw new Error('no target was given');
  const { port, key } = target;
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.setNoDelay(true);
  // The socket closes after an error, and the read that waits for an answer rejects then.
  socket.on('error', () => undefined);
  const times: number[] = [];
  while (performance.now() < until) {
    const body = makeBody();
    const head = `POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    const begunAt = performance.now();
    // Every character is ASCII, so Latin-1 is exact and cheap.
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`, 'latin1');
    const answer = await readAnswer(socket);
    times.push(performance.now() - begunAt);
    if (!answer.startsWith('HTTP/1.1 200') || readAccepted(answer) !== eventsAtOnce) throw new Error(answer);
  }
  socket.destroy();
  return times;
}

function makeBody(): string {
  const occurredAt = new Date().toISOString();
  const events = Array.from({ length: eventsAtOnce }, () =>
    writeEvent(makeEvent(target?.deviceIds ?? [], made++, occurredAt)),
  );
  return `{"events":[${events.join(',')}]}`;
}

function readAccepted(answer: string): number {
  return (JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { readonly accepted: number }).accepted;
}

function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const done = (finish: () => void): void => {
      socket.off('data', onData);
      socket.off('close', onClose);
      finish();
    };
    const onClose = (): void => done(() => reject(new Error(`the connection ended: ${text}`)));
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? [];
      if (end >= 0 && length !== undefined && text.length >= end + 4 + Number(length)) done(() => resolve(text));
    };
    socket.on('data', onData);
    socket.on('close', onClose);
  });
}
