// Verdicts of outcomes about devices and credentials are written apart from their batches. A locked
// row delays no batch, and no verdict is lost because of it. Tests do not wait the second between
// writes: `judged` writes what was collected.
import { describe, expect, it } from 'vitest';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { decodeId } from '../../src/ground/values/ids.ts';
import { createVerdictBook } from '../../src/sending/delivery/verdict-book.ts';
import { withFaultyBegin } from '../faulty-begin.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { setup } from '../setup.ts';
import { verdictOf } from '../verdict-of.ts';

const content = { title: 'Is anybody there?' };

/** Statements time out soon, so that a row can be busy for longer than a statement may wait. */
const setUpBusy = () => setup({ workers: false, databaseLimits: { shortMs: 300, silenceMs: 60_000 } });

type Bundle = Awaited<ReturnType<typeof setup>>;

/** Registers a device whose token the push service calls gone. */
async function registerDead(t: Bundle, token: string): Promise<string> {
  t.push.script(token, (_request, response) => void response.writeHead(410).end());
  return t.registerDevice({ token: t.pushSubscription(token) });
}

const send = async (t: Bundle, devices: readonly string[]) =>
  (await t.server.post('/v1/messages', { audience: { device_ids: devices }, content })).body;

const statusesOf = async (t: Bundle, status: string): Promise<string[]> => {
  const { body } = await t.server.get(`/v1/devices?status=${status}`);
  return body.data.map((device: { id: string }) => device.id);
};

/** Holds the locks of a statement until the test releases them. */
async function hold(t: Bundle, lock: (tx: Bundle['sql']) => Promise<unknown>): Promise<() => Promise<void>> {
  const [held, way] = [createGate(), createGate()];
  const ended = t.sql.begin(async (tx) => {
    await lock(tx as unknown as Bundle['sql']);
    held.open();
    await way.opened;
  });
  await held.opened;
  return async () => {
    way.open();
    await ended;
  };
}

describe('R-62 while a device that is to be retired is locked', () => {
  it('its message ends, and the device is retired when it is free, however often that was tried', async () => {
    const t = await setUpBusy();
    const [dead, alive] = [await registerDead(t, 'dead'), await t.registerDevice()];
    const letGo = await hold(t, (tx) => tx`SELECT 1 FROM devices FOR UPDATE`);
    const { report } = await send(t, [dead, alive]);
    expect(report).toEqual({ accepted: 2, sent: 1, failed: 1, skipped: 0 });
    await t.judged();
    await t.judged();
    await letGo();
    expect(await statusesOf(t, 'invalid')).toEqual([]);
    await t.judged();
    expect(await statusesOf(t, 'invalid')).toEqual([dead]);
    const [refusals] = await t.sql`SELECT refused FROM credential_minutes`;
    expect(refusals).toEqual({ refused: 1 });
  });

  it('a process that stops in order waits for it', async () => {
    const t = await setUpBusy();
    const dead = await registerDead(t, 'dead');
    const letGo = await hold(t, (tx) => tx`SELECT 1 FROM devices FOR UPDATE`);
    await send(t, [dead]);
    const drained = t.service.drain();
    await untilLockWaits(t.sql, 1, { name: 'carillon transactions' });
    await letGo();
    await drained;
    expect(await t.sql`SELECT status FROM devices`).toEqual([{ status: 'invalid' }]);
  });

  it('verdicts about other credentials are written', async () => {
    const t = await setUpBusy();
    const other = await t.newApp();
    t.push.script('theirs', (_request, response) => void response.writeHead(410).end());
    const theirs = await t.registerDevice({ token: t.pushSubscription('theirs') }, other);
    const ours = await registerDead(t, 'ours');
    const letGo = await hold(t, (tx) => tx`SELECT 1 FROM devices WHERE app_id = ${t.app.id} FOR UPDATE`);
    await send(t, [ours]);
    const asked = { audience: { device_ids: [theirs] }, content };
    await t.clientOf(other.serverKey).post('/v1/messages', asked);
    await t.judged();
    const { body } = await t.clientOf(other.serverKey).get('/v1/devices?status=invalid');
    expect(body.data).toMatchObject([{ id: theirs }]);
    await letGo();
  });
});

describe('R-62 the row of a credential', () => {
  it('is not locked for retiring devices while the credential works', async () => {
    const t = await setUpBusy();
    const alive = await t.registerDevice();
    const dead = await Promise.all(['one', 'two', 'three'].map((token) => registerDead(t, token)));
    await send(t, [alive]);
    await t.judged();
    const letGo = await hold(t, (tx) => tx`SELECT 1 FROM credentials FOR UPDATE`);
    await send(t, [alive, ...dead]);
    await t.judged();
    expect((await statusesOf(t, 'invalid')).sort()).toEqual([...dead].sort());
    await letGo();
    await t.judged();
    const [credential] = await t.sql`SELECT last_error ->> 'code' AS code FROM credentials`;
    expect(credential).toEqual({ code: 'unregistered' });
  });

  it('is locked when the credential may be at fault, so that no device is retired meanwhile', async () => {
    const t = await setUpBusy();
    const devices = await Promise.all(
      ['one', 'two', 'three'].map((token) => t.registerDevice({ token: t.pushSubscription(token) })),
    );
    t.push.scriptAll((_request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end('{"reason":"VapidPkHashMismatch"}');
    });
    const letGo = await hold(t, (tx) => tx`SELECT 1 FROM credentials FOR UPDATE`);
    await send(t, devices);
    await t.judged();
    expect(await t.sql`SELECT state FROM credentials`).toEqual([{ state: 'ok' }]);
    await letGo();
    await t.judged();
    expect(await t.sql`SELECT state FROM credentials`).toEqual([{ state: 'suspect' }]);
    expect(await statusesOf(t, 'active')).toHaveLength(3);
  });
});

it('R-62 each of a thousand refusals is counted once and retires its device once', async () => {
  const t = await setup({ environment: { SEND_WAIT_MS: '0' } });
  await t.registerMany(1_000);
  t.push.scriptAll((_request, response) => void response.writeHead(410).end());
  await t.server.post('/v1/messages', { audience: { all: true }, content });
  await t.workers.idle();
  const [counted] = await t.sql`
    SELECT (SELECT count(*) FROM devices WHERE status = 'invalid') AS retired,
      (SELECT sum(refused)::int FROM credential_minutes) AS refused,
      (SELECT count(*) FROM device_changes WHERE status = 'invalid') AS changes`;
  expect(counted).toEqual({ retired: 1_000, refused: 1_000, changes: 1_000 });
});

it.each([
  ['a mismatch', { errorCode: 'credential_mismatch' }],
  ['a message without an address', { errorCode: 'provider_unavailable', isUnresolved: true }],
] as const)('R-98 the answer to a commit is lost: %s is counted once', async (_, fields) => {
  const t = await setup({ workers: false });
  const deviceId = decodeId('dev', await t.registerDevice()) ?? '';
  const sql = withFaultyBegin(t.sql, 1, async (work) => {
    await t.sql.begin(work);
    throw Object.assign(new Error('the connection is gone'), { code: 'ECONNRESET' });
  });
  const { clock, log } = t.service.run;
  const book = createVerdictBook({ sql, clock, log });
  book.note(t.app.id, [verdictOf(t, deviceId, fields)], new Set([1]));
  await book.settle();
  await book.settle();
  const [counted] = await t.sql`SELECT mismatches + unresolved_messages AS count FROM devices`;
  expect(counted).toEqual({ count: 1 });
});

it.each(['CONNECTION_BUSY', '53300'])(
  'R-98 no verdict is dropped because no connection was free (%s): a device is retired by its third mismatch',
  async (code) => {
    const t = await setup({ workers: false });
    const deviceId = decodeId('dev', await t.registerDevice()) ?? '';
    let refused = 0;
    const sql = new Proxy(t.sql, {
      get(target, name) {
        if (name !== 'begin' || ++refused > 1) return Reflect.get(target, name);
        return () => Promise.reject(Object.assign(new Error('no connection'), { code }));
      },
    });
    const { clock, log } = t.service.run;
    const book = createVerdictBook({ sql, clock, log });
    book.note(t.app.id, [], new Set([1]));
    await book.settle();
    const mismatch = verdictOf(t, deviceId, { errorCode: 'credential_mismatch' });
    book.note(t.app.id, [{ ...mismatch }, { ...mismatch }, { ...mismatch }], new Set());
    await book.settle();
    expect(await statusesOf(t, 'invalid')).toEqual([]);
    await book.settle();
    expect(refused).toBeGreaterThan(1);
    expect(await statusesOf(t, 'invalid')).toHaveLength(1);
  },
);
