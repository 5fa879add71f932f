// Sends requests to the API over many connections: as fast as it answers, or at a fixed rate
// whether or not answers come. The load generator counts and times every answer by its status. It
// writes HTTP/1.1 by hand, so that it costs little beside the service.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../../rig/src/measure.ts';
import { mintKey } from '../../../server/src/teams/apps/key.ts';
import { serveParent } from '../child-end.ts';
import { type Asking, writeRequest } from './requests.ts';

export interface LoadPlan {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  /** The kinds of request, sent in turn. */
  readonly askings: readonly Asking[];
  /**
   * Requests a second over all connections. Null: each connection sends its next request when it is
   * answered.
   */
  readonly perSecond: number | null;
  /** True: every request carries a different key that is well-formed but belongs to no app. */
  readonly hasRandomKeys?: boolean;
}

export interface LoadRun {
  readonly seconds: number;
  /**
   * Requests that were due but found no free connection. The real load was smaller than planned by
   * this number.
   */
  readonly notOffered: number;
  readonly byStatus: Readonly<Record<string, Times>>;
}

export interface Times {
  readonly count: number;
  readonly msP50: number;
  readonly msP99: number;
}

const tickMs = 5;
/** Time after the end of a run in which late answers are still accepted. */
const lastAnswersMs = 5_000;

serveParent((plan: LoadPlan) => run(plan));

async function run(plan: LoadPlan): Promise<LoadRun> {
  const times = new Map<string, number[]>();
  const note = (status: string, ms: number): void => {
    const known = times.get(status);
    if (known) known.push(ms);
    else times.set(status, [ms]);
  };
  let made = 0;
  const next = (): string => {
    const number = made++;
    const asking = plan.askings[number % plan.askings.length];
    if (!asking) throw new Error('nobody said what to ask');
    const keys = plan.hasRandomKeys ? [mintKey('client').text] : asking.keys;
    return writeRequest({ ...asking, keys }, Math.floor(number / plan.askings.length));
  };
  const lines = await Promise.all(Array.from({ length: plan.connections }, () => openLine(plan.port, note)));
  const startedAt = performance.now();
  const endAt = startedAt + plan.seconds * 1000;
  const notOffered =
    plan.perSecond === null ? await askAlways(lines, next, endAt) : await askEvenly(lines, next, plan.perSecond, endAt);
  const seconds = (performance.now() - startedAt) / 1000;
  await Promise.race([Promise.all(lines.map((line) => line.free())), sleep(lastAnswersMs)]);
  for (const line of lines) line.close();
  const byStatus = Object.fromEntries(
    [...times].map(([status, all]) => [
      status,
      { count: all.length, msP50: percentile(all, 0.5), msP99: percentile(all, 0.99) },
    ]),
  );
  return { seconds, notOffered, byStatus };
}

async function askAlways(lines: readonly Line[], next: () => string, endAt: number): Promise<number> {
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() < endAt) {
        line.ask(next());
        await line.free();
      }
    }),
  );
  return 0;
}

async function askEvenly(
  lines: readonly Line[],
  next: () => string,
  perSecond: number,
  endAt: number,
): Promise<number> {
  const startedAt = performance.now();
  const idle = [...lines];
  let asked = 0;
  let notOffered = 0;
  for (let now = startedAt; now < endAt; now = performance.now()) {
    const due = Math.floor(((now - startedAt) / 1000) * perSecond);
    for (; asked + notOffered < due; ) {
      const line = idle.pop();
      if (!line) {
        notOffered++;
        continue;
      }
      asked++;
      line.ask(next());
      void line.free().then(() => idle.unshift(line));
    }
    await sleep(tickMs);
  }
  return notOffered;
}

/** One connection with at most one request in flight. It reconnects when the service closes it. */
interface Line {
  ask(bytes: string): void;
  /** Resolves when the request in flight was answered. */
  free(): Promise<void>;
  close(): void;
}

async function openLine(port: number, note: (status: string, ms: number) => void): Promise<Line> {
  let socket: Socket;
  let begunAt = 0;
  let text = '';
  let isClosed = false;
  let underWay: { promise: Promise<void>; resolve(): void } | undefined;
  const done = (status: string): void => {
    if (!underWay) return;
    note(status, performance.now() - begunAt);
    const { resolve } = underWay;
    underWay = undefined;
    text = '';
    resolve();
  };
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      const opened = connect(port, '127.0.0.1', () => {
        opened.setNoDelay(true);
        resolve();
      });
      socket = opened;
      opened.setEncoding('latin1');
      opened.on('error', () => undefined);
      opened.on('data', (chunk: string) => {
        text += chunk;
        const status = statusOfWhole(text);
        if (status !== undefined) done(status);
      });
      opened.on('close', () => {
        // Reconnect first: a waiting caller sends its next request at once.
        if (!isClosed) void open();
        done('closed');
        resolve();
      });
    });
  await open();
  return {
    ask(bytes) {
      begunAt = performance.now();
      let resolve = (): void => undefined;
      const promise = new Promise<void>((resolved) => {
        resolve = resolved;
      });
      underWay = { promise, resolve };
      socket.write(bytes, 'latin1');
    },
    free: () => underWay?.promise ?? Promise.resolve(),
    close() {
      isClosed = true;
      socket.destroy();
    },
  };
}

/** The status of an answer that has arrived completely; undefined while bytes are missing. */
function statusOfWhole(text: string): string | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, length = '0'] = /\r\ncontent-length: (\d{1,9})/i.exec(text.slice(0, headEnd)) ?? [];
  return text.length >= headEnd + 4 + Number(length) ? text.slice(9, 12) : undefined;
}
