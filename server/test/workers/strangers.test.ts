// A stranger's possibilities with a client key and made-up subscriptions, and what happens to these
// devices (contract 8).
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { purgeDevices } from '../../src/people/devices/purge-devices.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type Bundle, setup } from '../setup.ts';

const content = { title: 'News' };
const hourMs = 3_600_000;

/** A name that no name server knows: `.example` is reserved (RFC 6761). */
const goneHost = 'gone.test.example';
const environment = { PUSH_HOSTS: `push.test.example,${goneHost}` };

const invented = (t: Bundle, host = goneHost) => {
  const { keys } = t.pushSubscription();
  return { endpoint: `https://${host}/push/${randomBytes(9).toString('base64url')}`, keys };
};

async function register(t: Bundle, token: object, by = t.client): Promise<string> {
  const { status, body } = await by.post('/v1/devices', { platform: 'web', token });
  expect(status).toBe(200);
  return body.id;
}

async function send(t: Bundle, audience: object) {
  const { body } = await t.server.post('/v1/messages', { audience, content });
  await t.judged();
  return body;
}

const listed = async (t: Bundle, id: string) => {
  const { data } = (await t.server.get('/v1/devices?limit=200')).body;
  return data.find((device: { id: string }) => device.id === id);
};

/**
 * The outcome of the only delivery, once it is written. Status 0 means that it waits for a retry.
 */
async function firstOutcome(t: Bundle): Promise<unknown> {
  for (;;) {
    const [delivery] = await t.sql`SELECT status, attempts FROM deliveries`;
    if (delivery) return delivery;
  }
}

const isReached = async (t: Bundle, id: string): Promise<unknown> => {
  const [row] = await t.sql`SELECT is_reached FROM devices WHERE id = ${decodeId('dev', id) ?? ''}`;
  return row?.['isReached'];
};

describe('a made-up device on a host without an address', () => {
  it('fails at its first attempt, so that no send waits for it, and is retired by the third message over a day', async () => {
    const t = await setup({ environment });
    const real = await register(t, t.pushSubscription());
    const fake = await register(t, invented(t));
    const audience = { device_ids: [real, fake] };
    const first = await send(t, audience);
    expect(first).toMatchObject({ status: 'sent', report: { accepted: 2, sent: 1, failed: 1, skipped: 0 } });
    const { data } = (await t.server.get(`/v1/messages/${first.id}/deliveries?status=failed`)).body;
    expect(data).toMatchObject([{ device_id: fake, error_code: 'provider_unavailable', attempts: 1 }]);

    t.clock.advance(12 * hourMs);
    await send(t, audience);
    expect(await listed(t, fake)).toMatchObject({ status: 'active' });
    t.clock.advance(11 * hourMs);
    await send(t, audience);
    // The third message, but less than a day after the first.
    expect(await listed(t, fake)).toMatchObject({ status: 'active' });
    t.clock.advance(2 * hourMs);
    await send(t, audience);
    expect(await listed(t, fake)).toMatchObject({ status: 'invalid', status_reason: 'unregistered' });
    expect((await send(t, { all: true })).report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
  });

  it('is retired whichever key registered it, but retried normally after a server key', async () => {
    const t = await setup({ environment: { ...environment, SEND_WAIT_MS: '0' } });
    const fake = await register(t, invented(t), t.server);
    await send(t, { device_ids: [fake] });
    expect(await firstOutcome(t)).toMatchObject({ status: 0, attempts: 1 });
  });

  it('that was reached once is retried, and stays', async () => {
    const t = await setup({ environment: { ...environment, SEND_WAIT_MS: '0' } });
    const id = await register(t, invented(t));
    await t.sql`UPDATE devices SET is_reached = true`;
    await send(t, { device_ids: [id] });
    expect(await firstOutcome(t)).toMatchObject({ status: 0 });
  });

  it('counts from zero when it registers another token', async () => {
    const t = await setup({ environment });
    const token = invented(t);
    const id = await register(t, token);
    for (let message = 0; message < 2; message++) await send(t, { device_ids: [id] });
    expect(await t.sql`SELECT unresolved_messages FROM devices`).toMatchObject([{ unresolvedMessages: 2 }]);
    await t.client.post('/v1/devices', { platform: 'web', token: invented(t), device_id: id, previous_token: token });
    expect(await t.sql`SELECT unresolved_messages FROM devices`).toMatchObject([{ unresolvedMessages: 0 }]);
  });
});

describe('a device counts as reached', () => {
  it('by its first accepted push, under any key, and not by a refused one', async () => {
    const t = await setup();
    t.push.script('bad', (_request, response) => response.writeHead(400).end());
    const [good, bad] = [await register(t, t.pushSubscription()), await register(t, t.pushSubscription('bad'))];
    const byServer = await register(t, t.pushSubscription(), t.server);
    const all = [good, bad, byServer];
    expect(await Promise.all(all.map((id) => isReached(t, id)))).toEqual([false, false, false]);
    await send(t, { device_ids: all });
    expect(await Promise.all(all.map((id) => isReached(t, id)))).toEqual([true, false, true]);
  });

  it('by a receipt, even when the push service had refused', async () => {
    const t = await setup();
    t.push.script('late', (_request, response) => response.writeHead(400).end());
    const id = await register(t, t.pushSubscription('late'));
    const message = await send(t, { device_ids: [id] });
    expect(await isReached(t, id)).toBe(false);
    const token = await receiptTokenOf(t, message.id, id);
    await t.request('POST', '/v1/receipts', { body: { token, event: 'displayed' } });
    expect(await isReached(t, id)).toBe(true);
  });

  it('once: a second push writes nothing to its row', async () => {
    const t = await setup();
    const id = await register(t, t.pushSubscription());
    await send(t, { device_ids: [id] });
    const versionOf = async () => (await t.sql`SELECT xmin::text FROM devices`)[0]?.['xmin'];
    const before = await versionOf();
    await send(t, { device_ids: [id] });
    expect(await versionOf()).toBe(before);
  });
});

describe("a push service's answer about a credential", () => {
  const refuse = (t: Bundle, token: string, status: number) =>
    t.push.script(token, (_request, response) => response.writeHead(status).end());
  const state = async (t: Bundle) =>
    (await t.sql`SELECT state, last_error FROM credentials WHERE app_id = ${t.app.id}`)[0];

  it.each([401, 403])(
    "with %i for strangers' made-up devices has no effect once the credential has worked",
    async (status) => {
      const t = await setup();
      await send(t, { device_ids: [await register(t, t.pushSubscription())] });
      const fakes = [];
      for (let i = 0; i < 25; i++) {
        refuse(t, `fake-${i}`, status);
        fakes.push(await register(t, t.pushSubscription(`fake-${i}`)));
      }
      t.clock.advance(2 * hourMs);
      await send(t, { device_ids: fakes });
      expect(await state(t)).toMatchObject({ state: 'ok', lastError: null });
    },
  );

  it('has an effect for a device that was reached, and for one that a server registered', async () => {
    for (const by of ['client', 'server'] as const) {
      const t = await setup();
      refuse(t, 'own', 401);
      const id = await register(t, t.pushSubscription('own'), t[by]);
      await send(t, { device_ids: [await register(t, t.pushSubscription(), t.server)] });
      if (by === 'client') await t.sql`UPDATE devices SET is_reached = true`;
      await send(t, { device_ids: [id] });
      expect(await state(t)).toMatchObject({ state: 'failing', lastError: { code: 'auth_failed' } });
    }
  });

  it('retires a device that belongs to another key by its third message, while the credential works', async () => {
    const t = await setup();
    const real = await register(t, t.pushSubscription(), t.server);
    const mismatched = (name: string) => {
      t.push.script(name, (_request, response) => {
        response.writeHead(403, { 'content-type': 'application/json' }).end('{"reason":"VapidPkHashMismatch"}');
      });
      return register(t, t.pushSubscription(name));
    };
    const [early, late] = [await mismatched('early'), await mismatched('late')];
    const sendTo = async (id: string) => {
      for (let i = 0; i < 3; i++) await send(t, { device_ids: [id] });
    };
    await send(t, { device_ids: [real] });
    t.clock.advance(2 * hourMs);
    await sendTo(early);
    expect(await listed(t, early)).toMatchObject({ status: 'active' });
    await send(t, { device_ids: [real] });
    await sendTo(late);
    expect(await listed(t, late)).toMatchObject({ status: 'invalid', status_reason: 'credential_mismatch' });
    await t.sql`UPDATE credentials SET state = 'suspect', suspect_since = now()`;
    await sendTo(early);
    expect(await listed(t, early)).toMatchObject({ status: 'active' });
  });

  it('has an effect for any device while the credential has never worked', async () => {
    const t = await setup();
    refuse(t, 'first', 401);
    await send(t, { device_ids: [await register(t, t.pushSubscription('first'))] });
    expect(await state(t)).toMatchObject({ state: 'failing' });
  });
});

describe('R-66 a stranger makes at most as many devices a minute as an address may', () => {
  it('3,000 by default: number 3,001 is refused, warned of once, and counted', async () => {
    const lines: string[] = [];
    const t = await setup({
      environment: { LOG_LEVEL: 'warn' },
      workers: false,
      logTo: { write: (line) => void lines.push(line) },
    });
    t.clock.hold(t.clock.date());
    let next = 0;
    const made = { 200: 0, 429: 0 } as Record<number, number>;
    const lane = async (): Promise<void> => {
      while (next++ < 3_010) {
        const { status } = await t.client.post('/v1/devices', { platform: 'android', token: `made-up-${next}` });
        made[status] = (made[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: 20 }, lane));
    expect(made).toEqual({ 200: 3_000, 429: 10 });
    const warned = lines.filter((line) => line.includes('NEW_DEVICES_PER_MINUTE'));
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain('TRUSTED_PROXIES');
    const families = await t.service.snapshotMetrics({ includesDatabase: true });
    const valueIn = (name: string) => families.find((family) => family.name === name)?.series[0]?.values[0];
    expect(valueIn('carillon_new_devices_refused_total')).toBe(10);
    expect(valueIn('carillon_devices_never_reached')).toBe(3_000);
  });

  it('without limit when the operator set 0', async () => {
    const t = await setup({ environment: { NEW_DEVICES_PER_MINUTE: '0' }, workers: false });
    expect(t.config.newDevicesPerMinute).toBeNull();
  });
});

describe('device purge', () => {
  const purge = (t: Bundle, olderThanDays: number, isDryRun = false) =>
    purgeDevices(t, { appId: t.app.id, olderThanDays, isDryRun });

  it('deletes completely what client keys registered and nothing reached, and nothing else', async () => {
    const t = await setup();
    const reached = await register(t, t.pushSubscription());
    const byServer = await register(t, t.pushSubscription(), t.server);
    await send(t, { device_ids: [reached] });
    const token = t.pushSubscription();
    const fakes = [await register(t, token), await register(t, t.pushSubscription())];
    await t.server.post('/v1/users', { external_id: 'u-1', device_id: fakes[1] });
    await t.client.delete(`/v1/devices/${await register(t, t.pushSubscription())}`);
    const other = await t.newApp();
    const foreign = await register(t, t.pushSubscription(), t.clientOf(other.clientKey));

    expect(await purge(t, 0, true)).toEqual({ found: 3, deleted: 0 });
    expect(await purge(t, 1)).toEqual({ found: 0, deleted: 0 });
    expect(await purge(t, 0)).toEqual({ found: 3, deleted: 3 });
    const left = (await t.server.get('/v1/devices')).body.data.map(({ id }: { id: string }) => id);
    expect(left.sort()).toEqual([byServer, reached].sort());
    expect((await t.clientOf(other.serverKey).get('/v1/devices')).body.data).toMatchObject([{ id: foreign }]);
    for (const table of ['devices', 'audience', 'device_tokens']) {
      expect({ table, rows: (await t.sql`SELECT 1 FROM ${t.sql(table)} WHERE app_id = ${t.app.id}`).length }).toEqual({
        table,
        rows: 2,
      });
    }
    expect((await t.server.get('/v1/users/u-1')).body.devices).toEqual([]);
    // From now on the same subscription is a new device.
    const again = await t.client.post('/v1/devices', { platform: 'web', token });
    expect(again.body).toMatchObject({ created: true });
    expect(fakes).not.toContain(again.body.id);
    expect((await t.client.post('/v1/identify', { device_id: fakes[0], external_id: 'u-1' })).status).toBe(404);
  });

  it('looks at the age of each device', async () => {
    const t = await setup({ workers: false });
    await register(t, t.pushSubscription());
    t.clock.advance(8 * 24 * hourMs);
    await register(t, t.pushSubscription());
    expect(await purge(t, 7, true)).toEqual({ found: 1, deleted: 0 });
    expect(await purge(t, 8, true)).toEqual({ found: 1, deleted: 0 });
    expect(await purge(t, 9, true)).toEqual({ found: 0, deleted: 0 });
  });

  it('during a send ends the deliveries to deleted devices as skipped, and the message with them', async () => {
    const t = await setup({ workers: false });
    const fakes = [];
    for (let i = 0; i < 60; i++) fakes.push(await register(t, t.pushSubscription()));
    const real = await register(t, t.pushSubscription(), t.server);
    const sending = t.server.post('/v1/messages', { audience: { device_ids: [...fakes, real] }, content });
    for (;;) {
      const batches = await t.sql`SELECT 1 FROM batches`;
      if (batches.length > 0) break;
    }
    expect(await purge(t, 0)).toMatchObject({ deleted: 60 });
    await t.startWorkers().idle();
    const { body } = await sending;
    expect(body.report).toEqual({ accepted: 61, sent: 1, failed: 0, skipped: 60 });
    const { data } = (await t.server.get(`/v1/messages/${body.id}/deliveries?error_code=device_inactive`)).body;
    expect(data).toHaveLength(50);
    expect(data[0]).toMatchObject({ status: 'skipped', platform: 'web', channel: 'webpush' });
  });

  it('keeps a device that a push reaches meanwhile', async () => {
    const t = await setup();
    const id = await register(t, t.pushSubscription());
    const uuid = decodeId('dev', id) ?? '';
    const reaching = t.sql.begin(async (tx) => {
      await tx`UPDATE devices SET is_reached = true WHERE id = ${uuid}`;
      await untilLockWaits(t.sql, 1, { name: 'tests' });
    });
    const [purged] = await Promise.all([purge(t, 0), reaching]);
    expect(purged).toEqual({ found: 1, deleted: 0 });
    expect(await listed(t, id)).toMatchObject({ status: 'active' });
  });

  it('is in the audit log with its number, and a dry run is not', async () => {
    const t = await setup({ workers: false });
    await register(t, t.pushSubscription());
    await purge(t, 0, true);
    expect(await t.sql`SELECT 1 FROM audit_entries WHERE action = 'device.purge'`).toHaveLength(0);
    await purge(t, 0);
    const entries = await t.sql`SELECT app_id, after FROM audit_entries WHERE action = 'device.purge'`;
    expect(entries).toMatchObject([{ appId: t.app.id, after: { older_than_days: 0, devices: 1 } }]);
  });
});
