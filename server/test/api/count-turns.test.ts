import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { countConnections } from '../../src/operation/process/databases.ts';
import { listLockWaits, untilLockWaits } from '../lock-waits.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });
const filter = { field: 'country', op: 'eq', value: 'DE' };

const counts = { name: 'carillon long' };

describe('a burst of previews', () => {
  it('leaves connections to sends: while all counts are blocked, a message to an audience is accepted', async () => {
    const bought = { event: 'bought', within: '7d' };
    const apps = [t.app, ...(await Promise.all([t.newApp(), t.newApp()]))];
    let asked: Promise<number[]> = Promise.resolve([]);
    await transaction(t.sql, async (tx) => {
      // Previews with an event read these tables, and this message does not.
      await tx`LOCK TABLE subject_events, events IN ACCESS EXCLUSIVE MODE`;
      const preview = async ({ serverKey }: TestApp): Promise<number> =>
        (await t.clientOf(serverKey).post('/v1/segments/preview', { filter: bought })).status;
      asked = Promise.all(apps.flatMap((app) => Array.from({ length: 8 }, () => preview(app))));
      await untilLockWaits(t.sql, countConnections, counts);
      const sent = await t.server.post('/v1/messages', { audience: { filter }, content: { title: 'Now' } });
      expect(sent.status).toBe(200);
      expect(await listLockWaits(t.sql, counts)).toHaveLength(countConnections);
    });
    expect(new Set(await asked)).not.toContain(500);
  });

  it('ends: requests without a turn get 503 with Retry-After, and afterwards counts and messages work', async () => {
    const { body: device } = await t.server.post('/v1/devices', { platform: 'android', token: 'one' });
    await t.server.post('/v1/users', { external_id: 'u-1', country: 'DE', device_id: device.id });
    const { body: preview } = await t.server.post('/v1/segments/preview', { filter });
    expect(preview.count).toBe(1);
    // Nobody can read the table now, so every count waits.
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
