// The sentence at the top of each list, with its main figures. Pure. Null: not known yet.
import type { CataloguedEvent, CataloguedProperty, Overview, Preview, RequestEntry, Segment } from '../api/objects.ts';
import { count, countUsers, formatDuration, formatNumber, formatShare } from '../format.ts';

/** The rows of a list that are read so far. */
export interface RowsRead<Row> {
  readonly rows: readonly Row[];
  readonly isWhole: boolean;
}

/** The rows of a list's pages; null while the first one is read. */
export function readRows<Row>(
  data: { readonly pages: readonly { readonly data: readonly Row[]; readonly has_more: boolean }[] } | undefined,
): RowsRead<Row> | null {
  if (!data) return null;
  return { rows: data.pages.flatMap((page) => page.data), isWhole: data.pages.at(-1)?.has_more === false };
}

const many = ({ rows, isWhole }: RowsRead<unknown>, one: string, plural?: string): string =>
  isWhole ? count(rows.length, one, plural) : `More than ${count(rows.length, one, plural)}`;

export function tellUsers(reach: Preview | undefined): string | null {
  if (!reach) return null;
  if (reach.users === 0) return 'No user can be reached now: none has an active device.';
  const users = countUsers(reach);
  return `${users.charAt(0).toUpperCase()}${users.slice(1)} can be reached now, on ${count(reach.count, 'active device')}.`;
}

const lastWeek = (overview: Overview) => overview.spans.find(({ name }) => name === 'last_7_days');

export function tellDevices(overview: Overview | undefined): string | null {
  const week = overview && lastWeek(overview);
  if (!week) return null;
  const now = week.now.active_devices;
  if (now === 0 && week.before.active_devices === 0) return 'No active devices, now or 7 days ago.';
  const change = now - week.before.active_devices;
  const compared =
    change === 0 ? 'as many as' : `${formatNumber(Math.abs(change))} ${change > 0 ? 'more' : 'fewer'} than`;
  return `${count(now, 'active device')}, ${compared} 7 days ago.`;
}

export function tellMessages(overview: Overview | undefined): string | null {
  const week = overview && lastWeek(overview)?.now;
  if (!week) return null;
  if (week.accepted === 0) return 'Nothing was sent in the last 7 days.';
  const { sent, accepted, failed, clicked } = week;
  return `In the last 7 days: sent to ${formatNumber(sent)} of ${count(accepted, 'device')}, ${formatNumber(failed)} failed, ${formatShare(clicked, sent)} of those sent were clicked.`;
}

export function tellSegments(read: RowsRead<Segment> | null): string | null {
  if (!read) return null;
  if (read.rows.length === 0) return 'No segments yet.';
  const broken = read.rows.filter(({ valid }) => !valid).length;
  const state = broken === 0 ? 'all ready to send to' : `${formatNumber(broken)} of them need repair`;
  return `${many(read, 'segment')}, ${state}.`;
}

const sum = (days: CataloguedEvent['days']): number => days.reduce((all, each) => all + each.count, 0);

export function tellEvents(read: RowsRead<CataloguedEvent> | null): string | null {
  if (!read) return null;
  const most = read.rows.toSorted((one, other) => sum(other.days) - sum(one.days))[0];
  if (!most) return 'No events yet.';
  const total = read.rows.reduce((all, { days }) => all + sum(days), 0);
  if (total === 0) return `${many(read, 'kind')} of events, none of them in the last 14 days.`;
  return `${many(read, 'kind')} of events, ${count(total, 'event')} in the last 14 days. The most frequent is ${most.name}.`;
}

export function tellProperties(read: RowsRead<CataloguedProperty> | null): string | null {
  if (!read) return null;
  if (read.rows.length === 0) return 'No properties yet.';
  const conflicting = read.rows.filter(({ conflicts_count }) => conflicts_count > 0).length;
  const who = read.isWhole && read.rows.length === 1 ? 'it' : `${formatNumber(conflicting)} of them`;
  const state = conflicting === 0 ? 'no value of another type came' : `${who} got values of another type`;
  return `${many(read, 'property', 'properties')}; ${state}.`;
}

export function tellRequests(entries: readonly RequestEntry[] | undefined): string | null {
  if (!entries) return null;
  if (entries.length === 0) return 'No request is kept.';
  const refused = entries.filter(({ status }) => status >= 400);
  const errors = new Map<string, number>();
  for (const { error } of refused) if (error !== null) errors.set(error, (errors.get(error) ?? 0) + 1);
  const chief = [...errors].sort(([, one], [, other]) => other - one)[0]?.[0];
  const times = entries.map(({ ms }) => ms).sort((one, other) => one - other);
  const half = formatDuration(times[Math.floor(times.length / 2)] ?? 0);
  const reason = chief === undefined ? '' : `, mostly with ${chief}`;
  const kept = count(entries.length, 'request');
  if (refused.length === 0) return `The last ${kept}: none was refused, and half were answered within ${half}.`;
  return `The last ${kept}: ${formatNumber(refused.length)} refused${reason}, and half were answered within ${half}.`;
}
