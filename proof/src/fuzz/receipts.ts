// Receipts and click links as strangers would try them. Altered tokens of real deliveries
// must do nothing. Links with good tokens and any other parameters must lead only to the URLs that
// were sent.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import fc from 'fast-check';
import type { Finding } from '../../../rig/src/fuzz/ask-all.ts';
import { addDevices, type MixedApp, makeMixedApp } from '../../../rig/src/mixed-app.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import { startNode } from '../../../rig/src/service-node.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { loadInstance } from '../../../server/src/ground/database/instance.ts';
import { createSeal, parseMasterKey } from '../../../server/src/ground/secrets/seal.ts';
import { encodeId } from '../../../server/src/ground/values/ids.ts';
import { receiptTokensOf } from '../../../server/src/sending/delivery/receipt-token.ts';

/** The most devices that the accepting process sends to by itself. */
const devicesEach = 50;
const messagesCount = 4;
const inFlight = 8;

const url = 'https://shop.example/sale';
const cartUrl = 'https://shop.example/cart';
const content = {
  title: 'Sale',
  url,
  webpush: { actions: [{ action: 'cart', title: 'Cart', url: cartUrl }] },
};

interface Stage {
  readonly address: string;
  readonly app: MixedApp;
  readonly sql: Sql;
  readonly messageIds: readonly string[];
  readonly tokens: readonly string[];
}

/** One request to try; tokens are given by number. */
interface Try {
  readonly which: number;
  readonly other: number;
  /** How the token is altered; null leaves it unchanged. */
  readonly alter: ((token: string, other: string) => string) | null;
  readonly isReceipt: boolean;
  readonly event: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  /** The client address that a trusted proxy reports, because rate limits are per address. */
  readonly from: string;
}

export interface FuzzedReceipts {
  readonly requests: number;
  readonly findings: readonly Finding[];
}

export async function fuzzReceipts(
  workbench: Workbench,
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<FuzzedReceipts> {
  const stage = await setStage(workbench);
  const findings = new Map<string, Finding>();
  const note = (rule: string, sample: string): void => {
    const times = (findings.get(rule)?.times ?? 0) + 1;
    findings.set(rule, { operation: 'receipts', rule, times, sample: findings.get(rule)?.sample ?? sample });
  };
  const statuses = { refused: 0, led: 0 };
  const tries = fc.sample(aTry, { seed, numRuns: requests });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let one = tries[next++]; one; one = tries[next++]) await look(stage, one, statuses, note);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));

  if (statuses.refused < requests / 10 || statuses.led < requests / 10) {
    note('too little was tried', JSON.stringify(statuses));
  }
  for (const id of stage.messageIds) {
    const response = await fetch(`${stage.address}/v1/messages/${id}`, {
      headers: { authorization: `Bearer ${stage.app.serverKey}` },
    });
    const { engagement } = (await response.json()) as { engagement: object };
    if (Object.values(engagement).some((count) => count !== 0))
      note('something was marked', JSON.stringify(engagement));
  }
  const early = await stage.sql`SELECT 1 FROM early_receipts`;
  if (early.length > 0) note('a receipt is kept for a delivery that there is not', `${early.length} rows`);
  return { requests, findings: [...findings.values()] };
}

async function look(
  { address, tokens }: Stage,
  one: Try,
  statuses: { refused: number; led: number },
  note: (rule: string, sample: string) => void,
): Promise<void> {
  const [good = '', other = ''] = [one.which, one.other].map((i) => tokens[i % tokens.length]);
  const token = one.alter ? one.alter(good, other) : good;
  const isGood = tokens.includes(token);
  // Good tokens are only used with HEAD, which sets no mark.
  const isReceipt = one.isReceipt && !isGood;
  const query = new URLSearchParams(one.query.map(([name, value]) => [name, value]));
  const path = isReceipt ? '/v1/receipts' : `/v1/r/${encodeURIComponent(token)}?${query}`;
  const method = isReceipt ? 'POST' : isGood ? 'HEAD' : 'GET';
  const body = JSON.stringify({ token, event: one.event });
  const ask = (): Promise<Response> =>
    fetch(address + path, {
      method,
      redirect: 'manual',
      headers: { ...one.headers, 'x-forwarded-for': one.from, 'content-type': 'application/json' },
      ...(isReceipt && { body }),
    });
  let response = await ask();
  // Rate limits are tested elsewhere, so this test waits as the answer says.
  while (response.status === 429) {
    await sleep(1_000 * Number(response.headers.get('retry-after')));
    response = await ask();
  }
  await response.arrayBuffer();
  const { status } = response;
  const location = response.headers.get('location');
  const sample = `${method} ${path} ${isReceipt ? body : ''} → ${status} ${location ?? ''}`;
  if (!isGood) {
    statuses.refused++;
    if (status !== 404 || location !== null) note(`an altered token is answered ${status}`, sample);
    return;
  }
  statuses.led++;
  const actions = query.getAll('a');
  const wanted = actions.length === 0 ? url : actions.length === 1 && actions[0] === 'cart' ? cartUrl : null;
  // When an action is given twice, either of the two may be taken, or none.
  if (actions.length > 1 && (location === null || (location === cartUrl && actions.includes('cart')))) return;
  if (status !== (wanted === null ? 404 : 302) || location !== wanted) note('a link leads elsewhere', sample);
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const place = fc.nat(46);
const character = fc.constantFrom(...alphabet);

const alteration: fc.Arbitrary<(token: string, other: string) => string> = fc.oneof(
  fc
    .array(fc.tuple(place, character), { minLength: 1, maxLength: 6 })
    .map(
      (changes) => (token: string) =>
        changes.reduce((text, [at, it]) => text.slice(0, at) + it + text.slice(at + 1), token),
    ),
  character.map((last) => (token: string) => token.slice(0, -1) + last),
  place.map((length) => (token: string) => token.slice(0, length + 1).slice(0, -1) || 'x'),
  fc.tuple(place, character).map(
    ([at, it]) =>
      (token: string) =>
        token.slice(0, at) + it + token.slice(at),
  ),
  // Puts the batch, place or signature of another delivery into the token.
  place.map((at) => (token: string, other: string) => token.slice(0, at) + other.slice(at)),
  fc.constantFrom<(token: string) => string>(
    (token) => token.toLowerCase(),
    (token) => `${token}=`,
    (token) => `${token} `,
    (token) => encodeURIComponent(encodeURIComponent(`${token}/`)),
    (token) => Buffer.from(token, 'base64url').toString('base64').replace('=', ''),
    (token) => Buffer.from(token, 'base64url').toString('hex'),
  ),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 90 })
    .map((text) => () => text.toWellFormed().replaceAll('\0', '0')),
);

const evil = fc.constantFrom(
  ...['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)', 'cart', 'Cart', 'cart ', ''],
  ...['\r\nLocation: https://evil.example', '%0d%0aLocation:%20https://evil.example', '../cart', '__proto__', '0'],
);
const parameterName = fc.constantFrom(
  ...['a', 'a', 'a', 'url', 'to', 'next', 'redirect', 'A', 'a[]', 'action', 'location', '__proto__', 'token'],
);
const pair = fc.tuple(
  parameterName,
  fc.oneof(
    evil,
    fc.string({ maxLength: 20 }).map((text) => text.toWellFormed()),
  ),
);

const aTry: fc.Arbitrary<Try> = fc.record({
  which: fc.nat(),
  other: fc.nat(),
  alter: fc.oneof(fc.constant(null), alteration),
  isReceipt: fc.boolean(),
  event: fc.constantFrom('displayed', 'clicked', 'dismissed'),
  query: fc.array(pair, { maxLength: 4 }),
  headers: fc.oneof(
    fc.constant({}),
    fc.constant({ 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', referer: 'https://evil.example/' }),
  ),
  from: fc.ipV4(),
});

async function setStage(workbench: Workbench): Promise<Stage> {
  const directory = await workbench.makeDirectory('receipts');
  const database = await startRunDatabase(workbench);
  const sandbox = await startSandboxProcess(workbench, directory);
  const port = await findFreePort();
  const environment = {
    ...database.environment,
    ...sandbox.environment,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    TRUSTED_PROXIES: '127.0.0.1/32',
  };
  const node = await startNode(workbench, { name: 'api', role: 'api', environment, directory });
  await node.ready();
  const address = `http://127.0.0.1:${port}`;
  const app = await makeMixedApp({ environment, directory }, sandbox, 'Receipts');
  const { sql } = database;
  const deviceIds: string[] = [];
  const plan = { count: devicesEach * messagesCount, platform: 'web' as const, seed: 'receipts' };
  await addDevices(sql, app, sandbox, plan, (devices) => void deviceIds.push(...devices.map(({ id }) => id)));
  const messageIds: string[] = [];
  for (let from = 0; from < deviceIds.length; from += devicesEach) {
    const response = await fetch(`${address}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.serverKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ audience: { device_ids: deviceIds.slice(from, from + devicesEach) }, content }),
    });
    const answer = (await response.json()) as { id: string; report?: { sent: number } };
    if (answer.report?.sent !== devicesEach) throw new Error(`not sent: ${JSON.stringify(answer)}`);
    messageIds.push(answer.id);
  }
  // Tokens as the pushes carried them: minted with the service's own key.
  const seal = createSeal(parseMasterKey(database.environment['MASTER_KEY'] ?? '', 'MASTER_KEY'));
  const [key] = (await loadInstance(sql, seal)).receiptKeys;
  if (!key) throw new Error('the service has no key for receipts');
  const deliveries = await sql<{ messageId: string; batchId: string; place: number }[]>`
    SELECT b.message_id, b.id AS batch_id, array_position(b.device_ids, d.device_id) - 1 AS place
    FROM deliveries d JOIN batches b ON b.id = d.batch_id`;
  const tokens = deliveries.map(({ batchId, place }) => receiptTokensOf(key, batchId)(place));
  if (new Set(deliveries.map(({ messageId }) => encodeId('msg', messageId))).size !== messageIds.length) {
    throw new Error('not all messages have deliveries');
  }
  return { address, app, sql, messageIds, tokens };
}
