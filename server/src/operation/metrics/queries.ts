// SQL for metrics: counts over the tables of several rooms. No table is written here. Each
// statement is cheap for any amount of data.

import { getRow, getValue, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

interface OutboxState {
  readonly id: Uuid;
  readonly isEnabled: boolean;
  readonly failures: number;
  readonly inFlightMax: number;
  /** The number of events in the outbox, counted up to `countMax`. */
  readonly events: number;
  readonly inFlight: number;
  /**
   * Seconds since the oldest due event became due; null: no event is due. Replays do not count,
   * because they have time.
   */
  readonly oldestDueSeconds: number | null;
}

/**
 * Lists every webhook with the state of its outbox, or the newest `webhooksMax` where there are
 * more. Counts up to `countMax` events of each.
 */
export async function listOutboxStates(
  sql: Sql,
  clock: Clock,
  { webhooksMax, countMax }: { webhooksMax: number; countMax: number },
): Promise<OutboxState[]> {
  return sql`
    SELECT w.id, w.state = 'enabled' AS is_enabled, w.failures, w.in_flight_max,
      (SELECT count(*) FROM (SELECT 1 FROM webhook_events e
        WHERE e.app_id = w.app_id AND e.webhook_id = w.id LIMIT ${countMax}) AS counted) AS events,
      (SELECT count(*) FROM webhook_events e WHERE e.app_id = w.app_id AND e.webhook_id = w.id
        AND e.claim_id IS NOT NULL AND e.due_at > ${clock.now}) AS in_flight,
      (SELECT extract(epoch FROM ${clock.now} - e.due_at)::float8 FROM webhook_events e
        WHERE e.app_id = w.app_id AND e.webhook_id = w.id AND NOT e.is_replay
        AND e.due_at <= ${clock.now} ORDER BY e.due_at, e.id LIMIT 1) AS oldest_due_seconds
    FROM (SELECT * FROM webhooks ORDER BY id DESC LIMIT ${webhooksMax}) AS w ORDER BY w.id`;
}

interface QueueState {
  readonly waiting: number;
  readonly due: number;
  readonly claimed: number;
  readonly oldestDueSeconds: number;
}

/** Counts batches that are not done: due, claimed, or waiting for their time. */
export async function readQueueState(sql: Sql, clock: Clock): Promise<QueueState> {
  return getRow(sql`
    SELECT count(*) FILTER (WHERE b.available_at <= ${clock.now}) AS due,
      count(*) FILTER (WHERE b.available_at > ${clock.now} AND b.state = 'claimed') AS claimed,
      count(*) FILTER (WHERE b.available_at > ${clock.now} AND b.state <> 'claimed') AS waiting,
      coalesce(extract(epoch FROM ${clock.now} - min(b.available_at) FILTER (WHERE b.available_at <= ${clock.now})), 0)::float8
        AS oldest_due_seconds
    FROM batches b WHERE b.state <> 'done'`);
}

/** Counts messages whose time is still to come. */
export async function countScheduled(sql: Sql): Promise<number> {
  return getValue(sql`SELECT count(*) FROM messages WHERE status = 'scheduled'`);
}

interface PoolState {
  /** The pool's own name. */
  readonly pool: string;
  readonly state: string;
  readonly connections: number;
}

/** Counts the connections of all processes, on all nodes, by pool and by what they are doing. */
export async function listConnections(sql: Sql): Promise<PoolState[]> {
  return sql`
    SELECT substr(application_name, 10) AS pool,
      CASE WHEN state = 'active' THEN 'active' WHEN state LIKE 'idle in transaction%' THEN 'in_transaction' ELSE 'idle' END AS state,
      count(*) AS connections
    FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'carillon %'
    GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** Reads the planner's estimate of the number of devices; null: the planner has none yet. */
export async function estimateDevices(sql: Sql): Promise<number | null> {
  const devices = await getValue<number>(sql`
    SELECT reltuples::float8 AS devices FROM pg_class WHERE oid = 'audience'::regclass`);
  return devices >= 0 ? devices : null;
}
