// Sends the requests that a seed gives, a few at a time, to a service with two apps, and collects
// what is wrong in the answers. Requests use one app's keys; the other app's data must never
// appear.
import fc from 'fast-check';
import { type Answer, type Description, readDescription } from './description.ts';
import { type FuzzRequest, requestsTo } from './requests.ts';
import { type Pool, pools } from './values.ts';

export interface Finding {
  readonly operation: string;
  readonly rule: string;
  readonly times: number;
  /** The first request that showed the finding, with its answer, shortened. */
  readonly sample: string;
}

const inFlight = 8;
const lotSize = 500;
const answerWithinMs = 30_000;
const idsKept = 200;
const bodyBytesRead = 256 * 1024;
/** A text in everything that the other app holds. It must never appear in an answer. */
export const canary = 'canary-7f3a91';

export interface AppKeys {
  readonly serverKey: string;
  readonly clientKey: string;
}

export interface Stage {
  readonly url: string;
  readonly description: Description;
  readonly app: AppKeys;
  /** Known ids that fill the placeholders in requests. */
  readonly met: Record<string, string[]>;
}

/** Fills both apps. Nothing is sent, because neither app has a channel. */
export async function setStage(url: string, app: AppKeys, stranger: AppKeys): Promise<Stage> {
  const description = readDescription(await (await fetch(`${url}/openapi.json`)).text());
  const met: Record<string, string[]> = {};
  await fillApp(url, app.serverKey, { name: 'own', text: 'own' }, (text) => remember(met, text));
  await fillApp(url, stranger.serverKey, { name: 'stranger', text: canary }, (text) =>
    remember(met, text, 'stranger-'),
  );
  return { url, description, app, met };
}

export interface Asked {
  readonly findings: readonly Finding[];
  readonly statuses: Readonly<Record<string, number>>;
  /** Milliseconds of each request with a key. */
  readonly times: readonly number[];
}

/** Sends the requests. The same seed makes the same requests. */
export async function askAll(
  stage: Stage,
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Asked> {
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
  return { findings: [...findings.values()], statuses, times };
}

function judge({ description }: Stage, { operation }: FuzzRequest, answer: Answer): string | null {
  const said = answer.text + JSON.stringify([...answer.headers]);
  if (said.includes(canary)) return "it shows what is another app's";
  if (/node_modules|\/src\/|\/dist\/|DatabaseError|ZodError|\bat \w+ \(/.test(said)) return 'it shows its insides';
  return description.judge(operation, answer);
}

/**
 * Stores one object of every kind in an app, each with a text that belongs to this app. A stranger
 * may know the ids.
 */
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
  const keys = { server: app.serverKey, client: app.clientKey, wrong: 'sk_live_wrong', none: '' };
  // The documented examples contain ids that do not exist. Most are replaced by ids that exist.
  const body = request.body === null ? null : fill(request.body.replaceAll(/"(dev|msg|seg)_[0-9A-Za-z]{22}"/g, nameOf));
  const target =
    path +
    query
      .replaceAll('%40', '@')
      .replaceAll('%3A', ':')
      .replaceAll(placePattern, (found) => fill(found));
  // A body that is too large is refused before it is read, and the connection is closed, so the
  // answer may be lost.
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
