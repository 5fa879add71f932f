// Asks the API over many connections: as fast as it answers, or so many requests a second whether or not there are answers. Counts
// every answer by its status and times it. Speaks HTTP/1.1 by hand, so that it costs little beside what is measured.
import { connect, type Socket } from 'node:net';
import { mintKey } from '../../../server/src/apps/key.ts';
import { serveParent } from '../child-end.ts';
import { percentile } from '../measure.ts';
import { type Asking, writeRequest } from './requests.ts';

export interface LoadPlan {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  /** Mixed in turn. */
  readonly askings: readonly Asking[];
  /** Requests a second over all connections; null: each connection asks again when it is answered. */
  readonly perSecond: number | null;
  /** True: every request bears another key, well-formed and nobody's. */
  readonly hasRandomKeys?: boolean;
}

export interface LoadRun {
  readonly seconds: number;
  /** Requests that were due and found no free connection: the load was less than it was meant to be. */
  readonly notOffered: number;
  readonly byStatus: Readonly<Record<string, Times>>;
}

export interface Times {
  readonly count: number;
  readonly msP50: number;
  readonly msP99: number;
}

const tickMs = 5;
/** After the end, for answers that are still to come. */
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
  await Promise.race([
    Promise.all(lines.map((line) => line.free())),
    new Promise((resolve) => setTimeout(resolve, lastAnswersMs)),
  ]);
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
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  return notOffered;
}

/** One connection with at most one request under way, opened again when the service closes it. */
interface Line {
  ask(bytes: string): void;
  /** Resolves when it was answered. */
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
        // Opened again first: whoever waits asks at once.
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

/** The status, once the answer is there to its last byte. */
function statusOfWhole(text: string): string | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, length = '0'] = /\r\ncontent-length: (\d{1,9})/i.exec(text.slice(0, headEnd)) ?? [];
  return text.length >= headEnd + 4 + Number(length) ? text.slice(9, 12) : undefined;
}
