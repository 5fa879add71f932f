import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../../packages/postgres/test/database.ts';
import { mintUuid } from '../../ground/values/ids.ts';
import { ensureDeliveryPartitions, partitionsAround } from './partitions.ts';

const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;

describe('the weeks around an instant', () => {
  it.each([
    ['on the first instant of a Monday', '2030-01-07T00:00:00Z', 'deliveries_20300107'],
    ['on the last instant of a Sunday', '2030-01-06T23:59:59.999Z', 'deliveries_20291231'],
  ])('%s begin with the week before and follow each other without a gap', (_when, now, current) => {
    const partitions = partitionsAround(Date.parse(now));
    expect(partitions).toHaveLength(6);
    expect(partitions[1]?.name).toBe(current);
    for (const [i, { from }] of partitions.entries()) if (i > 0) expect(from).toBe(partitions[i - 1]?.to);
  });
});

describe('the partitions of deliveries', () => {
  it('are made once when four processes start at once, and all four succeed', async () => {
    const { sql } = await createTestDatabase();
    const nowMs = Date.parse('2035-01-01T00:00:00Z');
    const made = await Promise.allSettled(Array.from({ length: 4 }, () => ensureDeliveryPartitions(sql, nowMs)));
    expect(made.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
    const names = partitionsAround(nowMs).map(({ name }) => name);
    const attached = await sql<{ relname: string }[]>`
      SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'deliveries'::regclass AND c.relname = ANY(${names}) ORDER BY c.relname`;
    expect(attached.map(({ relname }) => relname)).toEqual(names);
  });

  it('take a batch id of each of the next four weeks, and of the hour before now', async () => {
    const { sql } = await createTestDatabase();
    const nowMs = Date.parse('2035-01-01T00:00:00Z');
    await ensureDeliveryPartitions(sql, nowMs);
    for (const atMs of [nowMs - hourMs, ...[0, 1, 2, 3, 4].map((weeks) => nowMs + weeks * weekMs)]) {
      const rows = await sql`
        INSERT INTO deliveries (batch_id, device_id, done_at, channel, status, attempts)
        VALUES (${mintUuid(atMs)}, ${mintUuid()}, now(), 0, 1, 1) RETURNING tableoid::regclass::text AS partition`;
      expect(rows[0]?.['partition']).toMatch(/^deliveries_20/);
    }
  });

  it('are made beside a reader, who need not end first', async () => {
    const { sql } = await createTestDatabase();
    await sql.begin(async (reader) => {
      await reader`SELECT count(*) FROM deliveries`;
      await ensureDeliveryPartitions(sql, Date.parse('2036-01-01T00:00:00Z'));
    });
  });
});
