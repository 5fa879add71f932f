// The pause, and the identity of the database's server. While paused, no process sends
// anything. Only the database stores the pause, so nothing on a machine's disk matters. Rows that
// were copied to another server pause by themselves, because the operator may not want a second
// service to send what the first one sends.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Log } from '../host/log.ts';

/**
 * `operator`: the command line. `start`: START_PAUSED=1. `restore`: `carillon restore`.
 * `other_server`: the rows were written on a server with another identifier.
 */
export type PauseReason = 'operator' | 'start' | 'restore' | 'other_server';

export interface Pause {
  readonly at: Date;
  readonly reason: PauseReason;
}

/** The NOTIFY channel that says that a pause began or ended. */
export const pauseChannel = 'carillon_pause';

/** Finds the pause; null when there is none. */
export async function findPause(tx: Tx): Promise<Pause | null> {
  const [row] = await tx<Pause[]>`
    SELECT paused_at AS at, pause_reason AS reason FROM instance WHERE id = 1 AND paused_at IS NOT NULL`;
  return row ?? null;
}

/**
 * Begins a pause; an existing one stays unchanged. Returns null when no service ever ran on this
 * database. `onBegin` runs in the transaction that begins a pause.
 */
export async function pause(sql: Sql, reason: PauseReason, onBegin?: (tx: Tx) => Promise<void>): Promise<Pause | null> {
  await transaction(sql, async (tx) => {
    const begun = await tx`
      UPDATE instance SET paused_at = now(), pause_reason = ${reason} WHERE id = 1 AND paused_at IS NULL`;
    if (begun.count > 0) await onBegin?.(tx);
    await tx`SELECT pg_notify(${pauseChannel}, '')`;
  });
  return findPause(sql);
}

/**
 * Ends the pause and returns it. From now on the rows belong to their present server. `onEnd` runs
 * in the transaction that ends a pause.
 */
export async function resume(sql: Sql, onEnd?: (tx: Tx, ended: Pause) => Promise<void>): Promise<Pause | null> {
  return transaction(sql, async (tx) => {
    // The second of two concurrent commands finds no pause.
    await tx`SELECT FROM instance WHERE id = 1 FOR UPDATE`;
    const ended = await findPause(tx);
    await tx`
      UPDATE instance SET paused_at = NULL, pause_reason = NULL,
        system_identifier = (SELECT system_identifier::text FROM pg_control_system())
      WHERE id = 1`;
    if (ended) await onEnd?.(tx, ended);
    await tx`SELECT pg_notify(${pauseChannel}, '')`;
    return ended;
  });
}

/**
 * Pauses when the rows were written on another server: a dump restored elsewhere, or an upgrade by
 * pg_upgrade. Call it at every start; a further process on the same server pauses nothing. Returns
 * the current pause.
 */
export async function pauseWhereMoved(sql: Sql): Promise<Pause | null> {
  const moved = await sql`
    SELECT FROM instance, pg_control_system() AS here
    WHERE instance.id = 1 AND instance.system_identifier <> here.system_identifier::text`;
  return moved.length > 0 ? pause(sql, 'other_server') : findPause(sql);
}

/** The sentence about a pause for people. */
export function describePause({ at, reason }: Pause): string {
  return `Sends and webhooks are paused since ${at.toISOString()}: ${reasons[reason]}`;
}

const reasons: Readonly<Record<PauseReason, string>> = {
  operator: 'somebody asked for it',
  start: 'the service was started with START_PAUSED=1',
  restore: 'the database was restored from a backup',
  other_server: 'the database was copied here from another server',
};

export interface PauseWatch {
  /** The state at the last look. */
  isPaused(): boolean;
  /** Looks now and resolves when the state is known. Rejects when the database cannot be asked. */
  look(): Promise<void>;
}

export interface PauseWatchOptions {
  readonly sql: Sql;
  readonly log: Log;
  /** Called when the pause ends, so that waiting work may continue. */
  readonly onResume: () => void;
}

/**
 * Watches the pause. When it resolves, the state is known already, because nothing may be sent
 * before. Later it looks when told: by NOTIFY at once, and by the lookout within the two seconds in
 * which a process must follow (operating: `pause`).
 */
export async function watchPause({ sql, log, onResume }: PauseWatchOptions): Promise<PauseWatch> {
  let isPaused = false;
  let looks = Promise.resolve();

  const read = async (): Promise<void> => {
    const found = await findPause(sql);
    if (found && !isPaused) log.warn({ paused_at: found.at, reason: found.reason }, 'sends and webhooks are paused');
    const isOver = isPaused && !found;
    isPaused = found !== null;
    if (!isOver) return;
    log.warn('sends and webhooks go on');
    onResume();
  };
  // One look after the other: of two concurrent answers, the older one could arrive last.
  const look = (): Promise<void> => {
    const looked = looks.then(read);
    looks = looked.catch(() => undefined);
    return looked;
  };

  await look();
  return { isPaused: () => isPaused, look };
}
