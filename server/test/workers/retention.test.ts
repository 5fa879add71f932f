import { describe, expect, it, onTestFinished } from 'vitest';
import { insertRow } from '../../../rig/src/insert-row.ts';
import { pause } from '../../src/ground/database/restore-guard.ts';
import { runAlone } from '../../src/ground/database/run-alone.ts';
import { decodeId, encodeId, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { openDatabases } from '../../src/operation/process/databases.ts';
import { partitionsAround } from '../../src/sending/delivery/partitions.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';

const content = { title: 'Sale' };
const dayMs = 24 * 3_600_000;

const setUp = (options: SetupOptions = {}) => setup({ workers: false, ...options });

const later = (t: Bundle, days: number): void => t.clock.advance(days * dayMs);

/** Sends to `devices` devices and waits for the end. */
async function send(t: Bundle, devices = 1, headers: Record<string, string> = {}): Promise<string> {
  await t.registerMany(devices);
  const answer = await t.server.post('/v1/messages', { audience: { all: true }, content }, headers);
  expect(answer.body.report.pending).toBeUndefined();
  return answer.body.id;
}

const upkeep = (t: Bundle) => t.service.startWorkers().upkeep.runOnce();

async function countRows(t: Bundle, table: 'deliveries' | 'batches' | 'messages' | 'early_receipts'): Promise<number> {
  const [row] = await t.sql<{ count: number }[]>`SELECT count(*) AS count FROM ${t.sql(table)}`;
  return row?.count ?? 0;
}

async function partitionsOf(t: Bundle): Promise<string[]> {
  const rows = await t.sql<{ name: string }[]>`
    SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'deliveries'::regclass ORDER BY c.relname`;
  return rows.map(({ name }) => name);
}

/** The partition that a batch of this moment belongs to. */
function partitionNow(t: Bundle): string {
  return partitionsAround(t.clock.nowMs())[1]?.name ?? '';
}

/** Stores a row as another process or an earlier version may have left it. */
async function storeMessage(t: Bundle, fields: Record<string, unknown>): Promise<Uuid> {
  const id = mintUuid(t.clock.nowMs());
  const now = t.clock.date();
  const row = {
    app_id: t.app.id,
    id,
    fingerprint: Buffer.alloc(32),
    status: 'sent',
    created_by: { type: 'key' },
    audience: { all: true },
    content,
    created_at: now,
    started_at: now,
    finished_at: now,
    ...fields,
  };
  const { started_at, status, run_at } = row as Record<string, unknown>;
  const times = { expires_at: started_at, next_start_at: status === 'scheduled' ? run_at : null };
  await insertRow(t.sql, 'messages', { ...row, ...times });
  return id;
}

async function exists(t: Bundle, id: Uuid): Promise<boolean> {
  return (await t.sql`SELECT FROM messages WHERE id = ${id}`).length > 0;
}

describe('retention', () => {
  it('R-14 keeps messages and deliveries for RETENTION_DAYS, and then deletes them with batches and keys', async () => {
    const t = await setUp();
    const key = { 'idempotency-key': 'autumn' };
    const id = await send(t, 2, key);
    await t.sql`
      INSERT INTO early_receipts (batch_id, device_id, mark, at)
      SELECT id, ${mintUuid()}::uuid, 'displayed', now() FROM batches`;
    const week = partitionNow(t);
    later(t, 89.9);
    expect(await upkeep(t)).toBe(true);
    expect([await countRows(t, 'deliveries'), await partitionsOf(t)]).toEqual([2, expect.arrayContaining([week])]);
    const again = () => t.server.post('/v1/messages', { audience: { all: true }, content }, key);
    expect((await again()).body).toMatchObject({ id, replayed: true });

    // The partition's week must end, too. A week later it has, on any day.
    later(t, 7.1);
    await upkeep(t);
    for (const table of ['deliveries', 'batches', 'messages', 'early_receipts'] as const) {
      expect([table, await countRows(t, table)]).toEqual([table, 0]);
    }
    expect(await partitionsOf(t)).not.toContain(week);
    expect((await t.server.get(`/v1/messages/${id}`)).status).toBe(404);
    const second = (await again()).body;
    expect(second).toMatchObject({ replayed: false, report: { sent: 2 } });
    expect(second.id).not.toBe(id);
  });

  it('creates partitions ahead of time', async () => {
    const t = await setUp();
    later(t, 200);
    await upkeep(t);
    expect(await partitionsOf(t)).toEqual(partitionsAround(t.clock.nowMs()).map(({ name }) => name));
  });

  it('makes the token of a deleted delivery unknown', async () => {
    const t = await setUp();
    const id = await send(t);
    const [row] = await t.sql<{ deviceId: Uuid }[]>`SELECT device_id FROM deliveries`;
    const token = await receiptTokenOf(t, id, encodeId('dev', row?.deviceId ?? ''));
    const receipt = () => t.request('POST', '/v1/receipts', { body: { token, event: 'displayed' } });
    expect((await receipt()).body).toEqual({ recorded: true });
    later(t, 98);
    await upkeep(t);
    expect((await receipt()).status).toBe(404);
    expect((await t.request('GET', `/v1/r/${token}`)).status).toBe(404);
  });

  it('counts a week from its newest outcome, and not from the time of its messages', async () => {
    const t = await setUp();
    await send(t, 2);
    later(t, 98);
    await t.sql`UPDATE batches SET finished_at = ${new Date(t.clock.nowMs() - 89 * dayMs)}`;
    await upkeep(t);
    expect(await countRows(t, 'deliveries')).toBe(2);
  });

  it('keeps deliveries for twice the largest attribution window of any app', async () => {
    const t = await setUp({ environment: { RETENTION_DAYS: '30' } });
    const other = await t.newApp();
    await t.sql`UPDATE apps SET attribution_window_hours = 720 WHERE id = ${other.id}`;
    const id = await send(t);
    later(t, 59);
    await upkeep(t);
    expect(await countRows(t, 'deliveries')).toBe(1);
    await t.sql`UPDATE apps SET attribution_window_hours = 24`;
    await upkeep(t);
    expect(await countRows(t, 'deliveries')).toBe(0);
    expect(await exists(t, decodeId('msg', id) ?? '')).toBe(false);
  });

  it('deletes nothing that is unfinished, and such a week does not keep another', async () => {
    const t = await setUp();
    const open = await send(t);
    await t.sql`UPDATE batches SET state = 'waiting', finished_at = NULL`;
    await t.sql`UPDATE messages SET status = 'sending', finished_at = NULL`;
    later(t, 28);
    await upkeep(t);
    const ended = await send(t);
    later(t, 98);
    await upkeep(t);
    expect(await exists(t, decodeId('msg', open) ?? '')).toBe(true);
    expect(await exists(t, decodeId('msg', ended) ?? '')).toBe(false);
    expect(await countRows(t, 'deliveries')).toBe(1);
  });

  it('R-14 keeps a scheduled message from its instant on, even one that was canceled before', async () => {
    const t = await setUp();
    const inAYear = new Date(t.clock.nowMs() + 365 * dayMs);
    const canceled = await storeMessage(t, { status: 'canceled', started_at: null, run_at: inAYear });
    const empty = await storeMessage(t, {});
    const waiting = await storeMessage(t, {
      status: 'scheduled',
      started_at: null,
      finished_at: null,
      run_at: inAYear,
    });
    const found = async () => Promise.all([canceled, empty, waiting].map((id) => exists(t, id)));
    later(t, 89);
    await upkeep(t);
    expect(await found()).toEqual([true, true, true]);
    later(t, 2);
    await upkeep(t);
    expect(await found()).toEqual([true, false, true]);
    later(t, 365 + 89 - 91);
    await upkeep(t);
    expect(await found()).toEqual([true, false, true]);
    later(t, 2);
    await upkeep(t);
    expect(await found()).toEqual([false, false, true]);
  });

  it('R-18 is not blocked by a message that cannot be deleted, and tries that one again', async () => {
    const lines: string[] = [];
    const t = await setUp({ logTo: { write: (line) => void lines.push(line) }, environment: { LOG_LEVEL: 'error' } });
    const bad = await storeMessage(t, { name: 'bad' });
    const good = await storeMessage(t, {});
    await t.sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'it cannot go'; END $$`;
    await t.sql`
      CREATE TRIGGER refuse BEFORE DELETE ON messages FOR EACH ROW WHEN (OLD.name = 'bad') EXECUTE FUNCTION refuse()`;
    later(t, 91);
    await upkeep(t);
    expect([await exists(t, bad), await exists(t, good)]).toEqual([true, false]);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['an old message is not removed']);
    await t.sql`DROP TRIGGER refuse ON messages`;
    await upkeep(t);
    expect(await exists(t, bad)).toBe(false);
  });

  it('deletes more messages and batches than one step takes', async () => {
    const t = await setUp();
    const many = await storeMessage(t, {});
    const now = t.clock.date();
    const rowOf = (id: Uuid) => ({ app_id: t.app.id, id, message_id: many, device_ids: [], size: 0, state: 'done' });
    const times = { queued_at: now, due_at: now, expires_at: now, available_at: now, finished_at: now };
    for (let made = 0; made < 1001; made += 143) {
      const rows = Array.from({ length: 143 }, () => ({ ...rowOf(mintUuid(t.clock.nowMs())), ...times }));
      for (const row of rows) await insertRow(t.sql, 'batches', row);
    }
    for (let made = 0; made < 250; made++) await storeMessage(t, {});
    later(t, 98);
    await upkeep(t);
    expect([await countRows(t, 'messages'), await countRows(t, 'batches')]).toEqual([0, 0]);
  });

  it('deletes nothing while paused, because an operator may inspect a restored backup', async () => {
    const t = await setUp();
    await send(t);
    await pause(t.sql, 'restore');
    await t.service.pause.look();
    later(t, 98);
    await upkeep(t);
    expect([await countRows(t, 'deliveries'), await countRows(t, 'messages')]).toEqual([1, 1]);
  });

  it('runs in one process at a time', async () => {
    const t = await setUp();
    let ran: boolean | undefined;
    // The lock number in process/upkeep.ts.
    await runAlone(t.sql, 'upkeep', async () => {
      ran = await upkeep(t);
    });
    expect([ran, await upkeep(t)]).toEqual([false, true]);
  });
});

describe('while a send runs', () => {
  /** Resolves with the backend that waits for other transactions to end. */
  async function untilDetaching(t: Bundle): Promise<number> {
    const [pid = 0] = await untilLockWaits(t.sql, 1, { text: 'DETACH' });
    return pid;
  }

  it('retention waits for it, and delays no other send', async () => {
    const t = await setUp();
    await send(t, 2);
    const week = partitionNow(t);
    later(t, 98);
    // The first upkeep makes the current partitions, and nothing delays it.
    let commit: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let begun: () => void = () => undefined;
    const written = new Promise<void>((resolve) => {
      begun = resolve;
    });
    // A flush that has begun and not committed.
    const flush = t.sql.begin(async (tx) => {
      await tx`SELECT FROM deliveries`;
      await tx`UPDATE deliveries SET latency_ms = latency_ms`;
      begun();
      await held;
    });
    await written;
    const working = upkeep(t);
    await untilDetaching(t);
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    expect(body).toMatchObject({ status: 'sent', report: { accepted: 2, sent: 2 } });
    const timeline = await t.server.get(`/v1/messages/${body.id}/deliveries`);
    expect(timeline.body.data).toHaveLength(2);
    commit();
    await flush;
    expect(await working).toBe(true);
    expect(await partitionsOf(t)).not.toContain(week);
    expect(await countRows(t, 'deliveries')).toBe(2);
  });

  it('R-104 retention waits beside a long reader without a time limit, and the hourly upkeep goes on', async () => {
    const t = await setUp();
    await send(t);
    const week = partitionNow(t);
    later(t, 98);
    const { upkeep } = t.service.startWorkers();
    let dropping: Promise<unknown> | undefined;
    await t.sql.begin(async (tx) => {
      await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;
      await tx`SELECT FROM deliveries`;
      dropping = upkeep.dropping.run();
      await untilLockWaits(t.sql, 1, { text: 'DETACH', name: 'carillon detach' });
      expect(await upkeep.task.run()).toBe(true);
    });
    await dropping;
    expect(await partitionsOf(t)).not.toContain(week);
    const databases = openDatabases(t.databaseUrl, 'worker');
    onTestFinished(() => databases.close());
    expect(await databases.detachSql`SHOW statement_timeout`).toMatchObject([{ statementTimeout: '0' }]);
  });

  it('a detach that was given up, or whose process died before the drop, is finished the next time', async () => {
    const t = await setUp();
    const [first = '', second = '', third = ''] = await partitionsOf(t);
    // Half detached: marked, and then canceled while it waits.
    await t.sql.begin(async (tx) => {
      await tx`SELECT FROM deliveries`;
      await t.sql.unsafe(`COMMENT ON TABLE ${first} IS 'carillon: on its way out'`);
      const detaching = t.sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${first} CONCURRENTLY`).then(
        () => 'detached',
        (error: unknown) => (error as { code: string }).code,
      );
      await t.sql`SELECT pg_cancel_backend(${await untilDetaching(t)})`;
      expect(await detaching).toBe('57014');
    });
    await upkeep(t);
    expect(await partitionsOf(t)).not.toContain(first);
    expect((await t.sql`SELECT to_regclass(${first}) AS found`)[0]).toEqual({ found: null });

    // One partition is detached and not dropped; another was detached by an operator who wants to
    // keep it.
    await t.sql.unsafe(`COMMENT ON TABLE ${second} IS 'carillon: on its way out'`);
    for (const name of [second, third]) await t.sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${name}`);
    await upkeep(t);
    const [found] = await t.sql`SELECT to_regclass(${second}) AS ours, to_regclass(${third})::text AS theirs`;
    expect(found).toEqual({ ours: null, theirs: third });
  });
});
