// Promises of an Idempotency-Key beyond a simple repeat: across rotated keys, refusals, unusual
// headers, and a send in progress.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { listKeys } from '../../src/teams/apps/key-queries.ts';
import { rotateKey } from '../../src/teams/apps/manage-keys.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { accept } from '../push-service.ts';
import { connectRaw } from '../raw-http.ts';
import { setup, unknownId } from '../setup.ts';

const t = await setup({ environment: { SEND_WAIT_MS: '0' } });
const content = { title: 'Sale' };
const newKey = () => ({ 'idempotency-key': randomBytes(9).toString('base64url') });

it('R-12 the idempotency key stays valid when the API key that it was sent with is replaced', async () => {
  const app = await t.newApp();
  const request = { audience: { all: true }, content };
  const headers = newKey();
  const first = await t.clientOf(app.serverKey).post('/v1/messages', request, headers);
  const former = (await listKeys(t.sql, app.id)).find(({ scope }) => scope === 'server');
  const deps = { sql: t.sql, clock: t.clock, by: t.by };
  const { key } = await rotateKey(deps, { id: former?.id ?? '', overlapHours: 0 });
  t.clock.advance(2_000);
  expect((await t.clientOf(app.serverKey).post('/v1/messages', request, headers)).status).toBe(401);
  const replay = await t.clientOf(key.text).post('/v1/messages', request, headers);
  expect(replay.body).toMatchObject({ id: first.body.id, replayed: true });
});

it('R-13 no refusal before the message is stored uses the key up: 401, 403, 404, and then it is sent', async () => {
  const app = await t.newApp();
  const headers = newKey();
  const ask = (key: string, request: object) => t.clientOf(key).post('/v1/messages', request, headers);
  const request = { audience: { all: true }, content };
  expect((await ask(`${app.serverKey.slice(0, -1)}!`, request)).status).toBe(401);
  expect((await ask(app.clientKey, request)).status).toBe(403);
  expect((await ask(app.serverKey, { ...request, audience: { segment_id: unknownId('seg') } })).status).toBe(404);
  await updateAppSuspension(t.sql, t.clock, app.id, true);
  t.clock.advance(2_000);
  expect((await ask(app.serverKey, request)).status).toBe(403);
  await updateAppSuspension(t.sql, t.clock, app.id, false);
  t.clock.advance(2_000);
  expect((await ask(app.serverKey, request)).body).toMatchObject({ replayed: false });
});

describe('R-15 the header', () => {
  it.each([
    ['twice, with two keys', ['one', 'two']],
    ['twice, with the same key', ['one', 'one']],
    ['twice, the second one empty', ['one', '']],
  ])('%s is refused', async (_what, keys) => {
    const body = JSON.stringify({ audience: { device_ids: ['x'] }, content });
    const connection = await connectRaw(t.url);
    connection.send(
      `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${t.app.serverKey}\r\nContent-Type: application/json\r\n${keys
        .map((key) => `Idempotency-Key: ${key}\r\n`)
        .join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = await connection.answer();
    connection.destroy();
    expect(answer).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(answer.body.issues).toMatchObject([{ path: ['idempotency-key'], code: 'invalid_format' }]);
  });
});

it('R-16 a replayed report only moves forward, adds up at every moment, and becomes final', async () => {
  const [most, lotSize] = [80, 10];
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  await t.registerMany(most, app);
  // Every third device is gone. No push is answered before the test allows it.
  const held: (() => void)[] = [];
  let asked = 0;
  t.push.scriptAll((request, response, count) => {
    const isGone = ++asked % 3 === 0;
    held.push(() => {
      if (!isGone) return accept(request, response, count);
      response.writeHead(410);
      response.end();
    });
  });
  const request = { audience: { all: true }, content };
  const headers = newKey();
  const { body: first } = await server.post('/v1/messages', request, headers);
  expect(first).toMatchObject({ replayed: false, report: { accepted: most, pending: most } });

  let last = { ...first.report };
  const look = async (): Promise<number> => {
    const { body } = await server.post('/v1/messages', request, headers);
    expect(body).toMatchObject({ id: first.id, status: 'sent', replayed: true });
    const { accepted, sent, failed, skipped, pending = 0 } = body.report;
    expect(accepted).toBe(most);
    expect(sent + failed + skipped + pending).toBe(most);
    for (const name of ['sent', 'failed', 'skipped']) expect(body.report[name]).toBeGreaterThanOrEqual(last[name]);
    expect('pending' in body.report).toBe(pending > 0);
    last = body.report;
    return most - pending;
  };
  for (let released = 0; released < most; released += lotSize) {
    await t.push.waitForCount(released + lotSize);
    for (const answer of held.splice(0, lotSize)) answer();
    while ((await look()) < released + lotSize);
  }
  t.push.scriptAll(undefined);
  const gone = Math.floor(most / 3);
  expect(last).toEqual({ accepted: most, sent: most - gone, failed: gone, skipped: 0 });
});
