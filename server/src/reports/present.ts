// The answers of reports: the same rows as JSON and as CSV. Pure.

import { textCell } from '../ground/csv.ts';
import { add, parseDecimal, writeDecimal } from '../ground/decimal.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import type { Answer } from '../http/server.ts';
import { attributedNames } from './attribution.ts';
import { type Cell, csvAnswer } from './csv.ts';
import type { ChannelDevices } from './devices-report.ts';
import type { CurrencyRevenue, EngagementReport } from './engagement.ts';
import type { Funnel, MessageFunnel } from './engagement-queries.ts';
import type { NamedCount } from './events-report.ts';
import type { Range } from './periods.ts';
import type { MessageRevenue } from './queries.ts';
import type { MessageNames } from './report-fields.ts';
import type { AskedRange } from './report-request.ts';
import type { RevenueReport } from './revenue.ts';

/** Installs and sessions. Purchases are in the rows of revenue. */
export const countedNames = attributedNames.filter((name) => name !== 'purchase');

type Asked = AskedRange & { readonly limit: number };

export function presentRange({ fromMs, toMs }: Range): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** One object for the whole range, or one for each period under `groups`. */
function presentPeriods<Period extends Range, Row extends object>(
  { group, zone }: AskedRange,
  periods: readonly Period[],
  present: (period: Period, index: number) => Row,
) {
  if (group !== null) {
    const rows = periods.map((period, i) => ({ ...presentRange(period), ...present(period, i) }));
    return { tz: zone, group, groups: rows };
  }
  const [whole] = periods;
  return whole && present(whole, 0);
}

function pageEnd<Row>(rows: readonly Row[], limit: number, nextCursor: (last: Row) => string) {
  const last = rows.slice(0, limit).at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return { has_more: hasMore, next_cursor: hasMore ? nextCursor(last) : null };
}

export function presentRevenue(
  asked: Asked,
  { windowHours, knowsCounts, periods, sums, messages }: RevenueReport,
  nextCursor: (last: MessageRevenue) => string,
) {
  const presented = presentPeriods(asked, periods, (_, i) => ({
    revenue: sums.revenueOf(i),
    ...(knowsCounts && { events: Object.fromEntries(countedNames.map((name) => [name, sums.countsOf(i, name)])) }),
  }));
  const rows = messages.slice(0, asked.limit).map((row) => ({
    message_id: encodeId('msg', row.messageId),
    currency: row.currency,
    direct: { amount: plain(row.directAmount), purchases: row.directCount },
    influenced: { amount: plain(row.influencedAmount), purchases: row.influencedCount },
  }));
  const end = pageEnd(messages, asked.limit, nextCursor);
  return { ...presentRange(asked.range), window_hours: windowHours, ...presented, messages: rows, ...end };
}

/** Without trailing zeros. */
function plain(amount: string): string {
  return writeDecimal(parseDecimal(amount));
}

/**
 * One row for each currency of a period, and a row of zeros for a period without purchases. Then
 * follows the page of rows by message, which have a message id. With `names`, the last columns are
 * the name and the title of each message.
 */
export function revenueAsCsv(
  asked: Asked,
  { periods, sums, messages }: RevenueReport,
  nextCursor: (last: MessageRevenue) => string,
  names?: MessageNames,
): Answer<200> {
  const columns = ['from', 'to', 'message_id', 'currency', 'total', 'purchases'];
  const classes = ['direct', 'influenced', 'unattributed'] as const;
  // `open` comes last, because it is a part of the total and not a class.
  const columnsOfSums = [...classes, 'open'] as const;
  const headings = columnsOfSums.flatMap((name) => [`${name}_amount`, `${name}_purchases`]);
  const noNames: Cell[] = names ? [null, null] : [];
  const ofPeriods = periods.flatMap((period, i) => {
    const { from, to } = presentRange(period);
    const rows = sums.revenueOf(i).map((row): Cell[] => {
      const ofClasses = columnsOfSums.flatMap((name) => [row[name].amount, row[name].purchases]);
      return [from, to, null, row.currency, row.total, row.purchases, ...ofClasses, ...noNames];
    });
    if (rows.length > 0 || asked.group === null) return rows;
    return [[from, to, null, null, '0', 0, ...columnsOfSums.flatMap((): Cell[] => ['0', 0]), ...noNames]];
  });
  const { from, to } = presentRange(asked.range);
  const ofMessages = messages.slice(0, asked.limit).map((row): Cell[] => {
    const sum = writeDecimal(add(parseDecimal(row.directAmount), parseDecimal(row.influencedAmount)));
    return [
      ...[from, to, encodeId('msg', row.messageId), row.currency, sum, row.directCount + row.influencedCount],
      ...[
        plain(row.directAmount),
        row.directCount,
        plain(row.influencedAmount),
        row.influencedCount,
        ...[null, null, null, null],
      ],
      ...(names ? [nameCell(names, row, 'name'), nameCell(names, row, 'title')] : []),
    ];
  });
  const rows = [...ofPeriods, ...ofMessages];
  const columnsOfNames = names ? ['name', 'title'] : [];
  const end = cursorHeader(pageEnd(messages, asked.limit, nextCursor));
  return csvAnswer([...columns, ...headings, ...columnsOfNames], rows, end);
}

function nameCell(names: MessageNames, { messageId }: { readonly messageId: Uuid }, field: 'name' | 'title'): Cell {
  const text = names.get(messageId)?.[field] ?? null;
  return text === null ? null : textCell(text);
}

function cursorHeader({ next_cursor: next }: { next_cursor: string | null }): Record<string, string> {
  return next === null ? {} : { 'x-next-cursor': next };
}

const funnelSteps = ['accepted', 'sent', 'failed', 'skipped', 'displayed', 'clicked', 'dismissed'] as const;

interface FunnelRow extends Funnel {
  readonly purchases: number;
  readonly revenue: readonly CurrencyRevenue[];
}

function presentFunnel(row: FunnelRow) {
  const { accepted, sent, failed, skipped, displayed, clicked, dismissed, purchases, revenue } = row;
  return { accepted, sent, failed, skipped, displayed, clicked, dismissed, purchases, revenue };
}

export function presentEngagement(
  asked: Asked,
  { periods, messages }: EngagementReport,
  nextCursor: (last: MessageFunnel) => string,
) {
  const presented = asked.group === null ? {} : presentPeriods(asked, periods, presentFunnel);
  const rows = messages.slice(0, asked.limit).map((row) => ({
    message_id: encodeId('msg', row.messageId),
    name: row.name,
    started_at: row.startedAt,
    ...presentFunnel(row),
  }));
  const end = pageEnd(messages, asked.limit, nextCursor);
  return { ...presentRange(asked.range), ...presented, messages: rows, ...end };
}

/**
 * A page of messages, or the periods: one row for each currency, and one without a currency when
 * there were no purchases. With `names`, the last column of a page is the title of each message.
 */
export function engagementAsCsv(
  asked: Asked,
  { periods, messages }: EngagementReport,
  nextCursor: (last: MessageFunnel) => string,
  names?: MessageNames,
): Answer<200> {
  const headings = [...funnelSteps, 'purchases', 'currency'];
  const sums = ['direct_amount', 'direct_purchases', 'influenced_amount', 'influenced_purchases'];
  const cellsOf = (row: FunnelRow): Cell[][] => {
    const steps: Cell[] = [...funnelSteps.map((step) => row[step]), row.purchases];
    if (row.revenue.length === 0) return [[...steps, null, null, null, null, null]];
    return row.revenue.map(({ currency, direct, influenced }) => [
      ...[...steps, currency, direct.amount, direct.purchases, influenced.amount, influenced.purchases],
    ]);
  };
  if (asked.group !== null) {
    const rows = periods.flatMap((period) => {
      const { from, to } = presentRange(period);
      return cellsOf(period).map((cells) => [from, to, ...cells]);
    });
    return csvAnswer(['from', 'to', ...headings, ...sums], rows);
  }
  const rows = messages.slice(0, asked.limit).flatMap((message) => {
    const id = encodeId('msg', message.messageId);
    const name = message.name === null ? null : textCell(message.name);
    const title = names ? [nameCell(names, message, 'title')] : [];
    return cellsOf(message).map((cells) => [id, name, message.startedAt.toISOString(), ...cells, ...title]);
  });
  const headers = cursorHeader(pageEnd(messages, asked.limit, nextCursor));
  const columns = ['message_id', 'name', 'started_at', ...headings, ...sums, ...(names ? ['title'] : [])];
  return csvAnswer(columns, rows, headers);
}

export function presentDevices(asked: AskedRange, periods: readonly (Range & { channels: ChannelDevices[] })[]) {
  const presented = presentPeriods(asked, periods, ({ channels }) => ({
    devices: Object.fromEntries(channels.map(({ channel, ...counts }) => [channel, counts])),
  }));
  return { ...presentRange(asked.range), ...presented };
}

export function devicesAsCsv(periods: readonly (Range & { channels: ChannelDevices[] })[]): Answer<200> {
  const rows = periods.flatMap((period) => {
    const { from, to } = presentRange(period);
    return period.channels.map((row) => [
      ...[from, to, row.channel, row.registered, row.active, row.invalid, row.unsubscribed],
    ]);
  });
  return csvAnswer(['from', 'to', 'channel', 'registered', 'active', 'invalid', 'unsubscribed'], rows);
}

export function presentEvents(asked: AskedRange, periods: readonly (Range & { names: NamedCount[] })[]) {
  const presented = presentPeriods(asked, periods, ({ names }) => ({
    events: Object.fromEntries(names.map(({ name, count }) => [name, { count }])),
  }));
  return { ...presentRange(asked.range), ...presented };
}

export function eventsAsCsv(periods: readonly (Range & { names: NamedCount[] })[]): Answer<200> {
  const rows = periods.flatMap((period) => {
    const { from, to } = presentRange(period);
    return period.names.map(({ name, count }) => [from, to, textCell(name), count]);
  });
  return csvAnswer(['from', 'to', 'name', 'count'], rows);
}
