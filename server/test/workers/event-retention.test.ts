import { readFile } from 'node:fs/promises';
import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { ensureEventPartitions } from '../../src/insight/events/partitions.ts';
import { rebuildEventTotals } from '../../src/insight/events/rebuild-event-totals.ts';
import { monthOf } from '../../src/insight/events/spans.ts';
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

/** Tracks events of today, of 40, 70 and 100 days ago, and of 2003, with ids. */
async function trackAll(t: Bundle) {
  const deviceId = await t.registerDevice();
  const ago = (days: number) => new Date(t.clock.nowMs() - days * dayMs).toISOString();
  const events = [ago(0), ago(40), ago(70), ago(100), '2003-05-05T12:00:00Z'].map((occurred_at, i) => ({
    name: 'purchase',
    id: `id-${i}`,
    device_id: deviceId,
    occurred_at,
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
  it('are created from three months back to two ahead, once, by any process', async () => {
    const t = await setUp();
    const nowMs = Date.parse('2031-05-17T12:00:00Z');
    await Promise.all(Array.from({ length: 3 }, () => ensureEventPartitions(t.sql, { nowMs })));
    for (const table of ['events', 'subject_events']) {
      const made = await partitionsOf(t, table);
      expect(made.slice(-6)).toEqual(['203102', '203103', '203104', '203105', '203106', '203107']);
    }
    const [spread] = await t.sql<{ bound: string }[]>`
      SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE relname = 'events_203102'`;
    expect(spread?.bound).toBe("FOR VALUES FROM ('2031-02-01 00:00:00+00') TO ('2031-03-01 00:00:00+00')");
    const indexes = (of: string) => t.sql<{ definition: string }[]>`
      SELECT replace(regexp_replace(pg_get_indexdef(indexrelid), ' INDEX \\S+ ', ' INDEX '), ' ONLY', '') AS definition
      FROM pg_index WHERE indrelid = ${of}::regclass ORDER BY 1`;
    const parents = (await indexes('events')).map(({ definition }) => definition.replace(' public.events ', ' '));
    const made = (await indexes('events_203102')).map(({ definition }) =>
      definition.replace(' public.events_203102 ', ' '),
    );
    expect(made).toEqual(parents);
  });

  it('are created for events of any time when these arrive, and by years for the far past', async () => {
    const t = await setUp();
    await trackAll(t);
    const old = ['2024-02-29T12:00:00Z', '2000-01-01T00:00:00+14:00', '2003-12-31T23:59:59Z'];
    const events = old.map((occurred_at) => ({ name: 'a', external_id: 'u-1', occurred_at }));
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => t.server.post('/v1/events', { events: [...events, { name: 'b' }] })),
    );
    expect(answers.map(({ body }) => body.accepted)).toEqual([4, 4, 4, 4, 4]);
    const month = (days: number) => monthOf(t.clock.nowMs() - days * dayMs).name;
    for (const table of ['events', 'subject_events']) {
      expect(await rowsIn(t, `${table}_${month(100)}`)).toBeGreaterThan(0);
      const made = await partitionsOf(t, table);
      expect(made).toEqual(expect.arrayContaining(['1999', '2003', '202402', month(0), month(70)]));
      expect(made).not.toContain('default');
    }
    expect(await rowsIn(t, 'events_1999')).toBe(5);
    expect(await rowsIn(t, 'subject_events_2003')).toBe(2);
  });

  it('are created again when an operator has detached one to keep it', async () => {
    const t = await setUp();
    const event = { name: 'a', external_id: 'u-1', occurred_at: '2019-05-05T12:00:00Z' };
    await t.server.post('/v1/events', event);
    await t.sql`ALTER TABLE events DETACH PARTITION events_2019`;
    expect((await t.server.post('/v1/events', event)).status).toBe(200);
    expect([await rowsIn(t, 'events_2019'), await rowsIn(t, 'events')]).toEqual([1, 1]);
    expect(await partitionsOf(t, 'events')).toContain('2019_2');
  });

  it('are created while another transaction reads events, and delay nobody', async () => {
    const t = await setUp();
    await transaction(t.sql, async (reader) => {
      await reader`SELECT count(*) FROM events`;
      await reader`SELECT count(*) FROM subject_events`;
      const events = [{ name: 'a', external_id: 'u-1', occurred_at: '2019-05-05T12:00:00Z' }];
      expect((await t.server.post('/v1/events', { events })).status).toBe(200);
      expect(await partitionsOf(t, 'events')).toContain('2019');
    });
  });

  it('answer 503 when an ALTER of the whole table blocks their creation, and nothing is stored; later it works', async () => {
    const t = await setUp();
    const event = { name: 'a', id: '1', occurred_at: '2019-05-05T12:00:00Z' };
    await transaction(t.sql, async (holder) => {
      await holder`LOCK TABLE subject_events IN SHARE UPDATE EXCLUSIVE MODE`;
      expect((await t.server.post('/v1/events', event)).status).toBe(503);
      expect((await t.server.post('/v1/events', { name: 'b' })).status).toBe(200);
    });
    expect(await rowsIn(t, 'event_ids')).toBe(0);
    expect((await t.server.post('/v1/events', event)).body).toEqual({ accepted: 1, duplicates: 0 });
  });

  it('that a former DEFAULT partition held are created by the migration, which moves its rows', async () => {
    const t = await setUp();
    const migration = await readFile(
      new URL('../../migrations/0031_partitions_without_default.sql', import.meta.url),
      'utf8',
    );
    await t.sql`CREATE TABLE events_default PARTITION OF events DEFAULT`;
    await t.sql`CREATE TABLE subject_events_default PARTITION OF subject_events DEFAULT`;
    const times = ['2003-05-05T12:00:00Z', '2003-05-31T23:59:59.999Z', '2024-02-29T00:00:00Z', '1999-12-31T23:00:00Z'];
    for (const at of times) {
      await t.sql`
        INSERT INTO events (app_id, subject_id, id, name, at, properties)
        VALUES (${t.app.id}, ${t.app.id}, ${t.app.id}, 'a', ${at}, '{"a":1}')`;
      await t.sql`
        INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
        VALUES (${t.app.id}, 'a', ${t.app.id}, (${at}::timestamptz AT TIME ZONE 'UTC')::date, 1, ${at})`;
    }
    await t.sql.unsafe(migration);
    for (const table of ['events', 'subject_events']) {
      expect(await rowsIn(t, table)).toBe(4);
      expect(await rowsIn(t, `${table}_200305`)).toBe(2);
      expect(await partitionsOf(t, table)).toEqual(expect.arrayContaining(['199912', '200305', '202402']));
      expect(await partitionsOf(t, table)).not.toContain('default');
    }
  });
});

describe('EVENT_RETENTION_DAYS', () => {
  it('deletes months that are old enough, with daily counts and ids; the sums stay', async () => {
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
      const months = await partitionsOf(t, table);
      expect(months[0]).toBe(monthOf(from.getTime()).name);
    }
    expect(await summed(t)).toEqual(before);
    // A rebuild of the sums must not treat deleted events as zero.
    await rebuildEventTotals(t.sql, { appId: t.app.id, from: null, to: null });
    expect(await summed(t)).toEqual(before);
    const again = await t.server.post('/v1/events', { events });
    expect(again.body).toEqual({ accepted: 5 - kept.length, duplicates: kept.length });
    await upkeep(t);
    expect(await rowsIn(t, 'events')).toBe(kept.length);
    expect(await rowsIn(t, 'event_ids')).toBe(kept.length);
  });

  it('deletes from a year of the far past what is old enough, and the whole year later', async () => {
    const year = new Date().getUTCFullYear() - 5;
    const days = Math.floor((Date.now() - Date.UTC(year, 6, 1)) / dayMs);
    const t = await setUp(String(days));
    const events = ['03-03', '06-30', '07-02', '12-12'].map((day, i) => ({
      name: 'a',
      id: `id-${i}`,
      external_id: 'u-1',
      occurred_at: `${year}-${day}T12:00:00Z`,
    }));
    expect((await t.server.post('/v1/events', { events })).body.accepted).toBe(4);
    await upkeep(t);
    for (const table of ['events', 'subject_events', 'event_ids', `events_${year}`]) {
      expect([table, await rowsIn(t, table)]).toEqual([table, 2]);
    }
    t.clock.advance(200 * dayMs);
    await upkeep(t);
    expect(await partitionsOf(t, 'events')).not.toContain(String(year));
    expect(await rowsIn(t, 'event_ids')).toBe(0);
  });

  it('keeps events without limit when it is not set', async () => {
    const t = await setUp();
    await trackAll(t);
    t.clock.advance(4000 * dayMs);
    await upkeep(t);
    expect(await rowsIn(t, 'events')).toBe(5);
    expect(await rowsIn(t, 'event_ids')).toBe(5);
  });

  it('never delays ingest because of a reader, and deletes the month when the reader is done', async () => {
    const t = await setUp('31');
    const events = await trackAll(t);
    let dropping: Promise<unknown> = Promise.resolve();
    await transaction(t.sql, async (reader) => {
      await reader`SELECT count(*) FROM events`;
      let isDone = false;
      dropping = upkeep(t).then(() => {
        isDone = true;
      });
      // While the drop is requested again and again, every request succeeds.
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
