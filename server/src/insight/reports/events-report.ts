// Counts the events of each name by period, for at most as many names as an answer can hold.

import type { Uuid } from '../../ground/values/ids.ts';
import { findKeptSince } from '../events/retention-queries.ts';
import { type Group, periodsOf, type Range, splitRange } from './periods.ts';
import { sumEvents } from './queries.ts';
import { type ReportReader, snapshot } from './snapshot.ts';

/**
 * A range with more names reports those with the most events; among equal ones, the first in
 * alphabetical order.
 */
export const reportedNamesMax = 1_000;

export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

export async function reportEvents(
  reader: ReportReader,
  asked: { readonly appId: Uuid; readonly range: Range; readonly group: Group | null; readonly zone: string },
): Promise<(Range & { names: NamedCount[] })[]> {
  const { appId, range, group, zone } = asked;
  const periods = periodsOf(range, group, zone);
  const totals = await snapshot(reader, async (tx) => {
    const split = splitRange(range, (await findKeptSince(tx))?.getTime());
    return sumEvents(tx, appId, { mostOf: reportedNamesMax }, { periods, split });
  });
  const counts = periods.map(() => new Map<string, number>());
  for (const { period, name, count } of totals) {
    const names = counts[period];
    names?.set(name, (names.get(name) ?? 0) + count);
  }
  return periods.map((period, i) => ({
    ...period,
    names: [...(counts[i] ?? [])].map(([name, count]) => ({ name, count })).sort((a, b) => (a.name < b.name ? -1 : 1)),
  }));
}
