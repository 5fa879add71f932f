import { transaction } from '@carillon/postgres';
import { beforeEach, describe, expect, it } from 'vitest';
import { decodeId, type Uuid } from '../src/ground/values/ids.ts';
import { invalidateDevices, type RefusedDevice, restoreDevices } from '../src/people/devices/device-history.ts';
import { countMismatches, forgetMismatches, listRetiredByCredential } from '../src/people/devices/history-queries.ts';
import { lockDevicesById } from '../src/people/devices/queries.ts';
import { type Client, setup, type TestApp } from './setup.ts';

const t = await setup({ workers: false });
const credentialId = 1;
const minute = 60_000;

let app: TestApp;
let server: Client;
beforeEach(async () => {
  app = await t.newApp();
  server = t.clientOf(app.serverKey);
});

const register = (token: string, fields: object = {}) =>
  server.post('/v1/devices', { platform: 'android', token, ...fields });

async function newDevice(token: string): Promise<Uuid> {
  return decodeId('dev', (await register(token)).body.id) ?? '';
}

type Refused = Omit<RefusedDevice, 'credentialId'>;

async function refuse(refused: Refused[], about: { credentialId: number | null } = { credentialId }): Promise<number> {
  const items = refused.map((one) => ({ ...one, ...about }));
  const changed = await transaction(t.sql, (tx) => invalidateDevices(tx, { appId: app.id, at: t.clock.date(), items }));
  // The history is ordered by time, so the next change must be later.
  t.clock.advance(minute);
  return changed;
}

const restore = (since: Date) =>
  transaction(t.sql, async (tx) => {
    await lockDevicesById(tx, app.id, await listRetiredByCredential(tx, app.id, credentialId, since));
    return restoreDevices(tx, app.id, credentialId, since, t.clock.date());
  });

async function stateOf(id: Uuid): Promise<{ status: string; active: boolean; history: string[] }> {
  const [row] = await t.sql<{ status: string; statusReason: string | null; active: boolean }[]>`
    SELECT d.status, d.status_reason, a.active FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${app.id} AND d.id = ${id}`;
  const changes = await t.sql<{ status: string; reason: string | null }[]>`
    SELECT status, reason FROM device_changes WHERE app_id = ${app.id} AND device_id = ${id} ORDER BY id`;
  const spell = (status: string, reason: string | null): string => (reason === null ? status : `${status} ${reason}`);
  return {
    status: spell(row?.status ?? '', row?.statusReason ?? null),
    active: row?.active ?? false,
    history: changes.map((change) => spell(change.status, change.reason)),
  };
}

describe('devices that a provider refused', () => {
  it('become invalid with their reasons, leave the audience, and stay in the history', async () => {
    const [gone, wrong, fine] = [await newDevice('gone'), await newDevice('wrong'), await newDevice('fine')];
    t.clock.advance(minute);
    const items: Refused[] = [
      { deviceId: wrong, reason: 'invalid_token' },
      { deviceId: gone, reason: 'unregistered' },
    ];
    expect(await refuse(items)).toBe(2);
    expect(await stateOf(gone)).toEqual({
      status: 'invalid unregistered',
      active: false,
      history: ['active', 'invalid unregistered'],
    });
    expect(await stateOf(wrong)).toMatchObject({ status: 'invalid invalid_token', active: false });
    expect(await stateOf(fine)).toMatchObject({ status: 'active', active: true });
  });

  it('change once, however often it is repeated, and stay opted out', async () => {
    const device = await newDevice('repeated');
    const gone = await newDevice('opted-out');
    const { body } = await register('opted-out');
    await server.delete(`/v1/devices/${body.id}`);
    t.clock.advance(minute);
    const items: Refused[] = [device, gone].map((deviceId) => ({ deviceId, reason: 'unregistered' }));
    expect(await refuse(items)).toBe(1);
    expect(await refuse(items)).toBe(0);
    expect(await stateOf(device)).toMatchObject({ history: ['active', 'invalid unregistered'] });
    expect(await stateOf(gone)).toMatchObject({ status: 'unsubscribed', history: ['active', 'unsubscribed'] });
  });

  it('stay active when they registered after the instant that the provider names', async () => {
    const device = await newDevice('came-back');
    const goneAtMs = t.clock.nowMs() + 30_000;
    t.clock.advance(minute);
    await register('came-back');
    t.clock.advance(minute);
    expect(await refuse([{ deviceId: device, reason: 'unregistered', goneAtMs }])).toBe(0);
    expect(await stateOf(device)).toMatchObject({ status: 'active', active: true });
    const later = t.clock.nowMs();
    expect(await refuse([{ deviceId: device, reason: 'unregistered', goneAtMs: later }])).toBe(1);
  });

  it('stay active when they got another token after the refused one was read', async () => {
    const device = await newDevice('old-token');
    const [row] = await t.sql`SELECT registered_at FROM devices WHERE app_id = ${app.id} AND id = ${device}`;
    const storedAtMs = row?.['registeredAt'].getTime();
    const { body } = await register('old-token');
    t.clock.advance(minute);
    await register('new-token', { device_id: body.id });
    t.clock.advance(minute);
    const refused: Refused = { deviceId: device, reason: 'unregistered', storedAtMs };
    expect(await refuse([refused])).toBe(0);
    expect(await stateOf(device)).toMatchObject({ status: 'active', active: true });
  });

  it("of another app are not affected by this app's refusals (R-60)", async () => {
    const device = await newDevice('mine');
    t.clock.advance(minute);
    const other = await t.newApp();
    const items: RefusedDevice[] = [{ deviceId: device, reason: 'unregistered', credentialId }];
    const changed = await transaction(t.sql, (tx) =>
      invalidateDevices(tx, { appId: other.id, at: t.clock.date(), items }),
    );
    expect(changed).toBe(0);
    expect(await stateOf(device)).toMatchObject({ status: 'active', active: true });
  });

  it('become active with their next registration', async () => {
    const device = await newDevice('returns');
    t.clock.advance(minute);
    await refuse([{ deviceId: device, reason: 'unregistered' }]);
    const { body } = await register('returns');
    expect(body).toMatchObject({ status: 'active', created: false });
    expect(await stateOf(device)).toEqual({
      status: 'active',
      active: true,
      history: ['active', 'invalid unregistered', 'active'],
    });
  });

  it('retired by two racing flushes in opposite orders change once, without a deadlock', async () => {
    const devices = await Promise.all(Array.from({ length: 60 }, (_, i) => newDevice(`crowd-${i}`)));
    t.clock.advance(minute);
    const items = devices.map((deviceId): RefusedDevice => ({ deviceId, reason: 'invalid_token', credentialId }));
    const counts = await Promise.all([
      refuse(items),
      refuse(items.toReversed()),
      refuse(items),
      refuse(items.toReversed()),
    ]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
    const [changes] = await t.sql`
      SELECT count(*) AS count FROM device_changes WHERE app_id = ${app.id} AND status = 'invalid'`;
    expect(changes).toEqual({ count: 60 });
  });
});

describe('devices that a faulty credential had retired', () => {
  it('are active again, and both changes stay in the history', async () => {
    const [first, second] = [await newDevice('first'), await newDevice('second')];
    t.clock.advance(minute);
    const since = t.clock.date();
    await refuse([
      { deviceId: first, reason: 'invalid_token' },
      { deviceId: second, reason: 'credential_mismatch' },
    ]);
    expect(await restore(since)).toBe(2);
    expect(await stateOf(first)).toEqual({
      status: 'active',
      active: true,
      history: ['active', 'invalid invalid_token', 'active'],
    });
    expect(await stateOf(second)).toMatchObject({ status: 'active', active: true });
    expect(await restore(since)).toBe(0);
  });

  it('are only those of that credential, since that instant, whose token is not gone', async () => {
    const names = ['early', 'other-credential', 'unregistered', 'opted-out', 'moved'];
    const [early = '', other = '', gone = '', out = '', moved = ''] = await Promise.all(names.map(newDevice));
    t.clock.advance(minute);
    await refuse([{ deviceId: early, reason: 'invalid_token' }]);
    t.clock.advance(minute);
    const since = t.clock.date();
    await refuse([{ deviceId: other, reason: 'invalid_token' }], { credentialId: 2 });
    await refuse([{ deviceId: gone, reason: 'unregistered' }], { credentialId: null });
    await refuse([
      { deviceId: out, reason: 'invalid_token' },
      { deviceId: moved, reason: 'invalid_token' },
    ]);
    const { body: opted } = await register('opted-out');
    await server.delete(`/v1/devices/${opted.id}`);
    const { body: keeper } = await register('keeper');
    await register('moved', { device_id: keeper.id });
    expect(await restore(since)).toBe(0);
    expect(await stateOf(early)).toMatchObject({ status: 'invalid invalid_token' });
    expect(await stateOf(other)).toMatchObject({ status: 'invalid invalid_token' });
    expect(await stateOf(gone)).toMatchObject({ status: 'invalid unregistered' });
    expect(await stateOf(out)).toMatchObject({ status: 'unsubscribed' });
    expect(await stateOf(moved)).toMatchObject({ status: 'invalid replaced', active: false });
  });
});

describe('mismatches in a row', () => {
  /** As read for a push that begins now. */
  const readNow = (...ids: Uuid[]) => ids.map((deviceId) => ({ deviceId, storedAtMs: t.clock.nowMs() }));

  it('retire a device at the third; a success or a new token resets the count', async () => {
    const [steady, lucky] = [await newDevice('steady'), await newDevice('lucky')];
    const count = () => countMismatches(t.sql, app.id, readNow(steady, lucky), 3);
    expect(await count()).toEqual(new Set());
    expect(await count()).toEqual(new Set());
    await forgetMismatches(t.sql, app.id, [lucky]);
    expect(await count()).toEqual(new Set([steady]));
    expect(await count()).toEqual(new Set([steady]));
    expect(await count()).toEqual(new Set([steady, lucky]));
    const { body } = await register('steady');
    await register('steady-again', { device_id: body.id });
    expect(await count()).toEqual(new Set([lucky]));
  });

  it('are not counted for a device that is not active', async () => {
    const device = await newDevice('inactive');
    t.clock.advance(minute);
    await refuse([{ deviceId: device, reason: 'unregistered' }]);
    expect(await countMismatches(t.sql, app.id, readNow(device), 1)).toEqual(new Set());
  });

  it('are not counted when the device registered after the push was planned', async () => {
    const device = await newDevice('late');
    const planned = readNow(device);
    t.clock.advance(minute);
    await register('late');
    expect(await countMismatches(t.sql, app.id, planned, 1)).toEqual(new Set());
    expect(await countMismatches(t.sql, app.id, readNow(device), 1)).toEqual(new Set([device]));
  });
});
