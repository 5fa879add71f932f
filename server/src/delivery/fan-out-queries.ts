// SQL of the fan-out: an audience becomes batches of device ids.
import { bareArray } from '../platform/array-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { Fragment, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { batchSizeOf, leaseMs } from './batch.ts';

/** When the deliveries are due, and how long they may be tried from then on. */
export interface SendWindow {
  /** Null: now, as the statement that makes the batches sees it. */
  readonly dueAt: Date | null;
  readonly windowMs: number;
  /** Devices of these time zones are due at other instants, or not at all; null: all are due together. */
  readonly zones: readonly DueZone[] | null;
}

export interface DueZone {
  readonly zone: string;
  readonly dueAtMs: number;
  /** Its devices are in batches whose deliveries are skipped as `local_time_past`. */
  readonly isSkipped: boolean;
}

/** Claims the batches for the caller when they are this few devices. */
export interface OwnBatches {
  readonly claimId: Uuid;
  readonly devicesMax: number;
}

export interface BatchPlan {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly batchIds: readonly Uuid[];
  /** Over `audience` under the alias `a`, app and activity included. */
  readonly predicate: Fragment;
  readonly window: SendWindow;
  /** Null: the batches are for any worker. */
  readonly own: OwnBatches | null;
  /** Provider requests a second of the whole message; null: as fast as it goes. */
  readonly perSecond: number | null;
}

export interface FannedOut {
  /** Devices per platform. */
  readonly web: number;
  readonly ios: number;
  readonly android: number;
  /** How many batches they are; none was made when there were fewer ids. */
  readonly batches: number;
  /** When the last of them is due; null when there is none. */
  readonly lastDueAt: Date | null;
  readonly isOwn: boolean;
}

/**
 * An audience becomes batches, in one statement: the ids never pass through the process. `batchIds` are minted by
 * the caller, since no statement may be volatile; when they are too few, the audience is counted and nothing is made. What is due
 * at another instant is in other batches, and ids follow the instants.
 */
export async function insertBatches(tx: Tx, clock: Clock, plan: BatchPlan): Promise<FannedOut> {
  const { appId, messageId, batchIds, predicate, window, own, perSecond } = plan;
  const due = dueOf(tx, clock, window);
  const [row] = await tx<FannedOut[]>`
    WITH parts AS MATERIALIZED (
      SELECT row_number() OVER (ORDER BY ${due.groups} piece) AS part, ${due.groups}
        array_agg(device_id ORDER BY device_id) AS device_ids, count(*)::int AS size,
        count(*) FILTER (WHERE platform = 'web') AS web,
        count(*) FILTER (WHERE platform = 'ios') AS ios,
        count(*) FILTER (WHERE platform = 'android') AS android
      FROM (
        SELECT a.device_id, a.platform ${due.columns},
          (row_number() OVER (${due.partition} ORDER BY a.device_id) - 1) / ${batchSizeOf(perSecond)} AS piece
        FROM audience a ${due.join} WHERE ${predicate}
      ) picked
      GROUP BY ${due.groups} piece
    ), ids AS (
      SELECT id, part FROM unnest(${bareArray(batchIds)}::uuid[]) WITH ORDINALITY AS minted (id, part)
    ), claim AS (
      SELECT CASE WHEN coalesce(sum(size), 0) <= ${own?.devicesMax ?? null}::int THEN ${own?.claimId ?? null}::uuid END AS id FROM parts
    ), made AS (
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, claim_id, claims,
        per_second, skip_reason)
      SELECT ids.id, ${appId}, ${messageId}, parts.device_ids, parts.size,
        CASE WHEN claim.id IS NULL THEN 'waiting' ELSE 'claimed' END,
        ${clock.now}, ${due.at}, ${due.at} + ${window.windowMs}::float8 * interval '1 millisecond',
        CASE WHEN claim.id IS NULL THEN ${due.at} ELSE ${clock.now} + ${leaseMs}::float8 * interval '1 millisecond' END,
        claim.id, CASE WHEN claim.id IS NULL THEN 0 ELSE 1 END, ${perSecond}::int, ${due.skipReason}
      FROM parts JOIN ids USING (part) CROSS JOIN claim
      WHERE (SELECT count(*) FROM parts) <= ${batchIds.length}::int
      RETURNING 1
    )
    SELECT count(*)::int AS batches, max(${due.at}) AS last_due_at, (SELECT id IS NOT NULL FROM claim) AS is_own,
      coalesce(sum(web), 0)::int AS web, coalesce(sum(ios), 0)::int AS ios, coalesce(sum(android), 0)::int AS android
    FROM parts`;
  return row ?? { web: 0, ios: 0, android: 0, batches: 0, lastDueAt: null, isOwn: true };
}

/** How the statement tells when a device is due. Without zones it says nothing about it until the batches are written. */
function dueOf(tx: Tx, clock: Clock, { dueAt, zones }: SendWindow) {
  const at = dueAt === null ? tx`${clock.now}` : tx`${dueAt}::timestamptz`;
  if (zones === null) {
    return { columns: tx``, partition: tx``, join: tx``, groups: tx``, at, skipReason: tx`NULL` };
  }
  const dueAtOf = tx`coalesce(z.due_at, ${at})`;
  const isSkippedOf = tx`coalesce(z.is_skipped, false)`;
  return {
    columns: tx`, ${dueAtOf} AS due_at, ${isSkippedOf} AS is_skipped`,
    partition: tx`PARTITION BY ${dueAtOf}, ${isSkippedOf}`,
    // The device's own zone, else its user's.
    join: tx`LEFT JOIN (
        SELECT given.name COLLATE "C" AS name, to_timestamp(given.due_ms / 1000) AS due_at, given.skipped = 1 AS is_skipped
        FROM unnest(${zones.map(({ zone }) => zone)}::text[], ${zones.map(({ dueAtMs }) => dueAtMs)}::float8[],
          ${zones.map(({ isSkipped }) => (isSkipped ? 1 : 0))}::int[]) AS given (name, due_ms, skipped)
      ) z ON z.name = coalesce(a.timezone, a.user_timezone)`,
    groups: tx`due_at, is_skipped,`,
    at: tx`parts.due_at`,
    skipReason: tx`CASE WHEN parts.is_skipped THEN 'local_time_past' END`,
  };
}
