// GET /v1/reports/devices: its sums say what the history of devices' states says.

import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { decodeId, type Uuid } from '../../src/ground/values/ids.ts';
import { invalidateDevices } from '../../src/people/devices/device-history.ts';
import { foldDeviceTotals } from '../../src/people/devices/fold-totals.ts';
import { purgeDevices } from '../../src/people/devices/purge-devices.ts';
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
    // One after the other: of many reports at once some wait, and are refused on a busy machine.
    const answers = async () => {
      const all = [];
      for (const range of ranges) all.push(await ask(t, ...range));
      return all;
    };
    expect(await answers()).toEqual(byHand);
    await foldDeviceTotals(t);
    expect(await t.sql`SELECT FROM device_deltas`).toHaveLength(0);
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

  it('answer while no history can be read', async () => {
    const t = await setUp();
    await t.registerMany(30);
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE devices, device_changes IN ACCESS EXCLUSIVE MODE`;
      const quarterMs = 15 * minuteMs;
      const endMs = Math.ceil(t.clock.nowMs() / quarterMs) * quarterMs;
      expect((await ask(t, endMs - 4 * quarterMs, endMs)).webpush).toEqual({ ...none, registered: 30, active: 30 });
    });
  });

  it('R-104 tell how many devices are active now, whatever a process of another version did not add to them', async () => {
    const t = await setUp();
    await t.registerDevice();
    await foldDeviceTotals(t);
    await t.registerDevice();
    await t.sql`DELETE FROM device_deltas`;
    const { active } = (await ask(t, t.clock.nowMs() - minuteMs, t.clock.nowMs() + minuteMs)).webpush;
    expect(active).toBe(2);
  });
});
