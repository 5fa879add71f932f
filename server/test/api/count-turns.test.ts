import { describe, expect, it } from 'vitest';
import { transaction } from '../../src/platform/db.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const filter = { field: 'country', op: 'eq', value: 'DE' };

describe('a burst of previews', () => {
  it('uses connections that no send uses', async () => {
    await t.server.post('/v1/segments/preview', { filter });
    await t.server.post('/v1/messages', { audience: { filter }, content: { title: 'Now' }, dry_run: true });
    const names = await t.sql<{ name: string }[]>`
      SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database()`;
    const used = names.map(({ name }) => name);
    expect(used).toContain('carillon counts');
    expect(used).not.toContain('carillon audience');
  });

  it('ends: those that find no turn are told to come again (503), and afterwards counts and messages go on', async () => {
    const { body: device } = await t.server.post('/v1/devices', { platform: 'android', token: 'one' });
    await t.server.post('/v1/users', { external_id: 'u-1', country: 'DE', device_id: device.id });
    const { body: preview } = await t.server.post('/v1/segments/preview', { filter });
    expect(preview.count).toBe(1);
    // Nobody can read the table now: every count waits.
    let answers: Promise<{ status: number; retryAfter: string | null }[]> = Promise.resolve([]);
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
      answers = Promise.all(
        Array.from({ length: 12 }, async () => {
          const { status, headers } = await t.server.post('/v1/segments/preview', { filter });
          return { status, retryAfter: headers.get('retry-after') };
        }),
      );
      await answers;
    });
    const all = await answers;
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([503]));
    for (const { retryAfter } of all) expect(Number(retryAfter)).toBeGreaterThan(0);
    const [sent, counted] = await Promise.all([
      t.server.post('/v1/messages', { audience: { filter }, content: { title: 'Now' } }),
      t.server.post('/v1/segments/preview', { filter }),
    ]);
    expect([sent.status, sent.body.report.accepted, counted.body.count]).toEqual([200, 1, 1]);
  });
});
