// One run: a service of its own with two apps, of which one is asked and the other must never be seen, and requests in the order of
// the seed, a few at a time. Nothing leaves the machine: no app has a channel to send by.
import fc from 'fast-check';
import { percentile, rounded } from '../../../bench/src/measure.ts';
import type { Workbench } from '../../../bench/src/workbench.ts';
import { runCommand } from '../rig/command.ts';
import { findFreePort } from '../rig/ports.ts';
import { startRunDatabase } from '../rig/run-database.ts';
import { startNode } from '../rig/service-node.ts';
import { type Answer, type Description, readDescription } from './description.ts';
import { type FuzzRequest, requestsTo } from './requests.ts';
import { type Pool, pools } from './values.ts';

export interface Finding {
  readonly operation: string;
  readonly rule: string;
  readonly times: number;
  /** The first request that showed it, and what was answered, in short. */
  readonly sample: string;
}

export interface Fuzzed {
  readonly requests: number;
  readonly seed: number;
  readonly findings: readonly Finding[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly ms_p99: number;
}

const inFlight = 8;
const lotSize = 500;
const answerWithinMs = 30_000;
const idsKept = 200;
const bodyBytesRead = 256 * 1024;
/** In everything that the other app holds. */
const canary = 'canary-7f3a91';

interface App {
  readonly id: string;
  readonly server_key: string;
  readonly client_key: string;
}

interface Stage {
  readonly url: string;
  readonly description: Description;
  readonly app: App;
  /** Ids that places in requests are filled with. */
  readonly met: Record<string, string[]>;
}

export async function runFuzz(
  workbench: Workbench,
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Fuzzed> {
  const stage = await setStage(workbench);
  const { operations } = stage.description;
  const arbitraries = operations.map((operation) => requestsTo(operation, stage.description));
  const any = fc.oneof(...arbitraries);
  const findings = new Map<string, Finding>();
  const statuses: Record<string, number> = {};
  const times: number[] = [];

  const look = async (request: FuzzRequest): Promise<void> => {
    const startedAt = performance.now();
    const { answer, sent, isCut } = await ask(stage, request);
    if (request.key === 'server' || request.key === 'client') times.push(performance.now() - startedAt);
    const status = answer === null ? 'none' : String(answer.status);
    statuses[status] = (statuses[status] ?? 0) + 1;
    const rule = answer === null ? (isCut ? null : 'no answer') : judge(stage, request, answer);
    if (rule !== null) {
      const name = `${request.operation.id} ${rule}`;
      const former = findings.get(name);
      const sample = former?.sample ?? `${sent} → ${answer?.text.slice(0, 500) ?? ''}`;
      findings.set(name, { operation: request.operation.id, rule, times: (former?.times ?? 0) + 1, sample });
    }
    if (answer?.status === 200) remember(stage.met, answer.text);
  };

  for (let made = 0; made < requests; made += lotSize) {
    const count = Math.min(lotSize, requests - made);
    const lot = fc.sample(any, { seed: (Math.imul(seed, 1_000_003) + made) | 0, numRuns: count });
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let request = lot[next++]; request; request = lot[next++]) await look(request);
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
  }
  return {
    requests,
    seed,
    findings: [...findings.values()],
    statuses,
    ms_p99: rounded(percentile(times, 0.99)),
  };
}

function judge({ description }: Stage, { operation }: FuzzRequest, answer: Answer): string | null {
  const said = answer.text + JSON.stringify([...answer.headers]);
  if (said.includes(canary)) return "it shows what is another app's";
  if (/node_modules|\/src\/|\/dist\/|PostgresError|ZodError|\bat \w+ \(/.test(said)) return 'it shows its insides';
  return description.judge(operation, answer);
}

async function setStage(workbench: Workbench): Promise<Stage> {
  const directory = await workbench.makeDirectory('fuzz');
  const database = await startRunDatabase(workbench);
  const port = await findFreePort();
  const environment = { ...database.environment, PORT: String(port), SEND_WAIT_MS: '100', LOG_LEVEL: 'warn' };
  const node = await startNode(workbench, { name: 'api', role: 'api', environment, directory });
  await node.ready();
  const url = `http://127.0.0.1:${port}`;
  const makeApp = (name: string): Promise<App> =>
    runCommand<App>(environment, directory, 'app', 'create', name, '--plan', 'unlimited');
  const [app, stranger] = [await makeApp('Fuzz'), await makeApp(`Stranger ${canary}`)];
  const description = readDescription(await (await fetch(`${url}/openapi.json`)).text());
  const met: Record<string, string[]> = {};
  await fillApp(url, app.server_key, { name: 'own', text: 'own' }, (text) => remember(met, text));
  await fillApp(url, stranger.server_key, { name: 'stranger', text: canary }, (text) =>
    remember(met, text, 'stranger-'),
  );
  return { url, description, app, met };
}

/** A little of everything, each with a text in it that is this app's. Its ids are known to whoever guesses them. */
async function fillApp(
  url: string,
  key: string,
  { name, text }: { readonly name: string; readonly text: string },
  note: (answer: string) => void,
): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${answer}`);
    note(answer);
  };
  for (let i = 0; i < 5; i++) {
    const token = `${i}`.repeat(64);
    await post('/v1/devices', { platform: 'ios', token, model: text, properties: { topic: text } });
    await post('/v1/users', { external_id: `${name}-${i}`, first_name: text, properties: { plan: text } });
  }
  const filter = { field: 'properties.plan', op: 'eq', value: text };
  await post('/v1/segments', { name: text, filter });
  const content = { title: text, body: text };
  await post('/v1/messages', { audience: { all: true }, content });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  await post('/v1/messages', { audience: { all: true }, content, send_at: sendAt });
}

const poolOfPrefix: Readonly<Record<string, Pool>> = { dev: 'device', msg: 'message', seg: 'segment' };

function remember(met: Record<string, string[]>, text: string, whose = ''): void {
  const note = (pool: Pool, id: string): void => {
    const known = met[whose + pool] ?? [];
    met[whose + pool] = known;
    if (known.length < idsKept && !known.includes(id)) known.push(id);
  };
  for (const [id, prefix] of text.matchAll(/\b(dev|msg|seg)_[0-9A-Za-z]{22}\b/g)) {
    const pool = poolOfPrefix[prefix ?? ''];
    if (pool) note(pool, id);
  }
  for (const [, id] of text.matchAll(/"external_id":"([\w-]{1,40})"/g)) if (id !== undefined) note('user', id);
}

const placePattern = new RegExp(`@((?:stranger-)?(?:${pools.join('|')})):(\\d+)`, 'g');

async function ask(
  stage: Stage,
  request: FuzzRequest,
): Promise<{ answer: Answer | null; sent: string; isCut: boolean }> {
  const { url, app, met } = stage;
  const { operation, parameters, query, headers, key } = request;
  const fill = (text: string): string =>
    text.replaceAll(placePattern, (_all, pool: string, number: string) => {
      const known = met[pool] ?? [];
      return known[Number(number) % Math.max(1, known.length)] ?? 'nobody';
    });
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(fill(parameters[name] ?? '').toWellFormed()),
  );
  const keys = { server: app.server_key, client: app.client_key, wrong: 'sk_live_wrong', none: '' };
  // The documented example names ids that nobody has: mostly they are to be somebody's.
  const body = request.body === null ? null : fill(request.body.replaceAll(/"(dev|msg|seg)_[0-9A-Za-z]{22}"/g, nameOf));
  const target =
    path +
    query
      .replaceAll('%40', '@')
      .replaceAll('%3A', ':')
      .replaceAll(placePattern, (found) => fill(found));
  // A body that is too large is refused before it is read, and the connection is closed: the answer may be lost with it.
  const isCut = Buffer.byteLength(body ?? '') > bodyBytesRead;
  const sent = `${operation.method} ${target.slice(0, 300)} (${key}) ${JSON.stringify(headers)} ${body?.slice(0, 500) ?? ''}`;
  try {
    const response = await fetch(url + target, {
      method: operation.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerWithinMs),
      headers: {
        ...(body !== null && { 'content-type': 'application/json' }),
        ...headers,
        ...(keys[key] !== '' && { authorization: `Bearer ${keys[key]}` }),
      },
      ...(body !== null && { body }),
    });
    return { answer: { status: response.status, headers: response.headers, text: await response.text() }, sent, isCut };
  } catch {
    return { answer: null, sent, isCut };
  }
}

function nameOf(_all: string, prefix: string): string {
  return `"@${poolOfPrefix[prefix] ?? 'device'}:0"`;
}
