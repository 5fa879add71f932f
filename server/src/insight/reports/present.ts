// The answers of reports: the same rows as JSON and as CSV. Pure.

import type { Answer } from '../../ground/http/server.ts';
import { add, parseDecimal, writeDecimal } from '../../ground/values/decimal.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { attributedNames } from './attribution.ts';
import { csvAnswer } from './csv.ts';
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

/** With `names`, each message has its name and its title. */
export function presentRevenue(
  asked: Asked,
  { windowHours, knowsCounts, periods, sums, messages }: RevenueReport,
  nextCursor: (last: MessageRevenue) => string,
  names?: MessageNames,
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
    ...(names && namesIn(names, row)),
  }));
  const end = pageEnd(messages, asked.limit, nextCursor);
  return { ...presentRange(asked.range), window_hours: windowHours, ...presented, messages: rows, ...end };
}

function namesIn(names: MessageNames, { messageId }: { readonly messageId: Uuid }) {
  const { name = null, title = null } = names.get(messageId) ?? {};
  return { name, title };
}

/** Without trailing zeros. */
function plain(amount: string): string {
  return writeDecimal(parseDecimal(amount));
}

const none = { amount: '0', purchases: 0 };
const noRevenue = { total: '0', purchases: 0, direct: none, influenced: none, unattributed: none, open: none };
const columnsOf = (...sums: string[]): string[] => sums.flatMap((sum) => [`${sum}.amount`, `${sum}.purchases`]);

/**
 * One row for each currency of a period, and a row of zeros for a period without purchases. Then
 * follows the page of rows by message, which have a message id. With `names`, the last columns are
 * the name and the title of each message.
 */
export function revenueAsCsv(
  asked: Asked,
  report: RevenueReport,
  nextCursor: (last: MessageRevenue) => string,
  names?: MessageNames,
): Answer<200> {
  const ofPeriods = report.periods.flatMap((period, i) => {
    const rows = report.sums.revenueOf(i);
    const shown = rows.length === 0 && asked.group !== null ? [noRevenue] : rows;
    return shown.map((row) => ({ ...presentRange(period), ...row }));
  });
  const { messages, from, to, next_cursor: next } = presentRevenue(asked, report, nextCursor, names);
  const ofMessages = messages.map((row) => ({
    from,
    to,
    ...row,
    total: writeDecimal(add(parseDecimal(row.direct.amount), parseDecimal(row.influenced.amount))),
    purchases: row.direct.purchases + row.influenced.purchases,
  }));
  // `open` comes last, because it is a part of the total and not a class.
  const ofSums = columnsOf('direct', 'influenced', 'unattributed', 'open');
  const columns = ['from', 'to', 'message_id', 'currency', 'total', 'purchases', ...ofSums];
  return csvAnswer([...columns, ...(names ? ['name', 'title'] : [])], [...ofPeriods, ...ofMessages], next);
}

const funnelSteps = ['accepted', 'sent', 'failed', 'skipped', 'displayed', 'clicked', 'dismissed'];

interface FunnelRow extends Funnel {
  readonly purchases: number;
  readonly revenue: readonly CurrencyRevenue[];
}

function presentFunnel(row: FunnelRow) {
  const { accepted, sent, failed, skipped, displayed, clicked, dismissed, purchases, revenue } = row;
  return { accepted, sent, failed, skipped, displayed, clicked, dismissed, purchases, revenue };
}

/** With `names`, each message has its title. */
export function presentEngagement(
  asked: Asked,
  { periods, messages }: EngagementReport,
  nextCursor: (last: MessageFunnel) => string,
  names?: MessageNames,
) {
  const presented = asked.group === null ? {} : presentPeriods(asked, periods, presentFunnel);
  const rows = messages.slice(0, asked.limit).map((row) => ({
    message_id: encodeId('msg', row.messageId),
    name: row.name,
    started_at: row.startedAt,
    ...presentFunnel(row),
    ...(names && namesIn(names, row)),
  }));
  const end = pageEnd(messages, asked.limit, nextCursor);
  return { ...presentRange(asked.range), ...presented, messages: rows, ...end };
}

/** One row for each currency, and one without a currency when there were no purchases. */
export function byCurrency<Row extends { readonly revenue: readonly object[] }>(row: Row): object[] {
  return row.revenue.length === 0 ? [row] : row.revenue.map((ofCurrency) => ({ ...row, ...ofCurrency }));
}

/**
 * A page of messages, or the periods, by currency. With `names`, the last column of a page is the
 * title of each message.
 */
export function engagementAsCsv(
  asked: Asked,
  report: EngagementReport,
  nextCursor: (last: MessageFunnel) => string,
  names?: MessageNames,
): Answer<200> {
  const columns = [...funnelSteps, 'purchases', 'currency', ...columnsOf('direct', 'influenced')];
  if (asked.group !== null) {
    const rows = report.periods.map((period) => ({ ...presentRange(period), ...presentFunnel(period) }));
    return csvAnswer(['from', 'to', ...columns], rows.flatMap(byCurrency));
  }
  const { messages, next_cursor: next } = presentEngagement(asked, report, nextCursor, names);
  const ofMessages = ['message_id', 'name', 'started_at', ...columns, ...(names ? ['title'] : [])];
  return csvAnswer(ofMessages, messages.flatMap(byCurrency), next);
}

export function presentDevices(asked: AskedRange, periods: readonly (Range & { channels: ChannelDevices[] })[]) {
  const presented = presentPeriods(asked, periods, ({ channels }) => ({
    devices: Object.fromEntries(channels.map(({ channel, ...counts }) => [channel, counts])),
  }));
  return { ...presentRange(asked.range), ...presented };
}

export function devicesAsCsv(periods: readonly (Range & { channels: ChannelDevices[] })[]): Answer<200> {
  const rows = periods.flatMap((period) => period.channels.map((row) => ({ ...presentRange(period), ...row })));
  return csvAnswer(['from', 'to', 'channel', 'registered', 'active', 'invalid', 'unsubscribed'], rows);
}

export function presentEvents(asked: AskedRange, periods: readonly (Range & { names: NamedCount[] })[]) {
  const presented = presentPeriods(asked, periods, ({ names }) => ({
    events: Object.fromEntries(names.map(({ name, count }) => [name, { count }])),
  }));
  return { ...presentRange(asked.range), ...presented };
}

export function eventsAsCsv(periods: readonly (Range & { names: NamedCount[] })[]): Answer<200> {
  const rows = periods.flatMap((period) => period.names.map((row) => ({ ...presentRange(period), ...row })));
  return csvAnswer(['from', 'to', 'name', 'count'], rows);
}
