// Sends requests to a server in one mood, through the client as the service uses it, and judges
// every ending. An ending that it cannot explain is a complaint.
import { readFileSync } from 'node:fs';
import { connect, createSecureContext } from 'node:tls';
import { Http2Pool, ownEngine } from '@carillon/http2';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { createRandom } from '../../../rig/src/random.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { ask, type Ending, endingOf } from './asked.ts';
import { type ForeignServer, type Mood, type RunningServer, streamsMax } from './foreign-server.ts';
import { Sights } from './sights.ts';

const inFlight = 250;

/** Longer than any request may take: a request without an ending by then is lost. */
const patienceMs = 180_000;

export interface Driven {
  /** The number of requests; at least as many as planned. */
  readonly asked: number;
  readonly endings: Readonly<Record<Ending, number>>;
  readonly sights: Sights;
  readonly seconds: number;
  /** Sentences about what must not happen and did, or must happen and did not. */
  readonly complaints: readonly string[];
}

interface Plan {
  readonly workbench: Workbench;
  readonly server: ForeignServer;
  readonly mood: Mood;
  readonly requests: number;
  readonly isQuick: boolean;
  readonly seed: number;
}

export async function drive(plan: Plan): Promise<Driven> {
  const { server, mood } = plan;
  const running = await server.start(plan);
  const sights = new Sights();
  const pool = openPool(running.port, sights);
  const startedAt = performance.now();
  const ends = await sendAll(plan, { pool, running, sights });
  const seconds = (performance.now() - startedAt) / 1_000;
  const complaints = [...ends.complaints];
  const isClosed = await within(patienceMs, pool.close());
  if (!isClosed) complaints.push('the pool does not close: it takes something to be under way still');
  const acted = await running.stop();
  complaints.push(...judgeActs(ends.endings, acted, mood));
  const missing = sights.missing(mood.shows ?? []);
  if (missing.length > 0) complaints.push(`there was no ${missing.join(', no ')}: this mood did not come to pass`);
  for (const accusation of sights.accusations) complaints.push(`an honest server is accused: ${accusation}`);
  return { asked: ends.endings.size, endings: count(ends.endings), sights, seconds, complaints };
}

function openPool(port: number, sights: Sights): Http2Pool {
  const secureContext = createSecureContext({ ca: readFileSync(certificateFile) });
  return new Http2Pool({
    engine: sights.watch(ownEngine),
    authority: 'localhost',
    open: () =>
      connect({ port, host: '127.0.0.1', servername: 'localhost', secureContext, ALPNProtocols: ['h2'] }).setNoDelay(
        true,
      ),
    sessionsMax: 3,
    streamsMax,
    connectTimeoutMs: 10_000,
    idleMs: 60_000,
  });
}

interface Ends {
  readonly endings: ReadonlyMap<number, Ending>;
  readonly complaints: readonly string[];
}

/**
 * Keeps `inFlight` requests in the pool until all were sent and the server was disturbed as often
 * as planned.
 */
async function sendAll(
  plan: Plan,
  { pool, running, sights }: { readonly pool: Http2Pool; readonly running: RunningServer; readonly sights: Sights },
): Promise<Ends> {
  const { server, mood, requests, seed } = plan;
  const random = createRandom(seed);
  const endings = new Map<number, Ending>();
  const complaints: string[] = [];
  const disturber = new Disturber(plan, running, complaints);
  let next = 0;
  const sendInTurn = async () => {
    for (let id = next++; id < requests || !disturber.isDone; id = next++) {
      disturber.note(id);
      const asked = ask(id, mood, random);
      const result = await pool.request(asked.request);
      if ('transportError' in result && result.transportError === 'timeout') sights.counts.timeouts += 1;
      const ending = endingOf(asked, result, mood, server);
      if (endings.has(id)) complaints.push(`request ${id} ended twice`);
      endings.set(id, ending);
      if (mayEnd(ending, mood)) continue;
      complaints.push(`request ${id} (${asked.request.body.length} bytes) ended ${ending}: ${shorten(result)}`);
    }
  };
  const isWhole = await within(
    patienceMs + requests * 5,
    Promise.all(Array.from({ length: Math.min(inFlight, requests) }, sendInTurn)),
  );
  if (!isWhole) complaints.push(`only ${endings.size} of ${requests} requests have an ending`);
  return { endings, complaints };
}

/** Disturbs the server at even distances, and never twice at once. */
class Disturber {
  readonly #running: RunningServer;
  readonly #complaints: string[];
  readonly #times: number;
  readonly #distance: number;
  #begun = 0;
  #isAtIt = false;

  constructor({ mood, requests, isQuick }: Plan, running: RunningServer, complaints: string[]) {
    const [full, quick] = mood.disturbances ?? [0, 0];
    this.#running = running;
    this.#complaints = complaints;
    this.#times = isQuick ? quick : full;
    this.#distance = requests / (this.#times + 1);
  }

  get isDone(): boolean {
    return this.#begun === this.#times && !this.#isAtIt;
  }

  /** Tells the disturber that the request with this number is about to be sent. */
  note(id: number): void {
    if (this.#isAtIt || this.#begun === this.#times || id < (this.#begun + 1) * this.#distance) return;
    this.#begun += 1;
    this.#isAtIt = true;
    this.#running
      .disturb()
      .catch((error: unknown) => this.#complaints.push(`the server could not be disturbed: ${String(error)}`))
      .finally(() => {
        this.#isAtIt = false;
      });
  }
}

function mayEnd(ending: Ending, { may }: Mood): boolean {
  if (ending === 'answered') return true;
  if (ending === 'replayable') return may !== undefined;
  return ending === 'failed' && may === 'fail';
}

/** Compares the requests that the server says it acted upon with their endings at the client. */
function judgeActs(endings: ReadonlyMap<number, Ending>, acted: readonly number[], mood: Mood): string[] {
  const acts = new Map<number, number>();
  for (const id of acted) acts.set(id, (acts.get(id) ?? 0) + 1);
  const complaints: string[] = [];
  for (const [id, ending] of endings) {
    const times = acts.get(id) ?? 0;
    if (times > 1) complaints.push(`request ${id} was acted upon ${times} times`);
    if (times > 0 && ending === 'replayable') complaints.push(`request ${id} was acted upon, and called replayable`);
    if (times === 0 && ending === 'answered' && mood.forgets !== true) {
      complaints.push(`request ${id} was answered, and never acted upon`);
    }
  }
  return complaints;
}

function count(endings: ReadonlyMap<number, Ending>): Record<Ending, number> {
  const counts: Record<Ending, number> = { answered: 0, replayable: 0, failed: 0, foreign: 0 };
  for (const ending of endings.values()) counts[ending] += 1;
  return counts;
}

function shorten(result: unknown): string {
  const text = JSON.stringify(result);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const isDone = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return isDone;
}
