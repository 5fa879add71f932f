import { describe, expect, it } from 'vitest';
import { ensureEventPartitions, monthOf } from '../../src/events/partitions.ts';
import { rebuildEventTotals } from '../../src/events/rebuild-event-totals.ts';
import { transaction } from '../../src/platform/db.ts';
import { type Bundle, setup } from '../setup.ts';

const dayMs = 86_400_000;
const setUp = (days?: string) =>
  setup({ workers: false, ...(days !== undefined && { environment: { EVENT_RETENTION_DAYS: days } }) });
const upkeep = (t: Bundle) => t.service.startWorkers().upkeep.runOnce();

async function partitionsOf(t: Bundle, table: string): Promise<string[]> {
  const rows = await t.sql<{ name: string }[]>`
    SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass ORDER BY c.relname`;
  return rows.map(({ name }) => name.replace(`${table}_`, ''));
}

const rowsIn = async (t: Bundle, table: string): Promise<number> =>
  (await t.sql<{ count: number }[]>`SELECT count(*) FROM ${t.sql(table)}`)[0]?.count ?? 0;

/** Events of today, of 40, 70 and 100 days ago, and of 2003, with ids. */
async function trackAll(t: Bundle) {
  const deviceId = await t.registerDevice();
  const ago = (days: number) => new Date(t.clock.nowMs() - days * dayMs).toISOString();
  const events = [ago(0), ago(40), ago(70), ago(100), '2003-05-05T12:00:00Z'].map((occurred_at, i) => ({
    ...{ name: 'purchase', id: `id-${i}`, device_id: deviceId, occurred_at },
    properties: { amount: 1.5, currency: 'EUR' },
  }));
  const answer = await t.server.post('/v1/events', { events });
  expect(answer.body).toEqual({ accepted: 5, duplicates: 0 });
  return events;
}

const summed = async (t: Bundle): Promise<unknown> => {
  const [row] = await t.sql`
    SELECT sum(count)::int AS count, sum(amount)::text AS amount
    FROM (SELECT count, amount FROM rollups UNION ALL SELECT count, amount FROM rollup_deltas) AS s`;
  return row;
};

describe('partitions of events', () => {
  it('are made from three months back to two ahead, once, by whoever comes', async () => {
    const t = await setUp();
    const nowMs = Date.parse('2031-05-17T12:00:00Z');
    await Promise.all(Array.from({ length: 3 }, () => ensureEventPartitions(t.sql, { nowMs })));
    for (const table of ['events', 'subject_events']) {
      const made = await partitionsOf(t, table);
      expect(made.slice(-7)).toEqual(['203102', '203103', '203104', '203105', '203106', '203107', 'default']);
    }
    const [spread] = await t.sql<{ bound: string }[]>`
      SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE relname = 'events_203102'`;
    expect(spread?.bound).toBe("FOR VALUES FROM ('2031-02-01 00:00:00+00') TO ('2031-03-01 00:00:00+00')");
  });

  it('take each event by when it happened, and what is older than all of them stands apart', async () => {
    const t = await setUp();
    await trackAll(t);
    const month = (days: number) => monthOf(t.clock.nowMs() - days * dayMs).name;
    expect(await rowsIn(t, `events_${month(0)}`)).toBeGreaterThan(0);
    expect(await rowsIn(t, `subject_events_${month(40)}`)).toBeGreaterThan(0);
    expect(await rowsIn(t, 'events_default')).toBeGreaterThan(0);
  });

  it('are left for the next time while somebody reads events, so that no start waits or fails for it', async () => {
    const t = await setUp();
    const nowMs = Date.parse('2031-05-17T12:00:00Z');
    await transaction(t.sql, async (reader) => {
      await reader`SELECT count(*) FROM events`;
      await ensureEventPartitions(t.sql, { nowMs });
      expect(await partitionsOf(t, 'events')).not.toContain('203105');
    });
    await ensureEventPartitions(t.sql, { nowMs });
    expect(await partitionsOf(t, 'events')).toContain('203105');
  });

  it('leave a month to the DEFAULT partition whose events came before its own was made', async () => {
    const t = await setUp();
    await t.sql`
      INSERT INTO events (app_id, subject_id, id, name, at) VALUES (${t.app.id}, ${t.app.id}, ${t.app.id}, 'a', '2031-05-02')`;
    await ensureEventPartitions(t.sql, { nowMs: Date.parse('2031-05-17T12:00:00Z') });
    const made = await partitionsOf(t, 'events');
    expect(made).not.toContain('203105');
    expect(made).toContain('203106');
    expect(await rowsIn(t, 'events')).toBe(1);
  });
});

describe('EVENT_RETENTION_DAYS', () => {
  it('takes the months that are old enough, with daily counts and ids; the sums stay', async () => {
    const t = await setUp('31');
    const events = await trackAll(t);
    const before = await summed(t);
    await upkeep(t);
    const { from } = monthOf(t.clock.nowMs() - 31 * dayMs);
    const kept = events.filter(({ occurred_at }) => new Date(occurred_at) >= from);
    for (const table of ['events', 'subject_events', 'event_ids']) {
      expect([table, await rowsIn(t, table)]).toEqual([table, kept.length]);
    }
    for (const table of ['events', 'subject_events']) {
      const months = (await partitionsOf(t, table)).filter((name) => name !== 'default');
      expect(months[0]).toBe(monthOf(from.getTime()).name);
    }
    expect(await summed(t)).toEqual(before);
    // Nor does making them anew take what is gone for nothing.
    await rebuildEventTotals(t.sql, { appId: t.app.id, from: null, to: null });
    expect(await summed(t)).toEqual(before);
    const again = await t.server.post('/v1/events', { events });
    expect(again.body).toEqual({ accepted: 5 - kept.length, duplicates: kept.length });
    await upkeep(t);
    expect(await rowsIn(t, 'events')).toBe(kept.length);
    expect(await rowsIn(t, 'event_ids')).toBe(kept.length);
  });

  it('keeps events for ever where it is not set', async () => {
    const t = await setUp();
    await trackAll(t);
    t.clock.advance(4000 * dayMs);
    await upkeep(t);
    expect(await rowsIn(t, 'events')).toBe(5);
    expect(await rowsIn(t, 'event_ids')).toBe(5);
  });

  it('never keeps ingest waiting for somebody who reads, and takes the month when they are done', async () => {
    const t = await setUp('31');
    const events = await trackAll(t);
    let dropping: Promise<unknown> = Promise.resolve();
    await transaction(t.sql, async (reader) => {
      await reader`SELECT count(*) FROM events`;
      let isDone = false;
      dropping = upkeep(t).then(() => {
        isDone = true;
      });
      // While the drop is asked for again and again, each request gets through.
      while (!isDone) {
        const [waiting] = await reader<{ count: number }[]>`
          SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'events'::regclass`;
        if (waiting?.count) break;
      }
      for (let i = 0; i < 5; i++) {
        expect((await t.server.post('/v1/events', { name: 'a', properties: { i } })).status).toBe(200);
      }
      expect(await rowsIn(t, 'events')).toBeGreaterThan(events.length);
    });
    await dropping;
    await upkeep(t);
    const { from } = monthOf(t.clock.nowMs() - 31 * dayMs);
    const [old] = await t.sql<{ count: number }[]>`SELECT count(*) FROM events WHERE at < ${from}`;
    expect(old?.count).toBe(0);
  });
});
