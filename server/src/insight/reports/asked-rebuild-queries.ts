// SQL: rebuilds of reports that the console asked for. Owns `report_rebuilds`.

import { findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface AskedRebuild {
  readonly appId: Uuid;
  readonly askedAt: Date;
  /** Null: as far as there are events. */
  readonly fromAt: Date | null;
  readonly toAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly failed: boolean;
  /** The number of its starts. */
  readonly tries: number;
  readonly events: number | null;
  readonly purchases: number | null;
}

const columns = (tx: Tx) => tx`
  app_id, asked_at, from_at, to_at, started_at, finished_at, failed, tries, events, purchases`;

/** Finds the rebuild of an app that was asked for last. */
export async function findRebuild(sql: Sql, appId: Uuid): Promise<AskedRebuild | undefined> {
  return findRow(sql`SELECT ${columns(sql)} FROM report_rebuilds WHERE app_id = ${appId}`);
}

/** Stores the request. Undefined: a rebuild of the app waits or runs, and nothing was stored. */
export async function insertRebuild(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { fromAt, toAt }: Pick<AskedRebuild, 'fromAt' | 'toAt'>,
): Promise<AskedRebuild | undefined> {
  return findRow(tx`
    INSERT INTO report_rebuilds AS r (app_id, asked_at, from_at, to_at) VALUES (${appId}, ${clock.now}, ${fromAt}, ${toAt})
    ON CONFLICT (app_id) DO UPDATE SET
      asked_at = excluded.asked_at, from_at = excluded.from_at, to_at = excluded.to_at, started_at = NULL,
      finished_at = NULL, failed = false, tries = 0, events = NULL, purchases = NULL
    WHERE r.finished_at IS NOT NULL
    RETURNING ${columns(tx)}`);
}

/** Begins the rebuild that waits longest, also one whose process has died. */
export async function startNextRebuild(sql: Sql, clock: Clock): Promise<AskedRebuild | undefined> {
  return findRow(sql`
    UPDATE report_rebuilds SET started_at = ${clock.now}, tries = tries + 1
    WHERE app_id = (SELECT app_id FROM report_rebuilds WHERE finished_at IS NULL ORDER BY asked_at, app_id LIMIT 1)
    RETURNING ${columns(sql)}`);
}

/** Ends a rebuild. `done` null: it failed. */
export async function finishRebuild(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  done: { readonly events: number; readonly purchases: number } | null,
): Promise<void> {
  await sql`
    UPDATE report_rebuilds SET finished_at = ${clock.now}, failed = ${done === null},
      events = ${done?.events ?? null}::bigint, purchases = ${done?.purchases ?? null}::bigint
    WHERE app_id = ${appId} AND finished_at IS NULL`;
}
