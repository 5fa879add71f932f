// The additions of events to the sums: a count for each subject, name and day, and one for each
// name and quarter of an hour. Pure.
import { add, parseDecimal, writePlaces } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Purchase } from './event.ts';

/** An event as it is stored. */
export interface StoredEvent {
  readonly id: Uuid;
  readonly subjectId: Uuid;
  /** False: an event of nobody, which no filter can find. */
  readonly hasSubject: boolean;
  readonly name: string;
  readonly atMs: number;
  readonly deviceId: Uuid | null;
  readonly externalId: string | null;
  readonly propertiesText: string;
  readonly purchase: Purchase | null;
}

export interface DayCount {
  readonly name: string;
  readonly subjectId: Uuid;
  /** Days since 1970-01-01, in UTC. */
  readonly day: number;
  count: number;
  lastMs: number;
}

export interface Delta {
  readonly name: string;
  readonly bucketMs: number;
  /** Empty: no amount. */
  readonly currency: string;
  readonly amount: string;
  count: number;
  lastMs: number;
}

export const dayMs = 86_400_000;
export const bucketMs = 900_000;

/** Counts by name, subject and day, in the order in which their rows are locked. */
export function dayCountsOf(events: readonly StoredEvent[]): DayCount[] {
  const counts = new Map<string, DayCount>();
  for (const { name, subjectId, atMs, hasSubject } of events) {
    if (!hasSubject) continue;
    const day = Math.floor(atMs / dayMs);
    count(counts, `${subjectId}${day} ${name}`, atMs, () => ({ name, subjectId, day, count: 0, lastMs: 0 }));
  }
  return [...counts.values()].sort((a, b) => order(a.name, b.name) || order(a.subjectId, b.subjectId) || a.day - b.day);
}

/** Sums, one for each name, quarter of an hour and currency. */
export function deltasOf(events: readonly StoredEvent[]): Delta[] {
  const sums = new Map<string, Omit<Delta, 'amount'> & { readonly amounts: string[] }>();
  for (const { name, atMs, purchase } of events) {
    const at = Math.floor(atMs / bucketMs) * bucketMs;
    const currency = purchase?.currency ?? '';
    const key = `${at}${currency} ${name}`;
    count(sums, key, atMs, () => ({ name, bucketMs: at, currency, count: 0, lastMs: 0, amounts: [] }));
    if (purchase) sums.get(key)?.amounts.push(purchase.amount);
  }
  return [...sums.values()].map(({ amounts, ...sum }) => ({ ...sum, amount: sumOf(amounts) }));
}

function sumOf([first = '0', ...others]: readonly string[]): string {
  return others.length === 0 ? first : writePlaces(others.map(parseDecimal).reduce(add, parseDecimal(first)));
}

function count<Sum extends { count: number; lastMs: number }>(
  sums: Map<string, Sum>,
  key: string,
  atMs: number,
  begin: () => Sum,
): void {
  let sum = sums.get(key);
  if (!sum) {
    sum = begin();
    sums.set(key, sum);
  }
  sum.count++;
  sum.lastMs = Math.max(sum.lastMs, atMs);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
