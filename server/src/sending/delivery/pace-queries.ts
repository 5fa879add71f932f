// SQL of paces: the token buckets in the rows of messages and of accounts at providers, which all
// processes share, and the claims of batches of messages with a rate.
//
// A row holds the number of tokens at its last question. A number below zero means tokens that
// processes took ahead of their time. The time since that question brings new tokens. A question in
// the future was written before the clock was set back, and brings none.

import { type Fragment, findRow, getRow, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Rate } from '../channels/channel.ts';
import { type ClaimedBatch, leaseMs } from './batch.ts';
import { claimedColumns, isDue, type TakeOver } from './queries.ts';

export interface MessageRate {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly perSecond: number;
}

/**
 * The answer of a row: a number of tokens, one every `apartMs`. The first is due in `inMs`, which
 * is negative if tokens were saved. Without a token, ask the row again in `inMs`.
 */
export interface Grant {
  readonly count: number;
  readonly inMs: number;
  readonly apartMs: number;
  /** The time of the answer, by the database's clock. */
  readonly nowMs: number;
}

/** A grant holds the tokens of this many milliseconds. */
const grantSeconds = 0.1;
/** Tokens are given at most this far ahead, so that a process that ends leaves few of them unused. */
const aheadSeconds = 0.2;
/**
 * Milliseconds. The row's last question cannot be older than this process's last one. It may seem
 * older by this much, because ways to the server and clocks differ. A greater difference means that
 * a clock was set, and brings no tokens.
 */
const unequal = { ms: 100, share: 0.01 };
/**
 * Milliseconds. A statement that waited for the row may carry an earlier time than the one before
 * it, by at most this much.
 */
const disorderSeconds = 1;

interface Asked {
  readonly perSecond: number;
  readonly tokens: number;
  readonly granted: number;
  readonly nowMs: number;
}

/**
 * The row `p` after a question, and the row of a first question. `sinceMs` is how long ago this
 * process asked, by its steady clock; null for a first time. After a rest as long as the ramp, the
 * rate is again the lowest.
 */
function bucketOf(sql: Sql, clock: Clock, rate: Omit<Rate, 'usableMs'>, sinceMs: number | null) {
  const { perSecondLeast: least, perSecondMost: most, rampMs, savedMost } = rate;
  const growth = (most - least) / (rampMs / 1000);
  const number = (value: number): Fragment => sql`${value}::float8`;
  const countAt = (perSecond: Fragment): Fragment =>
    sql`greatest(1, floor(${perSecond} * ${number(grantSeconds)}))::integer`;
  const sinceRow = secondsSince(sql, clock);
  const passedMax = sinceMs === null ? Number.POSITIVE_INFINITY : (sinceMs * (1 + unequal.share) + unequal.ms) / 1000;
  const passed = sql`(CASE WHEN ${sinceRow} BETWEEN 0 AND ${number(passedMax)} THEN ${sinceRow} ELSE 0 END)`;
  const perSecond = sql`
    (CASE WHEN ${passed} >= ${number(rampMs / 1000)} THEN ${number(least)}
      ELSE least(${number(most)}, greatest(${number(least)}, p.per_second + ${number(growth)} * ${passed})) END)`;
  const tokens = sql`least(${number(savedMost)}, p.tokens + p.per_second * ${passed})`;
  const granted = sql`
    (CASE WHEN ${tokens} >= ${number(-aheadSeconds)} * ${perSecond} THEN ${countAt(perSecond)} ELSE 0 END)`;
  const first = countAt(number(least));
  return {
    columns: sql`tokens, per_second, granted, asked_at`,
    firstValues: sql`${number(savedMost)} - ${first}, ${number(least)}, ${first}, ${clock.now}`,
    changes: sql`tokens = ${tokens} - ${granted}, per_second = ${perSecond}, granted = ${granted},
      asked_at = CASE WHEN ${sinceRow} BETWEEN ${number(-disorderSeconds)} AND 0 THEN p.asked_at ELSE ${clock.now} END`,
    answer: sql`per_second, tokens, granted, (extract(epoch FROM ${clock.now}) * 1000)::float8 AS now_ms`,
  };
}

const secondsSince = (sql: Sql, clock: Clock): Fragment => sql`extract(epoch FROM ${clock.now} - p.asked_at)::float8`;

function toGrant({ perSecond, tokens, granted, nowMs }: Asked): Grant {
  const takenSeconds = (0 - tokens) / perSecond;
  const inSeconds = takenSeconds - (granted > 0 ? granted / perSecond : aheadSeconds);
  return { count: granted, inMs: inSeconds * 1000, apartMs: 1000 / perSecond, nowMs };
}

/** Asks for tokens of a message. */
export async function askForMessage(
  sql: Sql,
  clock: Clock,
  { appId, messageId, perSecond }: MessageRate,
  sinceMs: number | null,
): Promise<Grant> {
  const rate = { perSecondLeast: perSecond, perSecondMost: perSecond, rampMs: 1000, savedMost: 0 };
  const { columns, firstValues, changes, answer } = bucketOf(sql, clock, rate, sinceMs);
  const row = await getRow(sql<Asked[]>`
    INSERT INTO message_paces AS p (app_id, message_id, ${columns}) VALUES (${appId}, ${messageId}, ${firstValues})
    ON CONFLICT (app_id, message_id) DO UPDATE SET ${changes} RETURNING ${answer}`);
  return toGrant(row);
}

/** Asks for tokens of an account at its provider. */
export async function askForAccount(
  sql: Sql,
  clock: Clock,
  name: string,
  rate: Rate,
  sinceMs: number | null,
): Promise<Grant> {
  const { columns, firstValues, changes, answer } = bucketOf(sql, clock, rate, sinceMs);
  const row = await getRow(sql<Asked[]>`
    INSERT INTO provider_paces AS p (name, ${columns}) VALUES (${name}, ${firstValues})
    ON CONFLICT (name) DO UPDATE SET ${changes} RETURNING ${answer}`);
  return toGrant(row);
}

/**
 * Deletes the rows that were not asked for an hour. A missing row counts as a bucket after a rest.
 */
export async function deletePastPaces(sql: Sql, clock: Clock): Promise<void> {
  await sql`DELETE FROM message_paces WHERE asked_at < ${clock.now} - interval '1 hour'`;
  await sql`DELETE FROM provider_paces WHERE asked_at < ${clock.now} - interval '1 hour'`;
}

/**
 * Claims a batch of the message that has waited longest, among messages that would get a token. The recursion steps from message to message through the index. Messages of
 * `exceptMessageIds` are skipped, and those of `lastMessageIds` come after all others.
 */
export async function claimNextPacedBatch(
  sql: Sql,
  clock: Clock,
  claimId: Uuid,
  exceptMessageIds: readonly Uuid[] = [],
  lastMessageIds: readonly Uuid[] = [],
  takeOver: TakeOver = 'all',
): Promise<ClaimedBatch | undefined> {
  const isOpen = sql`b.state <> 'done' AND b.per_second IS NOT NULL`;
  const since = secondsSince(sql, clock);
  return findRow(sql`
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
      WHERE m.message_id <> ALL(${exceptMessageIds}::uuid[])
        AND (p.asked_at IS NULL OR ${since} < ${-disorderSeconds}::float8
          OR p.tokens >= -p.per_second * (${aheadSeconds}::float8 + greatest(0, ${since})))
      ORDER BY m.message_id = ANY(${lastMessageIds}::uuid[]), p.asked_at NULLS FIRST, m.message_id
    ), taken AS (
      SELECT one.id FROM ready CROSS JOIN LATERAL (
        SELECT b.id FROM batches b
        WHERE ${isOpen} AND b.app_id = ready.app_id AND b.message_id = ready.message_id AND ${isDue(sql, clock, takeOver)}
        ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) one LIMIT 1
    )
    UPDATE batches b SET state = 'claimed', claim_id = ${claimId}, claims = least(b.claims + 1, 1000),
      available_at = ${clock.now} + ${leaseMs}::float8 * interval '1 millisecond'
    FROM taken WHERE b.id = taken.id
    RETURNING ${claimedColumns(sql)}`);
}
