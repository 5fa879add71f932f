// GET /v1/reports/devices: its sums say what the history of devices' states says, and reading them
// costs no walk through devices.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { transaction } from '../../src/database/db.ts';
import { invalidateDevices } from '../../src/devices/device-history.ts';
import { foldDeviceTotals, rebuildDeviceTotals } from '../../src/devices/fold-totals.ts';
import { purgeDevices } from '../../src/devices/purge-devices.ts';
import { forgetComparisons, lockDeviceTotals } from '../../src/devices/totals-queries.ts';
import { decodeId, type Uuid } from '../../src/ground/ids.ts';
import { stage } from '../reports/ledger.ts';
import { type Bundle, setup } from '../setup.ts';

const setUp = () => setup({ workers: false });
const minuteMs = 60_000;
const startMs = Date.parse('2027-11-02T12:00:00Z');
const channels = { web: 'webpush', ios: 'apns', android: 'fcm' } as const;
const none = { registered: 0, active: 0, invalid: 0, unsubscribed: 0 };

const ask = async (t: Bundle, fromMs: number, toMs: number) => {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  const { body } = await t.server.get(`/v1/reports/devices?from=${from}&to=${to}`);
  return body.devices;
};

/** The same report, counted change by change. */
async function countByHand(t: Bundle, fromMs: number, toMs: number) {
  const report = { webpush: { ...none }, apns: { ...none }, fcm: { ...none } };
  const statusOf = new Map<string, string>();
  const rows = await t.sql<{ deviceId: string; platform: keyof typeof channels; status: string; at: Date }[]>`
    SELECT device_id, platform, status, at FROM device_changes WHERE app_id = ${t.app.id} ORDER BY at, id`;
  for (const { deviceId, platform, status, at } of rows) {
    if (at.getTime() >= toMs) continue;
    const counts = report[channels[platform]];
    const former = statusOf.get(deviceId);
    statusOf.set(deviceId, status);
    counts.active += Number(status === 'active') - Number(former === 'active');
    if (at.getTime() < fromMs) continue;
    if (former === undefined) counts.registered++;
    else if (status === 'invalid' || status === 'unsubscribed') counts[status]++;
  }
  return report;
}

describe('the sums', () => {
  it('agree with the history of states, wherever a range begins and ends, folded or not and counted again', async () => {
    const t = await setUp();
    const s = stage(t);
    const random = createRandom(18);
    const devices: { id: string; platform: string; token: string }[] = [];
    let nowMs = startMs;
    for (let step = 0; step < 60; step++) {
      nowMs += 1 + random.below(9 * minuteMs);
      await s.at(new Date(nowMs).toISOString());
      const act = step < 10 ? 'register' : random.pick(['register', 'opt out', 'refuse', 'register again'] as const);
      if (act === 'register') {
        const platform = random.pick(['web', 'ios', 'android']);
        const token = platform === 'web' ? JSON.stringify(t.pushSubscription()) : `${step}`.padStart(64, 'a');
        devices.push({ id: await t.registerDevice({ platform, token }), platform, token });
        continue;
      }
      const device = random.pick(devices);
      if (act === 'opt out') await t.server.delete(`/v1/devices/${device.id}`);
      else if (act === 'refuse') {
        const deviceId = decodeId('dev', device.id) as Uuid;
        const refused = { deviceId, reason: 'unregistered', credentialId: null } as const;
        const refusal = { appId: t.app.id, at: t.clock.date(), items: [refused] };
        await transaction(t.sql, (tx) => invalidateDevices(tx, refusal));
      } else await t.server.post('/v1/devices', { platform: device.platform, token: device.token });
      if (step === 30) await Promise.all([foldDeviceTotals(t), foldDeviceTotals(t)]);
    }
    const ranges = Array.from({ length: 12 }, (): [number, number] => {
      const fromMs = startMs + random.below(nowMs - startMs);
      return [fromMs, fromMs + 1 + random.below(random.pick([5, 600]) * minuteMs)];
    });
    const byHand = await Promise.all(ranges.map((range) => countByHand(t, ...range)));
    expect(byHand.some(({ apns }) => apns.invalid > 0 && apns.registered > 0)).toBe(true);
    const answers = () => Promise.all(ranges.map((range) => ask(t, ...range)));
    expect(await answers()).toEqual(byHand);
    await foldDeviceTotals(t);
    expect(await t.sql`SELECT FROM device_deltas`).toHaveLength(0);
    expect(await answers()).toEqual(byHand);
    await t.sql`UPDATE device_totals SET gained = gained + 1`;
    expect(await answers()).not.toEqual(byHand);
    await rebuildDeviceTotals(t, t.app.id);
    expect(await answers()).toEqual(byHand);
  });

  it('keep the registration of a device that was deleted since', async () => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-11-02T12:00:00Z');
    await t.client.post('/v1/devices', { platform: 'web', token: JSON.stringify(t.pushSubscription()) });
    await t.registerDevice();
    await s.at('2027-11-04T12:00:00Z');
    const { deleted } = await purgeDevices(t, { appId: t.app.id, olderThanDays: 1, isDryRun: false });
    expect(deleted).toBe(1);
    const dayMs = 1440 * minuteMs;
    const midnightMs = Date.parse('2027-11-02T00:00:00Z');
    const day = async (index: number) =>
      (await ask(t, midnightMs + index * dayMs, midnightMs + (index + 1) * dayMs)).webpush;
    expect(await day(-1)).toEqual(none);
    expect(await day(0)).toEqual({ ...none, registered: 2, active: 2 });
    expect(await day(2)).toEqual({ ...none, active: 1, invalid: 1 });
  });

  it('answer while no device and no history can be read', async () => {
    const t = await setUp();
    await t.registerMany(30);
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE audience, devices, device_changes IN ACCESS EXCLUSIVE MODE`;
      const quarterMs = 15 * minuteMs;
      const endMs = Math.ceil(t.clock.nowMs() / quarterMs) * quarterMs;
      expect((await ask(t, endMs - 4 * quarterMs, endMs)).webpush).toEqual({ ...none, registered: 30, active: 30 });
    });
  });

  /** The number of active devices now, as the report tells it. */
  const activeOf = async (t: Bundle): Promise<number> =>
    (await ask(t, t.clock.nowMs() - minuteMs, t.clock.nowMs() + minuteMs)).webpush.active;
  /** Registers devices as a process of the former version does, which adds to no sum. */
  const registerFormerly = async (t: Bundle, count: number): Promise<void> => {
    await foldDeviceTotals(t);
    for (let i = 0; i < count; i++) await t.registerDevice();
    await t.sql`DELETE FROM device_deltas`;
  };

  it('count devices that a process of the former version registers, a day later and without a count at rest', async () => {
    const t = await setUp();
    const s = stage(t);
    const { upkeep } = t.startWorkers();
    const countedAt = async () =>
      (await t.sql<{ countedAt: Date }[]>`SELECT counted_at FROM device_counts`)[0]?.countedAt;
    await s.at('2027-11-02T12:00:00Z');
    await upkeep.runOnce();
    expect(await countedAt()).toBeUndefined();
    await t.registerDevice();
    await upkeep.runOnce();
    expect(await countedAt()).toEqual(new Date('2027-11-02T12:00:00Z'));
    await s.at('2027-11-02T12:10:00Z');
    await registerFormerly(t, 2);
    await upkeep.runOnce();
    expect(await activeOf(t)).toBe(1);
    await s.at('2027-11-03T12:00:00Z');
    await upkeep.runOnce();
    expect(await activeOf(t)).toBe(3);
    await foldDeviceTotals(t);
    expect(await activeOf(t)).toBe(3);
    await s.at('2027-11-06T12:00:00Z');
    await upkeep.runOnce();
    expect(await countedAt()).toEqual(new Date('2027-11-03T12:00:00Z'));
  });

  it('R-104 are right after the first upkeep of a start, whatever a process of the former version did before', async () => {
    const t = await setUp();
    const s = stage(t);
    const { upkeep } = t.startWorkers();
    await s.at('2027-11-02T12:00:00Z');
    await t.registerDevice();
    await upkeep.runOnce();
    await s.at('2027-11-02T12:10:00Z');
    await registerFormerly(t, 2);
    await upkeep.runOnce();
    expect(await activeOf(t)).toBe(1);
    await forgetComparisons(t);
    await upkeep.runOnce();
    expect(await activeOf(t)).toBe(3);
  });

  it('are right after the migration, whatever was missing', async () => {
    const t = await setUp();
    await t.registerDevice();
    await registerFormerly(t, 2);
    expect(await activeOf(t)).toBe(1);
    await t.sql`DROP TABLE device_counts`;
    await t.sql.unsafe(await readFile(new URL('../../migrations/0098_device_counts.sql', import.meta.url), 'utf8'));
    expect(await activeOf(t)).toBe(3);
  });

  it('tell how many devices are active after a rebuild, though times are not in the order of commits', async () => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-11-02T12:00:00Z');
    const [, device] = [await t.registerDevice(), await t.registerDevice()];
    await s.at('2027-11-02T12:10:00Z');
    await t.server.delete(`/v1/devices/${device}`);
    await t.sql`UPDATE device_changes SET at = '2027-11-02T11:50:00Z' WHERE status = 'unsubscribed'`;
    expect(await activeOf(t)).toBe(1);
    await rebuildDeviceTotals(t, t.app.id);
    expect(await activeOf(t)).toBe(1);
  });

  it('are folded by nobody while they are counted again, and nobody waits', async () => {
    const t = await setUp();
    await t.registerDevice();
    const deltas = async () => (await t.sql`SELECT FROM device_deltas`).length;
    await transaction(t.sql, async (tx) => {
      await lockDeviceTotals(tx);
      await foldDeviceTotals(t);
      expect(await deltas()).toBe(1);
    });
    await foldDeviceTotals(t);
    expect(await deltas()).toBe(0);
    expect(await activeOf(t)).toBe(1);
  });
});
