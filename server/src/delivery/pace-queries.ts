// SQL of messages with a rate: the places in a message's row, which all processes share, and the
// claims of its batches. A place is an instant, and the row holds only the next one.
import type { Clock } from '../database/clock.ts';
import type { Fragment, Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { type ClaimedBatch, leaseMs } from './batch.ts';
import { claimedColumns, isDue, type TakeOver } from './queries.ts';

export interface MessageRate {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly perSecond: number;
}

const ms = (sql: Sql, value: number): Fragment => sql`${value}::float8 * interval '1 millisecond'`;

/**
 * Takes the next `count` places, 1/`perSecond` of a second apart and none sooner than `soonestMs`
 * from now. Answers the instant of the first place by the database's clock. Undefined, with nothing
 * taken, when the next place is further ahead than `aheadMs`.
 */
export async function reservePlaces(
  sql: Sql,
  clock: Clock,
  { appId, messageId, perSecond }: MessageRate,
  places: { readonly count: number; readonly soonestMs: number; readonly aheadMs: number },
): Promise<number | undefined> {
  const length = ms(sql, (places.count * 1000) / perSecond);
  const soonest = sql`${clock.now} + ${ms(sql, places.soonestMs)}`;
  const [row] = await sql<{ startMs: number }[]>`
    INSERT INTO message_paces AS p (app_id, message_id, next_at)
    VALUES (${appId}, ${messageId}, ${soonest} + ${length})
    ON CONFLICT (app_id, message_id) DO UPDATE SET next_at = greatest(p.next_at, ${soonest}) + ${length}
    WHERE p.next_at <= ${clock.now} + ${ms(sql, places.aheadMs)}
    RETURNING (extract(epoch FROM next_at - ${length}) * 1000)::float8 AS start_ms`;
  return row?.startMs;
}

/** The instant of the next free place. */
export async function findNextPlace(sql: Sql, { appId, messageId }: MessageRate): Promise<number | undefined> {
  const [row] = await sql<{ nextMs: number }[]>`
    SELECT (extract(epoch FROM next_at) * 1000)::float8 AS next_ms FROM message_paces
    WHERE app_id = ${appId} AND message_id = ${messageId}`;
  return row?.nextMs;
}

/**
 * Deletes the rows of paces that were not used for an hour. A missing row means that the next place
 * has passed.
 */
export async function deletePastPaces(sql: Sql, clock: Clock): Promise<void> {
  await sql`DELETE FROM message_paces WHERE next_at < ${clock.now} - interval '1 hour'`;
  await sql`DELETE FROM provider_paces WHERE next_at < now() - interval '1 hour'`;
}

/** A slice is as many places as the current rate gives in this time. */
const sliceSeconds = 0.1;

/**
 * Takes the next slice of a credential's places (`fcm/pace`), by the server's clock. After a rest
 * as long as the ramp the rate is the least again. Then the places of a second lie in the past, so
 * they may be used at once.
 */
export async function takeProviderSlice(
  sql: Sql,
  name: string,
  { perSecondMax, perSecondLeast, rampMs }: { perSecondMax: number; perSecondLeast: number; rampMs: number },
): Promise<{ count: number; startInMs: number; apartMs: number }> {
  const ramp = ms(sql, rampMs);
  // The progress of the ramp decides the rate. A slice is a whole number of places.
  const rateSince = (startedAt: Fragment): Fragment => sql`
    (${perSecondLeast}::float8 + ${perSecondMax - perSecondLeast}::float8
      * least(1, greatest(0, extract(epoch FROM now() - ${startedAt}) * 1000 / ${rampMs}::float8)))::float8`;
  const countAt = (rate: Fragment): Fragment => sql`greatest(1, ceil(${rate} * ${sliceSeconds}::float8))`;
  const seconds = (value: Fragment): Fragment => sql`${value} * interval '1 second'`;
  const startedAt = sql`CASE WHEN now() - p.next_at >= ${ramp} THEN now() ELSE p.started_at END`;
  const rate = rateSince(startedAt);
  const first = rateSince(sql`now()`);
  const [row] = await sql<{ count: number; startInMs: number; apartMs: number }[]>`
    INSERT INTO provider_paces AS p (name, started_at, next_at)
    VALUES (${name}, now(), now() - interval '1 second' + ${seconds(sql`(${countAt(first)} / ${first})`)})
    ON CONFLICT (name) DO UPDATE SET started_at = ${startedAt},
      next_at = greatest(p.next_at, now() - ${seconds(sql`(${perSecondLeast}::float8 / ${rate})`)})
        + ${seconds(sql`(${countAt(rate)} / ${rate})`)}
    RETURNING ${countAt(rateSince(sql`p.started_at`))}::int AS count,
      (extract(epoch FROM next_at - now()) * 1000
        - ${countAt(rateSince(sql`p.started_at`))} / ${rateSince(sql`p.started_at`)} * 1000)::float8 AS start_in_ms,
      (1000 / ${rateSince(sql`p.started_at`)})::float8 AS apart_ms`;
  if (!row) throw new Error('the statement that takes a slice of places answered no row');
  return row;
}

/**
 * Claims a batch of the message that has waited longest, among messages whose next place is at most
 * `aheadMs` ahead. The recursion steps from message to message through the index. Messages of
 * `exceptMessageIds` are skipped, and those of `lastMessageIds` come after all others.
 */
export async function claimNextPacedBatch(
  sql: Sql,
  clock: Clock,
  claimId: Uuid,
  aheadMs: number,
  exceptMessageIds: readonly Uuid[] = [],
  lastMessageIds: readonly Uuid[] = [],
  takeOver: TakeOver = 'all',
): Promise<ClaimedBatch | undefined> {
  const isOpen = sql`b.state <> 'done' AND b.per_second IS NOT NULL`;
  const [batch] = await sql<ClaimedBatch[]>`
    WITH RECURSIVE messages_open AS (
      (SELECT b.app_id, b.message_id FROM batches b WHERE ${isOpen} ORDER BY b.app_id, b.message_id LIMIT 1)
      UNION ALL
      SELECT next.app_id, next.message_id FROM messages_open m CROSS JOIN LATERAL (
        SELECT b.app_id, b.message_id FROM batches b
        WHERE ${isOpen} AND (b.app_id, b.message_id) > (m.app_id, m.message_id)
        ORDER BY b.app_id, b.message_id LIMIT 1
      ) next
    ), ready AS (
      SELECT m.app_id, m.message_id FROM messages_open m
      LEFT JOIN message_paces p ON p.app_id = m.app_id AND p.message_id = m.message_id
      WHERE m.message_id <> ALL(${exceptMessageIds as Uuid[]}::uuid[])
        AND (p.next_at IS NULL OR p.next_at <= ${clock.now} + ${ms(sql, aheadMs)})
      ORDER BY m.message_id = ANY(${lastMessageIds as Uuid[]}::uuid[]), p.next_at NULLS FIRST, m.message_id
    ), taken AS (
      SELECT one.id FROM ready CROSS JOIN LATERAL (
        SELECT b.id FROM batches b
        WHERE ${isOpen} AND b.app_id = ready.app_id AND b.message_id = ready.message_id AND ${isDue(sql, clock, takeOver)}
        ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) one LIMIT 1
    )
    UPDATE batches b SET state = 'claimed', claim_id = ${claimId}, claims = least(b.claims + 1, 1000),
      available_at = ${clock.now} + ${ms(sql, leaseMs)}
    FROM taken WHERE b.id = taken.id
    RETURNING ${claimedColumns(sql)}`;
  return batch;
}
