// Clocks that tests and proofs set. The host's are objects for a service in this process.
// The database's are functions of its schema, which stand before the server's own in the search
// path. So they need no compiler, work on any server, and do not change its other databases.
import { openSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Sql } from '@carillon/postgres';
import type { HostClock } from '../../server/src/ground/host/host-clock.ts';

export interface SettableHost extends HostClock {
  /** The host sleeps: its wall clock goes on, and its steady clock stands still. */
  sleep(ms: number): void;
  /** The wall clock is set, forward or back. */
  set(byMs: number): void;
  /** Time passes. This is no step, as long as the service reads the clock in between. */
  pass(ms: number): void;
}

export function createSettableHost(): SettableHost {
  let wallMs = 0;
  let steadyMs = 0;
  return {
    wallMs: () => Date.now() + wallMs,
    steadyMs: () => performance.now() + steadyMs,
    sleep(ms) {
      wallMs += ms;
    },
    set(byMs) {
      wallMs += byMs;
    },
    pass(ms) {
      wallMs += ms;
      steadyMs += ms;
    },
  };
}

/**
 * Gives a database a clock that `setDatabaseClock` moves. Connections that are open already keep the
 * server's. Defaults of columns keep it too.
 */
export async function installDatabaseClock(sql: Sql): Promise<void> {
  // A transaction sees one time, which follows the last step before it began.
  const clock = (name: string, volatility: string): string => `
    CREATE FUNCTION public.${name}() RETURNS timestamptz LANGUAGE sql ${volatility} AS $$
      SELECT pg_catalog.${name}() + coalesce(
        (SELECT s.ahead FROM public.clock_steps s WHERE s.at <= pg_catalog.${name}() ORDER BY s.at DESC LIMIT 1),
        interval '0') $$`;
  await sql.unsafe('CREATE TABLE public.clock_steps (at timestamptz PRIMARY KEY, ahead interval NOT NULL)');
  await sql.unsafe(clock('now', 'STABLE'));
  await sql.unsafe(clock('clock_timestamp', 'VOLATILE'));
  const [row] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  await sql.unsafe(`ALTER DATABASE "${row?.name}" SET search_path = public, pg_catalog`);
}

/** Makes the database's clock differ from the server's by this much from now on. */
export async function setDatabaseClock(sql: Sql, aheadMs: number): Promise<void> {
  await sql`
    INSERT INTO public.clock_steps (at, ahead)
    VALUES (pg_catalog.clock_timestamp(), ${aheadMs}::float8 * interval '1 millisecond')`;
}

/** The clock of a webhook's requests while no clock is in doubt. */
export const rightClock = {
  nowMs: () => Date.now(),
  isInDoubt: () => false,
  isTrusted: () => true,
  interruptions: 0,
};

const preload = fileURLToPath(new URL('settable-clock-preload.mjs', import.meta.url));

/** The clocks of other processes. */
export interface ProcessClock {
  /** Starts a process with this clock. */
  readonly options: { readonly nodeOptions: readonly string[]; readonly environment: Readonly<Record<string, string>> };
  /** Makes the wall clock differ by this much from the machine's, and the steady clock. */
  set(aheadMs: number, behindMs?: number): void;
}

export function createProcessClock(file: string): ProcessClock {
  const descriptor = openSync(file, 'w');
  // A single write, so that no process reads half of it.
  const set = (aheadMs: number, behindMs = 0): void => {
    const bytes = Buffer.alloc(16);
    bytes.writeDoubleBE(aheadMs, 0);
    bytes.writeDoubleBE(behindMs, 8);
    writeSync(descriptor, bytes, 0, bytes.length, 0);
  };
  set(0);
  return { options: { nodeOptions: ['--import', preload], environment: { CARILLON_CLOCK_FILE: file } }, set };
}
