// SQL of scheduled messages, from when they are due until they have started or will never start.

import { type Fragment, findRow, findValue, getRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Audience } from '../../people/audience/audience.ts';
import type { Content } from '../content/content.ts';
import type { LocalTimePast } from './local-time.ts';
import type { NoRun } from './message.ts';

/** When a scheduled message runs, and with which content. */
export interface Scheduled {
  readonly runAt: Date;
  /** The send_at of a local time, as `writeInstant` writes it. */
  readonly localSendAt: string | null;
  readonly localTimePast: LocalTimePast | null;
  readonly content: Content;
}

/** A scheduled message that the process that locked it may start. */
export interface DueMessage extends Scheduled {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly audience: Audience;
  readonly excludeSegmentId: Uuid | null;
  readonly perSecond: number | null;
  readonly starts: number;
  /** The present plan of its app. */
  readonly plan: string;
  readonly isSuspended: boolean;
}

const dueColumns = (tx: Tx): Fragment => tx`
  m.app_id, m.id, m.run_at, m.local_send_at, m.local_time_past, m.audience, m.exclude_segment_id, m.content, m.per_second, m.starts,
  a.plan, a.suspended_at IS NOT NULL AS is_suspended`;

/**
 * The milliseconds until the next message is due: 0 or less when one is due, undefined when none is
 * scheduled.
 */
export async function findNextStartMs(sql: Sql, clock: Clock): Promise<number | undefined> {
  return findValue(sql`
    SELECT (extract(epoch FROM next_start_at - ${clock.now}) * 1000)::float8 AS ahead_ms FROM messages
    WHERE status = 'scheduled' ORDER BY next_start_at LIMIT 1`);
}

/**
 * The apps with a due message, in a circle after `afterAppId`. So an app with a thousand messages
 * does not delay another's. The recursion steps from app to app through the index. `which` is a
 * condition over `messages m`.
 */
const dueApps = (tx: Tx, afterAppId: Uuid, which: Fragment): Fragment => tx`
  apps_waiting AS (
    (SELECT app_id FROM messages WHERE status = 'scheduled' ORDER BY app_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.app_id FROM messages m WHERE m.status = 'scheduled' AND m.app_id > apps_waiting.app_id
      ORDER BY m.app_id LIMIT 1)
    FROM apps_waiting WHERE apps_waiting.app_id IS NOT NULL
  ), due AS (
    SELECT app_id FROM apps_waiting
    WHERE app_id IS NOT NULL AND EXISTS (SELECT 1 FROM messages m WHERE m.app_id = apps_waiting.app_id AND ${which})
    ORDER BY (app_id <= ${afterAppId}::uuid), app_id
  )`;

/** Messages that are due for the first time, and not for long. */
const isFresh = (tx: Tx, clock: Clock, freshMs: number): Fragment => tx`
  m.status = 'scheduled' AND m.next_start_at <= ${clock.now} AND m.starts = 0
  AND m.run_at > ${clock.now} - ${freshMs}::float8 * interval '1 millisecond'`;

/**
 * Locks the next few messages that are due for the first time. The caller holds them until its
 * transaction ends, and they are free at once if its process dies. With SKIP LOCKED no process
 * waits for another.
 */
export async function lockFreshMessages(
  tx: Tx,
  clock: Clock,
  claim: { readonly afterAppId: Uuid; readonly freshMs: number; readonly limit: number },
): Promise<DueMessage[]> {
  const { afterAppId, freshMs, limit } = claim;
  return tx`
    WITH RECURSIVE ${dueApps(tx, afterAppId, isFresh(tx, clock, freshMs))}, taken AS (
      SELECT one.* FROM due CROSS JOIN LATERAL (
        SELECT m.* FROM messages m WHERE m.app_id = due.app_id AND ${isFresh(tx, clock, freshMs)}
        ORDER BY m.next_start_at, m.id LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) one LIMIT ${limit}
    )
    SELECT ${dueColumns(tx)} FROM taken m JOIN apps a ON a.id = m.app_id`;
}

/**
 * Claims one message whose first start failed, or that has been due for long. First it counts the
 * start and puts the next start off, twice as long each time. So a start that kills its process
 * counts too.
 */
export async function claimLateMessage(
  sql: Sql,
  clock: Clock,
  claim: { readonly afterAppId: Uuid; readonly freshMs: number; readonly waitMs: number },
): Promise<{ appId: Uuid; id: Uuid; starts: number } | undefined> {
  const { afterAppId, freshMs, waitMs } = claim;
  const isLate = sql`m.status = 'scheduled' AND m.next_start_at <= ${clock.now}
    AND (m.starts > 0 OR m.run_at <= ${clock.now} - ${freshMs}::float8 * interval '1 millisecond')`;
  return findRow(sql`
    WITH RECURSIVE ${dueApps(sql, afterAppId, isLate)}, taken AS (
      SELECT one.app_id, one.id FROM due CROSS JOIN LATERAL (
        SELECT m.app_id, m.id FROM messages m WHERE m.app_id = due.app_id AND ${isLate}
        ORDER BY m.next_start_at, m.id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) one LIMIT 1
    )
    UPDATE messages m SET starts = m.starts + 1,
      next_start_at = ${clock.now} + ${waitMs}::float8 * power(2, m.starts) * interval '1 millisecond'
    FROM taken WHERE m.app_id = taken.app_id AND m.id = taken.id
    RETURNING m.app_id, m.id, m.starts`);
}

/**
 * Locks the claimed message until the transaction ends. Undefined when it must not start any more,
 * or another process has claimed it since.
 */
export async function lockLateMessage(
  tx: Tx,
  claim: { readonly appId: Uuid; readonly id: Uuid; readonly starts: number },
): Promise<DueMessage | undefined> {
  return findRow(tx`
    SELECT ${dueColumns(tx)} FROM messages m JOIN apps a ON a.id = m.app_id
    WHERE m.app_id = ${claim.appId} AND m.id = ${claim.id} AND m.status = 'scheduled' AND m.starts = ${claim.starts}
    FOR UPDATE OF m SKIP LOCKED`);
}

/** Ends a scheduled message that will not run. */
export async function failScheduled(tx: Tx, clock: Clock, appId: Uuid, id: Uuid, reason: NoRun): Promise<void> {
  await tx`
    UPDATE messages SET status = 'failed', status_reason = ${reason}, finished_at = ${clock.now}, next_start_at = NULL
    WHERE app_id = ${appId} AND id = ${id} AND status = 'scheduled'`;
}

/** Puts the next start off, never before the message is due, and stores how many there have been. */
export async function postponeStart(
  tx: Tx,
  clock: Clock,
  message: { readonly appId: Uuid; readonly id: Uuid },
  next: { readonly starts: number; readonly inMs: number },
): Promise<void> {
  await tx`
    UPDATE messages SET starts = ${next.starts},
      next_start_at = greatest(run_at, ${clock.now} + ${next.inMs}::float8 * interval '1 millisecond')
    WHERE app_id = ${message.appId} AND id = ${message.id} AND status = 'scheduled'`;
}

/** Ends waits for another start that are too long, because the database's clock was set back. */
export async function shortenStartWaits(sql: Sql, clock: Clock, waitMsMax: number): Promise<void> {
  const latest = sql`greatest(run_at, ${clock.now} + ${waitMsMax}::float8 * interval '1 millisecond')`;
  await sql`
    UPDATE messages SET next_start_at = ${latest}
    WHERE status = 'scheduled' AND starts > 0 AND next_start_at > ${latest} + interval '1 second'`;
}

/**
 * Counts messages of an organisation that are being sent, within their windows and after them.
 * Suspended apps send nothing.
 */
export async function countSending(
  sql: Sql,
  clock: Clock,
  organisationId: Uuid,
): Promise<{ readonly open: number; readonly expired: number }> {
  return getRow(sql`
    SELECT count(*) FILTER (WHERE m.expires_at > ${clock.now}) AS open,
      count(*) FILTER (WHERE m.expires_at <= ${clock.now}) AS expired
    FROM apps a JOIN messages m ON m.app_id = a.id AND m.status = 'sending'
    WHERE a.org_id = ${organisationId} AND a.suspended_at IS NULL`);
}

/** Scheduled messages of an organisation whose time has come, the latest first. */
export async function listDueOf(sql: Sql, clock: Clock, organisationId: Uuid, limit: number): Promise<Scheduled[]> {
  return sql`
    SELECT m.run_at, m.local_send_at, m.local_time_past, m.content
    FROM apps a JOIN messages m ON m.app_id = a.id AND m.status = 'scheduled' AND m.next_start_at <= ${clock.now}
    WHERE a.org_id = ${organisationId} AND a.suspended_at IS NULL
    ORDER BY m.next_start_at DESC LIMIT ${limit}`;
}
