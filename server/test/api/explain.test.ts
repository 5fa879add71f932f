// GET /v1/explain: why a person or a device got a message or not (contract 5.22). Every verdict and
// every step comes from a real send.
import { randomUUID } from 'node:crypto';
import type { Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { pause, resume } from '../../src/ground/database/restore-guard.ts';
import { explainMessage } from '../../src/insight/explain/explain-message.ts';
import { verdicts } from '../../src/insight/explain/verdict.ts';
import { meaningOf } from '../../src/sending/delivery/code-meaning.ts';
import type { Script } from '../push-service.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { rowsReadBy } from '../rows-read.ts';
import { setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '1000' } });
const content = { title: 'Sale' };
const secondMs = 1_000;
const hourMs = 3_600_000;

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly detail: Readonly<Record<string, unknown>>;
}

interface Explained {
  readonly verdict: string;
  readonly summary: string;
  readonly steps: readonly Step[];
  readonly messages: readonly (Explained & { readonly message_id: string })[];
  readonly devices: readonly Readonly<Record<string, unknown>>[];
}

const seen = new Set<string>();

async function explain(query: Record<string, string>, app: TestApp = t.app): Promise<Explained> {
  const { status, body } = await t.clientOf(app.serverKey).get(`/v1/explain?${new URLSearchParams(query)}`);
  expect({ status, body }).toMatchObject({ status: 200 });
  seen.add(body.verdict);
  return body;
}

/** The steps in their order with whether each is ok: `user devices audience!`. */
const walked = ({ steps }: Pick<Explained, 'steps'>): string =>
  steps.map(({ step, ok }) => `${step}${ok ? '' : '!'}`).join(' ');
const lastDetail = ({ steps }: Explained) => steps.at(-1)?.detail;

/** A user with one device, in the order of registration. */
async function newUser(
  fields: object = {},
  device: Record<string, unknown> = {},
  app: TestApp = t.app,
): Promise<{ user: string; device: string }> {
  const user = `u-${randomUUID()}`;
  const id = await t.registerDevice(device, app);
  const { status } = await t.clientOf(app.serverKey).post('/v1/users', { external_id: user, device_id: id, ...fields });
  expect(status).toBe(200);
  return { user, device: id };
}

async function send(audience: object, fields: object = {}, app: TestApp = t.app): Promise<string> {
  const { status, body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience, content, ...fields });
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.id;
}

const fails =
  (status: number, headers: Record<string, string> = {}): Script =>
  (_request, response) => {
    response.writeHead(status, headers);
    response.end();
  };

/** A user whose only push the push service answers as the script says. */
async function pushedUser(script: Script, app: TestApp = t.app) {
  const token = randomUUID();
  t.push.script(token, script);
  const { user, device } = await newUser({}, { token: t.pushSubscription(token) }, app);
  const message = await send({ external_ids: [user] }, {}, app);
  return { user, device, message };
}

describe('200: a stored delivery decides', () => {
  it('sent, and then displayed and clicked, as the receipts say', async () => {
    const { user, device } = await newUser();
    const message_id = await send({ external_ids: [user] });
    const sent = await explain({ message_id, external_id: user });
    expect(sent).toMatchObject({ message_id, external_id: user, device_id: null, verdict: 'sent' });
    expect(Object.keys(sent)).toEqual([
      ...['message_id', 'external_id', 'device_id', 'verdict', 'summary', 'steps', 'devices'],
    ]);
    expect(walked(sent)).toBe('user devices audience excluded channel turn attempts receipt!');
    expect(lastDetail(sent)).toMatchObject({ displayed: 'no', displayed_at: null, clicked_at: null });
    expect(sent.summary).toMatch(/accepted the push .* has not reported that it was displayed/);
    expect(sent.devices).toEqual([
      { device_id: device, platform: 'web', status: 'active', verdict: 'sent', error_code: null, attempts: 1 },
    ]);

    const token = await receiptTokenOf(t, message_id, device);
    await t.request('POST', '/v1/receipts', { body: { token, event: 'displayed' } });
    const displayed = await explain({ message_id, external_id: user });
    expect(displayed).toMatchObject({ verdict: 'displayed' });
    expect(walked(displayed)).toBe('user devices audience excluded channel turn attempts receipt');
    await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked', action: 'open' } });
    const clicked = await explain({ message_id, device_id: device });
    expect(clicked).toMatchObject({ verdict: 'clicked', external_id: null, device_id: device });
    expect(lastDetail(clicked)).toMatchObject({ displayed: 'yes', action: 'open', clicked_at: expect.any(String) });
    expect(clicked.summary).toMatch(/clicked at 20/);
  });

  it("a display that the platform does not report is unknown and no failure: Apple's browsers and phones", async () => {
    const { user, device } = await newUser();
    const message_id = await send({ external_ids: [user] });
    await t.sql`UPDATE devices SET token = replace(token, 'push.test.example', 'web.push.apple.com')
      WHERE app_id = ${t.app.id} AND token LIKE ${'%push.test.example%'}
        AND id IN (SELECT device_id FROM audience WHERE external_id = ${user})`;
    const { verdict, steps, summary } = await explain({ message_id, device_id: device });
    expect({ verdict, last: steps.at(-1) }).toMatchObject({
      verdict: 'sent',
      last: { step: 'receipt', ok: true, detail: { displayed: 'unknown' } },
    });
    expect(summary).toMatch(/does not report it by itself/);
  });

  it('failed, with the code, its meaning and what to do', async () => {
    const { user, device, message: message_id } = await pushedUser(fails(410));
    const failed = await explain({ message_id, external_id: user });
    const { meaning, action } = meaningOf('unregistered');
    expect(failed.verdict).toBe('failed');
    expect(walked(failed)).toBe('user devices audience excluded channel turn attempts!');
    expect(lastDetail(failed)).toMatchObject({
      status: 'failed',
      error_code: 'unregistered',
      meaning,
      action,
      attempts: 1,
      http_status: 410,
      retry_at: null,
    });
    expect(failed.devices).toMatchObject([{ device_id: device, verdict: 'failed', error_code: 'unregistered' }]);
    expect(failed.summary).toContain(`The push to ${user} failed after 1 attempt`);
    const ofDevice = await explain({ message_id, device_id: device });
    expect(ofDevice.summary).toContain(`The push to device ${device} failed after 1 attempt`);
    expect(failed.summary).toContain(meaning);
  });

  it('retrying, with the instant of the next attempt', async () => {
    // A Retry-After pauses the push service for the whole app, so this app is of its own.
    const app = await t.newApp();
    const { user, message: message_id } = await pushedUser(fails(503, { 'retry-after': '600' }), app);
    const retrying = await explain({ message_id, external_id: user }, app);
    expect(retrying.verdict).toBe('retrying');
    expect(lastDetail(retrying)).toMatchObject({ error_code: 'provider_unavailable', retry_at: expect.any(String) });
  });

  it('skipped for the channel: it has no credential', async () => {
    const { user } = await newUser({}, { platform: 'ios', token: randomUUID().replaceAll('-', '').repeat(2) });
    const message_id = await send({ external_ids: [user] });
    const skipped = await explain({ message_id, external_id: user });
    expect(skipped.verdict).toBe('skipped');
    expect(walked(skipped)).toBe('user devices audience excluded channel!');
    expect(lastDetail(skipped)).toEqual({ channel: 'apns', credential: 'missing' });
    expect(skipped.summary).toMatch(/apns had no credential/);
  });

  it('skipped for the text: it is empty for this person', async () => {
    const { user } = await newUser();
    const message_id = await send({ external_ids: [user] }, { content: { title: '{{properties.none}}' } });
    const skipped = await explain({ message_id, external_id: user });
    expect(skipped.verdict).toBe('skipped');
    expect(walked(skipped)).toBe('user devices audience excluded channel turn attempts!');
    expect(lastDetail(skipped)).toMatchObject({ status: 'skipped', error_code: 'empty_content', attempts: 0 });
  });

  it('the best of several devices is the verdict of the person, and each device has its own', async () => {
    const { user, device } = await pushedUser(fails(410));
    const second = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: user, device_id: second });
    await t.judged();
    const third = await t.registerDevice();
    const message_id = await send({ external_ids: [user] });
    await t.server.post('/v1/users', { external_id: user, device_id: third });
    const both = await explain({ message_id, external_id: user });
    expect(both.verdict).toBe('sent');
    const verdictOf = Object.fromEntries(both.devices.map((each) => [each['device_id'], each['verdict']]));
    expect(verdictOf).toEqual({ [device]: 'no_active_device', [second]: 'sent', [third]: 'not_in_audience' });
  });

  it("a user's delivery stays theirs after the device has opted out, and is found by the device too", async () => {
    const { user, device } = await newUser();
    const message_id = await send({ external_ids: [user] });
    await t.server.delete(`/v1/devices/${device}`);
    for (const query of [{ external_id: user }, { device_id: device }]) {
      const { verdict, devices } = await explain({ message_id, ...(query as Record<string, string>) });
      expect({ verdict, devices }).toMatchObject({
        verdict: 'sent',
        devices: [{ device_id: device, status: 'unsubscribed', verdict: 'sent' }],
      });
    }
  });
});

describe('200: an open batch decides where nothing was tried yet', () => {
  it('waiting, in whatever of many batches the device stands, and why', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.registerMany(2_300, app);
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content, per_second: 50 });
    const message_id: string = body.id;
    const batches = await t.sql<{ size: number; ids: string[] }[]>`
      SELECT size, device_ids AS ids FROM batches WHERE app_id = ${app.id} ORDER BY id`;
    expect(batches.length).toBeGreaterThan(4);
    const { encodeId } = await import('../../src/ground/values/ids.ts');
    for (const { ids } of batches) {
      for (const id of [ids[0], ids.at(-1)]) {
        const waiting = await explain({ message_id, device_id: encodeId('dev', id ?? '') }, app);
        expect(waiting.verdict).toBe('waiting');
        expect(walked(waiting)).toBe('user devices audience excluded channel turn!');
        expect(lastDetail(waiting)).toMatchObject({ reason: 'rate', per_second: 50 });
      }
    }
    const late = await t.registerDevice({}, app);
    expect(await explain({ message_id, device_id: late }, app)).toMatchObject({ verdict: 'not_in_audience' });

    const device_id = encodeId('dev', batches[0]?.ids[0] ?? '');
    await pause(t.sql, 'operator');
    const paused = await explain({ message_id, device_id }, app);
    await resume(t.sql);
    expect(lastDetail(paused)).toMatchObject({ reason: 'paused' });
    expect(paused.summary).toMatch(/all sends are paused/);

    await server.post(`/v1/messages/${message_id}/cancel`);
    const canceled = await explain({ message_id, device_id }, app);
    expect(canceled).toMatchObject({ verdict: 'canceled' });
    expect(walked(canceled)).toBe('message!');
  });

  it('waiting for a local time that has not come, with that instant', async () => {
    const app = await t.newApp();
    const device_id = await t.registerDevice({ timezone: 'Pacific/Honolulu' }, app);
    await t.registerDevice({ timezone: 'Pacific/Kiritimati' }, app);
    const at = new Date(t.clock.nowMs() + 20 * hourMs).toISOString().replace('Z', '+14:00');
    const server = t.clientOf(app.serverKey);
    const asked = { audience: { all: true }, content, send_at: at, local_time: true };
    const { body } = await server.post('/v1/messages', asked);
    expect(body.status).toBe('scheduled');
    const before = await explain({ message_id: body.id, device_id }, app);
    expect(before).toMatchObject({ verdict: 'scheduled' });
    const heldMs = Date.parse(body.run_at) + 2 * secondMs - t.clock.nowMs();
    t.clock.advance(heldMs);
    const workers = t.startWorkers();
    await workers.idle();
    const waiting = await explain({ message_id: body.id, device_id }, app);
    await workers.stop();
    t.clock.advance(-heldMs);
    expect(waiting).toMatchObject({ verdict: 'waiting' });
    expect(lastDetail(waiting)).toMatchObject({ reason: 'not_due', until: expect.any(String) });
  });
});

describe('200: the message itself decides', () => {
  const later = () => new Date(t.clock.nowMs() + hourMs).toISOString();

  it('scheduled, with when it runs, and canceled before it ran', async () => {
    const { user } = await newUser();
    const send_at = later();
    const message_id = await send({ external_ids: [user] }, { send_at });
    const scheduled = await explain({ message_id, external_id: user });
    expect(scheduled).toMatchObject({ verdict: 'scheduled', summary: expect.stringContaining(send_at) });
    expect(scheduled.steps).toEqual([
      {
        step: 'message',
        ok: false,
        detail: { status: 'scheduled', status_reason: null, run_at: send_at, started_at: null, finished_at: null },
      },
    ]);
    await t.server.post(`/v1/messages/${message_id}/cancel`);
    const canceled = await explain({ message_id, external_id: user });
    expect(canceled).toMatchObject({ verdict: 'canceled' });
    expect(walked(canceled)).toBe('message!');
  });

  it('failed where it could not run, with the reason', async () => {
    const { user } = await newUser();
    const message_id = await send({ external_ids: [user] }, { send_at: later() });
    await t.sql`
      UPDATE messages SET status = 'failed', status_reason = 'quota_exceeded', finished_at = now(), next_start_at = NULL
      WHERE id = (SELECT id FROM messages WHERE app_id = ${t.app.id} ORDER BY created_at DESC, id DESC LIMIT 1)`;
    const failed = await explain({ message_id, external_id: user });
    expect(failed).toMatchObject({ verdict: 'failed', summary: expect.stringMatching(/monthly quota/) });
  });
});

describe('200: where nothing is stored, the present data is asked', () => {
  const german = { field: 'country', op: 'eq', value: 'DE' };
  const pro = { field: 'properties.plan', op: 'eq', value: 'pro' };

  it('an unknown user is an answer', async () => {
    const message_id = await send({ all: true });
    const unknown = await explain({ message_id, external_id: 'nobody' });
    expect(unknown).toMatchObject({ verdict: 'unknown_user', devices: [] });
    expect(walked(unknown)).toBe('user!');
  });

  it('a user without an active device, with what became of the devices', async () => {
    const { user, device } = await newUser();
    await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'deviceless' });
    await t.sql`UPDATE devices SET status = 'invalid', status_reason = 'unregistered' WHERE app_id = ${t.app.id}
      AND id IN (SELECT device_id FROM audience WHERE external_id = ${user})`;
    await t.sql`UPDATE audience SET active = false WHERE external_id = ${user}`;
    const message_id = await send({ device_ids: [device] });
    const none = await explain({ message_id, external_id: user });
    expect(none).toMatchObject({ verdict: 'no_active_device', devices: [{ verdict: 'no_active_device' }] });
    expect(walked(none)).toBe('user devices!');
    expect(lastDetail(none)).toEqual({ active: 0, invalid: 1, unsubscribed: 0 });
    expect(await explain({ message_id, external_id: 'deviceless' })).toMatchObject({
      verdict: 'no_active_device',
      summary: 'deviceless has no device.',
    });
    const byDevice = await explain({ message_id, device_id: device });
    expect(lastDetail(byDevice)).toEqual({ status: 'invalid', status_reason: 'unregistered' });
  });

  it('of an AND the first false leaf is named, with the value it found', async () => {
    const { user, device } = await newUser({ country: 'FR', properties: { plan: 'free' } });
    await newUser({ country: 'DE', properties: { plan: 'pro' } });
    const message_id = await send({ filter: { and: [german, pro] } });
    const out = await explain({ message_id, external_id: user });
    expect(out.verdict).toBe('not_in_audience');
    expect(walked(out)).toBe('user devices audience!');
    expect(lastDetail(out)).toEqual({
      path: ['audience', 'filter', 'and', 0],
      field: 'country',
      op: 'eq',
      value: 'DE',
      actual: 'FR',
      as_of: 'now',
    });
    expect(out.summary).toMatch(/country is FR, the filter asks for DE\. .*may have changed/);
    expect(out.devices).toMatchObject([{ device_id: device, verdict: 'not_in_audience', attempts: 0 }]);
  });

  it.each([
    [
      'of an OR the last',
      { or: [german, pro] },
      ['audience', 'filter', 'or', 1],
      { field: 'properties.plan', actual: 'free' },
    ],
    [
      'of an AND past true leaves',
      { and: [{ field: 'country', op: 'exists' }, pro] },
      ['audience', 'filter', 'and', 1],
      { op: 'eq', actual: 'free' },
    ],
    ['a missing value', { field: 'language', op: 'eq', value: 'de' }, ['audience', 'filter'], { actual: null }],
    ['a number', { field: 'properties.age', op: 'gte', value: 40 }, ['audience', 'filter'], { actual: 30 }],
    ['a boolean', { field: 'properties.trial', op: 'eq', value: true }, ['audience', 'filter'], { actual: false }],
    [
      'an instant',
      { field: 'created_at', op: 'before', value: '2020-01-01T00:00:00Z' },
      ['audience', 'filter'],
      { actual: expect.stringMatching(/^20/) },
    ],
    [
      'whether it is identified',
      { field: 'device.identified', op: 'eq', value: false },
      ['audience', 'filter'],
      { actual: true },
    ],
    [
      'the platform',
      { field: 'device.platform', op: 'in', value: ['ios'] },
      ['audience', 'filter'],
      { actual: expect.anything() },
    ],
    [
      'a true leaf under a NOT',
      { not: { field: 'country', op: 'eq', value: 'FR' } },
      ['audience', 'filter', 'not'],
      { actual: 'FR', under_not: true },
    ],
    [
      'a negative operator',
      { field: 'country', op: 'neq', value: 'FR' },
      ['audience', 'filter'],
      { op: 'neq', actual: 'FR' },
    ],
    [
      'events',
      { event: 'purchase', count: { op: 'gte', value: 3 } },
      ['audience', 'filter'],
      { event: 'purchase', op: 'gte', value: 3, actual: 2, last_at: expect.any(String) },
    ],
    [
      'events of a window',
      { event: 'purchase', within: '2h', count: { op: 'gt', value: 2 } },
      ['audience', 'filter'],
      { actual: 2 },
    ],
    [
      'events with a condition',
      { event: 'purchase', where: [{ field: 'properties.amount', op: 'gte', value: 50 }] },
      ['audience', 'filter'],
      { actual: 0 },
    ],
    ['no event at all', { event: 'install' }, ['audience', 'filter'], { actual: 0 }],
  ] as const)('names the deciding leaf: %s', async (_what, filter, path, expected) => {
    const properties = { plan: 'free', age: 30, trial: false };
    const { user, device } = await newUser({ country: 'FR', properties });
    for (const amount of [5, 6]) {
      const tracked = { name: 'purchase', device_id: device, properties: { amount, currency: 'EUR' } };
      expect((await t.server.post('/v1/events', tracked)).status).toBe(200);
    }
    // Another person's events do not count.
    await t.server.post('/v1/events', {
      name: 'purchase',
      external_id: 'other',
      properties: { amount: 99, currency: 'EUR' },
    });
    const message_id = await send({ filter });
    const out = await explain({ message_id, external_id: user });
    expect(out.verdict).toBe('not_in_audience');
    expect(lastDetail(out)).toMatchObject({ path, ...expected, as_of: 'now' });
  });

  it("a segment's leaf is named with its segment, and a deleted segment is said", async () => {
    const { user } = await newUser({ country: 'FR' });
    const name = randomUUID();
    const { body: segment } = await t.server.post('/v1/segments', { name, filter: { and: [german] } });
    const message_id = await send({ segment_id: segment.id });
    const out = await explain({ message_id, external_id: user });
    expect(lastDetail(out)).toMatchObject({
      path: ['audience', 'segment_id', 'and', 0],
      segment: { id: segment.id, name },
      actual: 'FR',
    });
    expect(out.summary).toContain(`the segment '${name}' asks for DE`);
    await t.server.delete(`/v1/segments/${segment.id}`);
    expect(lastDetail(await explain({ message_id, external_id: user }))).toMatchObject({ reason: 'segment_gone' });
  });

  it('excluded, with the leaf that matches', async () => {
    const { user } = await newUser({ country: 'DE' });
    const { body: segment } = await t.server.post('/v1/segments', {
      name: randomUUID(),
      filter: { or: [german, pro] },
    });
    const message_id = await send({ external_ids: [user] }, { exclude_segment_id: segment.id });
    const out = await explain({ message_id, external_id: user });
    expect(out.verdict).toBe('excluded');
    expect(walked(out)).toBe('user devices audience excluded!');
    expect(lastDetail(out)).toMatchObject({ path: ['exclude_segment_id', 'or', 0], field: 'country', actual: 'DE' });
  });

  it.each(['device_ids', 'external_ids'])('not listed among %s', async (selector) => {
    const { user } = await newUser();
    const other = await newUser();
    const message_id = await send({ [selector]: [selector === 'device_ids' ? other.device : other.user] });
    const out = await explain({ message_id, external_id: user });
    expect(out.verdict).toBe('not_in_audience');
    expect(lastDetail(out)).toEqual({ path: ['audience', selector], reason: 'not_listed', as_of: 'now' });
  });

  it('a person who matches only now gets the reason: a later device, or a changed profile', async () => {
    const { user } = await newUser({ country: 'FR' });
    const message_id = await send({ filter: german });
    await t.server.post('/v1/users', { external_id: user, country: 'DE' });
    expect(lastDetail(await explain({ message_id, external_id: user }))).toMatchObject({ reason: 'changed_since' });
    const late = await newUser({ country: 'DE' });
    expect(lastDetail(await explain({ message_id, external_id: late.user }))).toMatchObject({
      reason: 'registered_later',
    });
  });
});

describe('200 without message_id', () => {
  it('explains the newest 20 messages, newest first, each as if it was asked for', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'ada', device_id: device });
    const ids: string[] = [];
    for (let i = 0; i < 22; i++) {
      const audience = i % 2 === 0 ? { all: true } : { filter: { field: 'country', op: 'eq', value: 'DE' } };
      ids.unshift((await server.post('/v1/messages', { audience, content })).body.id);
    }
    const listed = await explain({ external_id: 'ada' }, app);
    expect(listed).toMatchObject({
      message_id: null,
      verdict: 'sent',
      summary: 'ada got 10 of the newest 20 messages.',
    });
    expect(listed).not.toHaveProperty('steps');
    expect(listed.messages.map(({ message_id }) => message_id)).toEqual(ids.slice(0, 20));
    for (const { message_id, ...one } of listed.messages.slice(0, 3)) {
      const {
        message_id: _id,
        external_id: _user,
        device_id: _device,
        ...alone
      } = {
        ...(await explain({ message_id, external_id: 'ada' }, app)),
      } as Explained & Record<string, unknown>;
      expect(one).toEqual(alone);
    }
    expect(listed.devices).toMatchObject([{ device_id: device, verdict: 'sent', attempts: 1 }]);
  });

  it('forgets messages of more than 30 days, and says what is known without any', async () => {
    const app = await t.newApp();
    const device_id = await t.registerDevice({}, app);
    await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    await t.sql`UPDATE messages SET created_at = now() - interval '31 days' WHERE app_id = ${app.id}`;
    expect(await explain({ device_id }, app)).toMatchObject({ verdict: 'not_in_audience', messages: [] });
    expect(await explain({ external_id: 'ada' }, app)).toMatchObject({ verdict: 'unknown_user', messages: [] });
  });
});

describe('an explanation', () => {
  it('reads few rows of a message to many, finished or under way, and of events of many', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.registerMany(20_000, app);
    const device = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'ada', device_id: device, country: 'FR' });
    for (let i = 0; i < 40; i++) {
      const events = Array.from({ length: 50 }, (_each, n) => ({ name: 'opened', external_id: `p-${i}-${n}` }));
      await server.post('/v1/events', { events });
    }
    const underWay = (await server.post('/v1/messages', { audience: { all: true }, content })).body.id;
    const filter = { and: [{ field: 'country', op: 'neq', value: 'DE' }, { event: 'opened' }] };
    const filtered = (await server.post('/v1/messages', { audience: { filter }, content })).body.id;
    await t.sql`ANALYZE audience, devices, batches, deliveries, messages, subject_events, users`;
    for (const messageId of [underWay, filtered, null]) {
      const read = await rowsReadBy(t.sql, async (tx) => {
        // A table of some pages is read from its beginning; one of a million rows is not.
        await tx`SET LOCAL enable_seqscan = off`;
        const question = { appId: app.id, messageId, subject: { externalId: 'ada' } };
        const deps = { sql: tx as unknown as Sql, clock: t.clock };
        expect((await explainMessage(deps, question)).messages.length).toBeGreaterThan(0);
      });
      const total = [...read.values()].reduce((sum, rows) => sum + rows, 0);
      expect(total, JSON.stringify([...read])).toBeLessThan(150);
    }
  });
});

describe('400', () => {
  it.each([
    ['neither person nor device', '', [], 'exactly_one_required'],
    ['both', `?external_id=a&device_id=${unknownId('dev')}`, [], 'exactly_one_required'],
    ['an empty external id', '?external_id=', ['external_id'], 'too_small'],
    ['an unknown parameter', '?external_id=a&user=b', ['user'], 'unrecognized_keys'],
  ])('%s', async (_what, query, path, code) => {
    const { status, body } = await t.server.get(`/v1/explain${query}`);
    expect({ status, issues: body.issues }).toMatchObject({ status: 400, issues: [{ path, code }] });
  });
});

describe('404', () => {
  it('an unknown message, an unknown device, and those of another app', async () => {
    const other = await t.newApp();
    const device = await t.registerDevice({}, other);
    const { body } = await t.clientOf(other.serverKey).post('/v1/messages', { audience: { all: true }, content });
    for (const query of [
      `message_id=${unknownId('msg')}&external_id=a`,
      `message_id=${body.id}&external_id=a`,
      'message_id=nonsense&external_id=a',
      `device_id=${unknownId('dev')}`,
      `device_id=${device}`,
    ]) {
      const answer = await t.server.get(`/v1/explain?${query}`);
      expect({ query, status: answer.status }).toEqual({ query, status: 404 });
    }
  });
});

describe('the verdicts', () => {
  it('were each given above by a real send', () => {
    expect([...seen].sort()).toEqual([...verdicts].sort());
  });
});
