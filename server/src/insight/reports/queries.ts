// SQL: the sums that reports show: whole quarters of an hour from stored sums, and the ends of a
// range from single rows. Reads other rooms' tables and writes nothing.
import { type Fragment, getValue, type Tx } from '@carillon/postgres';
import { writeDecimal } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AttributedName } from './attribution.ts';
import type { Range, SplitRange } from './periods.ts';
import type { Tallied } from './tally.ts';

/** The periods by which a report's rows are counted, and the split of the range that they form. */
export interface Cut {
  readonly periods: readonly Range[];
  readonly split: SplitRange;
}

/** The index of the period that contains an instant. */
export function periodOf(tx: Tx, column: Fragment, periods: readonly Range[]): Fragment {
  if (periods.length === 1) return tx`0`;
  const starts = periods.map(({ fromMs }) => new Date(fromMs).toISOString());
  return tx`width_bucket(${column}, ${starts}::timestamptz[]) - 1`;
}

export function within(tx: Tx, column: Fragment, { fromMs, toMs }: Range): Fragment {
  return tx`(${column} >= ${new Date(fromMs)} AND ${column} < ${new Date(toMs)})`;
}

export interface EventTotal {
  readonly period: number;
  readonly name: string;
  readonly currency: string;
  readonly count: number;
  readonly amount: string;
}

/**
 * Sums the events of each name and their amounts: of the given names, or of the `mostOf` names with
 * the most events in the range.
 */
export async function sumEvents(
  tx: Tx,
  appId: Uuid,
  names: readonly string[] | { readonly mostOf: number },
  { periods, split }: Cut,
): Promise<EventTotal[]> {
  const isOfMost = 'mostOf' in names;
  const named = isOfMost ? tx`` : tx`AND name = ANY(${names}::text[])`;
  const columns = tx`name, bucket AS at, currency, count, amount`;
  const inner = tx`${named} AND ${within(tx, tx`bucket`, split.inner)}`;
  const edges = split.edges.map(
    (edge) => tx`
      UNION ALL
      SELECT name, at, coalesce(currency, ''), 1, coalesce(amount, 0) FROM events
      WHERE app_id = ${appId} ${named} AND ${within(tx, tx`at`, edge)}`,
  );
  const most = isOfMost
    ? tx`WHERE name IN (SELECT name FROM summed GROUP BY name ORDER BY sum(count) DESC, name LIMIT ${names.mostOf})`
    : tx``;
  return tx`
    WITH summed AS (
      SELECT ${periodOf(tx, tx`at`, periods)} AS period, name, currency, sum(count)::bigint AS count, sum(amount)::text AS amount
      FROM (
        SELECT ${columns} FROM rollups WHERE app_id = ${appId} ${inner}
        UNION ALL
        SELECT ${columns} FROM rollup_deltas WHERE app_id = ${appId} ${inner}
        ${edges.length === 0 ? tx`` : edges}
      ) AS counted
      GROUP BY 1, 2, 3
    )
    SELECT period, name, currency, count, amount FROM summed ${most}`;
}

/**
 * The credits of settled events: rows of (name, at, currency, class, message_id, count, amount).
 */
function settledCredits(tx: Tx, appId: Uuid, name: AttributedName, split: SplitRange): Fragment {
  // Single rows are stored for purchases only, sums for all names.
  const edges = (name === 'purchase' ? split.edges : []).map(
    (edge) => tx`
      UNION ALL
      SELECT 'purchase', at, currency, class, message_id, 1, amount FROM attributions
      WHERE app_id = ${appId} AND message_id IS NOT NULL AND ${within(tx, tx`at`, edge)}`,
  );
  return tx`
    SELECT name, bucket AS at, currency, class, message_id, count, amount FROM credited_totals
    WHERE app_id = ${appId} AND name = ${name} AND ${within(tx, tx`bucket`, split.inner)}
    ${edges.length === 0 ? tx`` : edges}`;
}

export interface CreditTotal extends EventTotal {
  readonly class: 'direct' | 'influenced';
}

/** Sums the credits of settled events, of all messages or of one. */
export async function sumSettledCredits(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  { periods, split }: Cut,
  messageId: Uuid | null,
): Promise<CreditTotal[]> {
  return tx`
    SELECT ${periodOf(tx, tx`at`, periods)} AS period, name, currency, class, sum(count)::bigint AS count,
      sum(amount)::text AS amount
    FROM (${settledCredits(tx, appId, name, split)}) AS credited
    ${messageId === null ? tx`` : tx`WHERE message_id = ${messageId}`}
    GROUP BY 1, 2, 3, 4`;
}

export interface MessageRevenue {
  readonly messageId: Uuid;
  readonly currency: string;
  readonly directAmount: string;
  readonly directCount: number;
  readonly influencedAmount: string;
  readonly influencedCount: number;
}

const talliedColumns = {
  uuid: ['messageId'],
  text: ['currency', 'class'],
  bigint: ['count'],
  numeric: ['amount'],
} as const;

/** The credits of purchases that were classed just now: rows of (message_id, currency, class, count, amount). */
export function talliedCredits(tx: Tx, rows: readonly Tallied[]): Fragment {
  const credited = rows.flatMap((row) =>
    row.name === 'purchase' && row.messageId !== null ? [{ ...row, amount: writeDecimal(row.amount) }] : [],
  );
  return tx`
    SELECT message_id, currency, class, count, amount FROM ${tx.rows('t', talliedColumns, credited)}`;
}

export interface MessageRevenueAsked {
  readonly appId: Uuid;
  /** Null when everything was classed just now. */
  readonly split: SplitRange | null;
  readonly tallied: readonly Tallied[];
  readonly messageId: Uuid | null;
  readonly after: { readonly directAmount: string; readonly messageId: Uuid; readonly currency: string } | null;
  readonly limit: number;
}

/** Lists purchases by message and currency, the highest direct amount first. */
export async function listMessageRevenue(tx: Tx, asked: MessageRevenueAsked): Promise<MessageRevenue[]> {
  const { appId, split, tallied, messageId, after, limit } = asked;
  const settled =
    split === null
      ? tx``
      : tx`UNION ALL SELECT message_id, currency, class, count, amount
          FROM (${settledCredits(tx, appId, 'purchase', split)}) AS settled`;
  const past =
    after === null
      ? tx``
      : tx`WHERE by_message.direct_amount < ${after.directAmount}::numeric OR (by_message.direct_amount = ${after.directAmount}::numeric
          AND (message_id, currency) > (${after.messageId}::uuid, ${after.currency}::text))`;
  return tx`
    SELECT message_id, currency, direct_amount::text, direct_count, influenced_amount::text, influenced_count
    FROM (
      SELECT message_id, currency,
        coalesce(sum(amount) FILTER (WHERE class = 'direct'), 0) AS direct_amount,
        coalesce(sum(count) FILTER (WHERE class = 'direct'), 0)::bigint AS direct_count,
        coalesce(sum(amount) FILTER (WHERE class = 'influenced'), 0) AS influenced_amount,
        coalesce(sum(count) FILTER (WHERE class = 'influenced'), 0)::bigint AS influenced_count
      FROM (${talliedCredits(tx, tallied)} ${settled}) AS credited
      ${messageId === null ? tx`` : tx`WHERE message_id = ${messageId}`}
      GROUP BY message_id, currency
    ) AS by_message
    ${past}
    ORDER BY by_message.direct_amount DESC, message_id, currency LIMIT ${limit}`;
}

/**
 * Returns whether the message ever existed. A message that retention has deleted is known by its
 * credits.
 */
export async function isKnownMessage(tx: Tx, appId: Uuid, id: Uuid): Promise<boolean> {
  return getValue(tx`
    SELECT EXISTS (SELECT FROM messages WHERE app_id = ${appId} AND id = ${id})
      OR EXISTS (SELECT FROM credited_totals WHERE app_id = ${appId} AND message_id = ${id}) AS is_known`);
}
