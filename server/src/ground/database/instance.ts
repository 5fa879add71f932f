// The one row that all processes of a service share: the keys of receipt tokens, and the identity
// of the database's server.
import { randomBytes } from 'node:crypto';
import { getValue, type Sql } from '@carillon/postgres';
import type { Seal } from '../secrets/seal.ts';
import type { ClockStep } from './clock.ts';
import { findStoredKeys, firstKeyPlace, openStoredKeys } from './receipt-keys.ts';

export interface Instance {
  /**
   * Newest first. All of them verify. The time decides which key signs (`delivery/receipt-keys`).
   */
  readonly receiptKeys: readonly Buffer[];
}

/**
 * Returns whether a service has run on this database, which means that its secrets are sealed with
 * an existing master key.
 */
export async function isInstanceMade(sql: Sql): Promise<boolean> {
  const isMigrated = await getValue<boolean>(sql`SELECT to_regclass('instance') IS NOT NULL`);
  return isMigrated && (await sql`SELECT FROM instance WHERE id = 1`).length > 0;
}

/**
 * Throws `SealError` when a service has run on this database with another master key. Reads only
 * columns of the first migration, because it runs before the others are applied.
 */
export async function checkMasterKey(sql: Sql, seal: Seal): Promise<void> {
  const [row] = await sql<{ receiptKeys: string[] }[]>`SELECT receipt_keys FROM instance WHERE id = 1`;
  for (const record of row?.receiptKeys ?? []) seal.checkKey(record);
}

/**
 * Reads the row, and creates it at the very first start. Throws when the master key does not open
 * its keys.
 */
export async function loadInstance(sql: Sql, seal: Seal): Promise<Instance> {
  const first = seal.seal(randomBytes(32), firstKeyPlace);
  await sql`
    INSERT INTO instance (id, system_identifier, receipt_keys)
    SELECT 1, system_identifier::text, ${[first]}::text[] FROM pg_control_system()
    ON CONFLICT (id) DO NOTHING`;
  const stored = await findStoredKeys(sql);
  if (!stored) throw new Error('the instance row is missing');
  return { receiptKeys: openStoredKeys(seal, stored).map(({ bytes }) => bytes) };
}

export interface IgnoredForwarder {
  readonly peer: string;
  readonly at: Date;
}

/** Stores which untrusted peer sent X-Forwarded-For, for the doctor. */
export async function noteIgnoredForwarder(sql: Sql, peer: string): Promise<void> {
  await sql`UPDATE instance SET ignored_forwarder = ${peer}, ignored_forwarder_at = now() WHERE id = 1`;
}

/** Finds the last of these peers. */
export async function findIgnoredForwarder(sql: Sql): Promise<IgnoredForwarder | null> {
  const [row] = await sql<IgnoredForwarder[]>`
    SELECT ignored_forwarder AS peer, ignored_forwarder_at AS at FROM instance WHERE ignored_forwarder IS NOT NULL`;
  return row ?? null;
}

export interface NotedStep extends ClockStep {
  readonly at: Date;
}

/** Stores the last step of a clock, for the doctor. */
export async function noteClockStep(sql: Sql, { clock, byMs }: ClockStep): Promise<void> {
  await sql`
    UPDATE instance SET stepped_clock = ${clock}, stepped_by_ms = ${Math.round(byMs)}, stepped_at = now() WHERE id = 1`;
}

/**
 * Finds the last step, if it was noticed within a day. A time in the future counts as within a day.
 */
export async function findClockStep(sql: Sql): Promise<NotedStep | null> {
  const [row] = await sql<NotedStep[]>`
    SELECT stepped_clock AS clock, stepped_by_ms AS by_ms, stepped_at AS at FROM instance
    WHERE stepped_at > now() - interval '1 day'`;
  return row ?? null;
}

export class UnsafeDatabaseError extends Error {
  override readonly name = 'UnsafeDatabaseError';
}

/**
 * Refuses a server that may lose acknowledged data, unless the operator insists. Returns
 * warnings for the log.
 */
export async function checkDurability(sql: Sql, allowUnsafe: boolean): Promise<string[]> {
  const rows = await sql<{ name: string; setting: string }[]>`
    SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num')`;
  const setting = new Map(rows.map((row) => [row.name, row.setting]));
  if (Number(setting.get('server_version_num')) < 150_000) {
    throw new UnsafeDatabaseError('PostgreSQL 15 or newer is needed.');
  }
  const off = ['fsync', 'full_page_writes'].filter((name) => setting.get(name) === 'off');
  if (off.length > 0 && !allowUnsafe) {
    throw new UnsafeDatabaseError(
      `The database runs with ${off.join(' and ')} off and could lose acknowledged messages. Turn it on, or set ALLOW_UNSAFE_POSTGRES=1.`,
    );
  }
  const warnings = off.map((name) => `${name} is off: a crash of the database can lose acknowledged messages`);
  if (setting.get('synchronous_commit') === 'off') {
    warnings.push('synchronous_commit is off: a crash of the database can lose the last acknowledged messages');
  }
  return warnings;
}
