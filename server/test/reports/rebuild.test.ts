import { describe, expect, it } from 'vitest';
import { rebuildAttribution } from '../../src/insight/reports/rebuild.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { type Bundle, setup } from '../setup.ts';
import { type Stage, stage } from './ledger.ts';

const settle = (t: Bundle) => settleDue({ sql: t.sql, clock: t.clock });
const rebuild = (t: Bundle) =>
  rebuildAttribution({ sql: t.sql, clock: t.clock }, { appId: t.app.id, fromMs: null, toMs: null });
const spring = 'from=2027-03-01T00:00:00Z&to=2027-04-01T00:00:00Z';
const report = async (t: Bundle) => (await t.server.get(`/v1/reports/revenue?${spring}`)).body;

/**
 * A message of January that is clicked in March, a message of that day, and their purchases an hour
 * later.
 */
async function lateClick(s: Stage) {
  await s.at('2027-01-02T12:00:00Z');
  const device = await s.deviceOf('ada');
  const early = await s.send({ external_ids: ['ada'] });
  await s.at('2027-03-20T12:00:00Z');
  await s.click(early, device);
  const recent = await s.send({ external_ids: ['ada'] });
  await s.at('2027-03-20T13:00:00Z');
  await s.buy({ external_id: 'ada' }, 5, 'EUR');
  await s.track({ name: 'session_start', external_id: 'ada' }, { name: 'install', external_id: 'ada' });
  return { early, recent };
}

describe('carillon reports rebuild', () => {
  it('keeps the settled classes of a person who was erased since', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await lateClick(s);
    await s.at('2027-03-25T12:00:00Z');
    await settle(t);
    const before = await report(t);
    expect(before.revenue).toMatchObject([{ total: '5', direct: { amount: '5', purchases: 1 } }]);
    // The state in which an erasure leaves the events.
    await t.sql`UPDATE events SET external_id = NULL, device_id = NULL WHERE name = 'purchase'`;
    await rebuild(t);
    const after = await report(t);
    expect([after.revenue, after.messages]).toEqual([before.revenue, before.messages]);
  });

  it('keeps the attribution to a message whose deliveries are deleted, and attributes nothing twice', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    const { early } = await lateClick(s);
    await s.at('2027-04-20T12:00:00Z');
    await settle(t);
    const before = await report(t);
    const once = { count: 1, direct: 1, influenced: 0, unattributed: 0 };
    expect(before).toMatchObject({ events: { install: once, session_start: once }, messages: [{ message_id: early }] });
    await t.startWorkers().upkeep.runOnce();
    expect(await t.sql`SELECT FROM deliveries WHERE done_at < '2027-02-01'`).toHaveLength(0);
    for (let i = 0; i < 2; i++) {
      expect((await rebuild(t)).sessions).toBe(1);
      expect(await report(t)).toEqual(before);
    }
  });
});
