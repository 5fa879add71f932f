import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { stage } from '../reports/ledger.ts';
import { setup } from '../setup.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const hourMs = 3_600_000;

describe('reports rebuild', () => {
  it('computes sums and classes again from the stored events, so that reports are right again', async () => {
    const t = await setup({ workers: false });
    const carillon = async (...parameters: string[]) => {
      const done = await cli.runWith({ ...t.environment }, ...parameters, '--json');
      expect(done.stderr.replaceAll(/summed up .*\n/g, '')).toBe('');
      return done.json;
    };
    const app = encodeId('app', t.app.id);
    expect(await carillon('app', 'window', app, '1')).toMatchObject({ attribution_window_hours: 1 });
    const s = stage(t);
    const now = Math.floor(t.clock.nowMs() / 1000) * 1000;
    const at = (hoursAgo: number) => s.at(new Date(now - hoursAgo * hourMs).toISOString());
    await at(4);
    await s.deviceOf('ada');
    await s.send({ external_ids: ['ada'] });
    await at(3.5);
    await s.buy({ external_id: 'ada' }, 12.5, 'EUR');
    await s.track({ name: 'install', external_id: 'ada' });
    await at(0);
    await settleDue({ sql: t.sql, clock: t.clock });
    const range = `from=${new Date(now - 24 * hourMs).toISOString()}&to=${new Date(now + 24 * hourMs).toISOString()}`;
    const report = async () => (await t.server.get(`/v1/reports/revenue?${range}`)).body;
    const before = await report();
    expect(before).toMatchObject({
      revenue: [{ total: '12.5', influenced: { amount: '12.5' } }],
      events: { install: { influenced: 1 } },
    });

    await t.sql`DELETE FROM rollup_deltas`;
    await t.sql`DELETE FROM rollups`;
    await t.sql`UPDATE attributions SET class = 'unattributed', message_id = NULL`;
    await t.sql`DELETE FROM credited_totals`;
    expect(await report()).not.toEqual(before);
    const rebuilt = await carillon('reports', 'rebuild', app);
    expect(rebuilt).toMatchObject({ events: 2, classed: { purchases: 1, installs: 1, sessions: 0 } });
    expect(await report()).toEqual(before);
    const apart = await carillon('reports', 'rebuild', app, '--to', new Date(now - 48 * hourMs).toISOString());
    expect(apart).toMatchObject({ events: 0, classed: { range: null, purchases: 0 } });
    expect(await report()).toEqual(before);
  });

  it.concurrent.each([
    [
      'a time without an offset',
      ['rebuild', 'Shop', '--from', '2026-12-01'],
      /--from is an instant from 2000 to 2100 with an offset/,
    ],
    [
      'a range that ends before it begins',
      ['rebuild', 'Shop', '--from', '2026-12-01T00:00Z', '--to', '2026-11-01T00:00Z'],
      /--to must be later than --from/,
    ],
    ['an unknown app', ['rebuild', 'Nobody'], /No app has the id or the name 'Nobody'/],
  ])('refuses %s', async (_what, parameters, line) => {
    expect(await cli.run('reports', ...parameters)).toMatchObject(refusal(line));
  });
});
