// SQL that metrics are read with: counts over the tables of several rooms, none of which is written here. Each statement costs
// little however much there is to count.
import type { Clock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { Uuid } from './platform/ids.ts';

interface OutboxState {
  readonly id: Uuid;
  readonly isEnabled: boolean;
  readonly failures: number;
  readonly inFlightMax: number;
  /** At most `countMax`. */
  readonly events: number;
  readonly inFlight: number;
  /** How long the event that is due longest has been; null: none is due. Replays have time and do not count. */
  readonly oldestDueSeconds: number | null;
}

/** Every webhook with its outbox; of the newest `webhooksMax` where there are more. Counts no further than `countMax` events. */
export async function listOutboxStates(
  sql: Sql,
  clock: Clock,
  { webhooksMax, countMax }: { webhooksMax: number; countMax: number },
): Promise<OutboxState[]> {
  return sql<OutboxState[]>`
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

/** Batches that are not done: due and held by nobody, held, or waiting for their time. */
export async function readQueueState(sql: Sql, clock: Clock): Promise<QueueState> {
  const [row] = await sql<QueueState[]>`
    SELECT count(*) FILTER (WHERE b.available_at <= ${clock.now}) AS due,
      count(*) FILTER (WHERE b.available_at > ${clock.now} AND b.state = 'claimed') AS claimed,
      count(*) FILTER (WHERE b.available_at > ${clock.now} AND b.state <> 'claimed') AS waiting,
      coalesce(extract(epoch FROM ${clock.now} - min(b.available_at) FILTER (WHERE b.available_at <= ${clock.now})), 0)::float8
        AS oldest_due_seconds
    FROM batches b WHERE b.state <> 'done'`;
  return row ?? { waiting: 0, due: 0, claimed: 0, oldestDueSeconds: 0 };
}

/** Messages whose time is still to come. */
export async function countScheduled(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`SELECT count(*) FROM messages WHERE status = 'scheduled'`;
  return row?.count ?? 0;
}

interface PoolState {
  /** As the pool calls itself. */
  readonly pool: string;
  readonly state: string;
  readonly connections: number;
}

/** The connections of all processes, on all nodes, by pool and by what they are doing. */
export async function listConnections(sql: Sql): Promise<PoolState[]> {
  return sql<PoolState[]>`
    SELECT substr(application_name, 10) AS pool,
      CASE WHEN state = 'active' THEN 'active' WHEN state LIKE 'idle in transaction%' THEN 'in_transaction' ELSE 'idle' END AS state,
      count(*) AS connections
    FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'carillon %'
    GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** About how many devices are there? As the planner knows; null: it does not yet. */
export async function estimateDevices(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ devices: number }[]>`
    SELECT reltuples::float8 AS devices FROM pg_class WHERE oid = 'audience'::regclass`;
  return row && row.devices >= 0 ? row.devices : null;
}
