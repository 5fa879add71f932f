// SQL of the fan-out, which turns an audience into batches of device ids.
import { bareArray, type Fragment, getRow, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { batchSizeOf, leaseMs } from './batch.ts';

/** The time when the deliveries are due, and how long they may be tried after it. */
export interface SendWindow {
  /** Null: the time at which the statement runs. */
  readonly dueAt: Date | null;
  readonly windowMs: number;
  /**
   * Time zones whose devices are due at another instant, or skipped. Null: all devices are due
   * together.
   */
  readonly zones: readonly DueZone[] | null;
}

export interface DueZone {
  readonly zone: string;
  readonly dueAtMs: number;
  /** The deliveries of this zone are skipped as `local_time_past`. */
  readonly isSkipped: boolean;
}

/** The caller claims the new batches, if they have at most `devicesMax` devices together. */
export interface OwnBatches {
  readonly claimId: Uuid;
  readonly devicesMax: number;
}

export interface BatchPlan {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly batchIds: readonly Uuid[];
  /**
   * A condition over `audience` under the alias `a`, including the app and that the device is
   * active.
   */
  readonly predicate: Fragment;
  readonly window: SendWindow;
  /** Null: any worker may claim the batches. */
  readonly own: OwnBatches | null;
  /** Provider requests a second of the whole message; null for no limit. */
  readonly perSecond: number | null;
}

export interface FannedOut {
  /** The number of devices on each platform. */
  readonly web: number;
  readonly ios: number;
  readonly android: number;
  /**
   * The number of batches that the audience needs. None was inserted when there are fewer batch
   * ids.
   */
  readonly batches: number;
  /** The time when the last batch is due; null without any batch. */
  readonly lastDueAt: Date | null;
  readonly isOwn: boolean;
}

/**
 * Turns an audience into batches in one statement, so that the ids never pass through the process
 * . The caller mints `batchIds`, because no statement may be volatile. With too few ids the
 * audience is only counted. Devices due at different instants are in different batches, and the
 * order of batch ids follows the instants.
 */
export async function insertBatches(tx: Tx, clock: Clock, plan: BatchPlan): Promise<FannedOut> {
  const { appId, messageId, batchIds, predicate, window, own, perSecond } = plan;
  const due = dueOf(tx, clock, window);
  return getRow(tx`
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
    FROM parts`);
}

/**
 * The parts of the statement that say when a device is due. Without zones, only the insert needs
 * the time.
 */
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
    // The zone of the device, or else of its user.
    join: tx`LEFT JOIN (
        SELECT given.zone COLLATE "C" AS name, to_timestamp(given.due_at_ms / 1000) AS due_at, given.is_skipped
        FROM ${tx.rows('given', { text: ['zone'], float8: ['dueAtMs'], boolean: ['isSkipped'] }, zones)}
      ) z ON z.name = coalesce(a.timezone, a.user_timezone)`,
    groups: tx`due_at, is_skipped,`,
    at: tx`parts.due_at`,
    skipReason: tx`CASE WHEN parts.is_skipped THEN 'local_time_past' END`,
  };
}
