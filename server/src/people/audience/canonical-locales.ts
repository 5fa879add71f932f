// Brings devices' locales, and then stored filters, to canonical form (contract 6 and 8). Earlier
// versions stored other forms. Reads a page of devices at a time and never waits for a locked row.
// An interrupted pass starts again from the beginning, and skips finished rows. This file and its
// table can be deleted when no version that wrote the former form is left.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { nilUuid, type Uuid } from '../../ground/values/ids.ts';
import { canonicalLocale } from '../../sending/content/locales.ts';
import { canonicalFilter } from './canonical-filter.ts';
import { deletePasses, listDuePasses, listLocales, replaceLocale, type StoredLocale } from './locale-queries.ts';

/** The number of devices read together. One statement locks some of them for milliseconds. */
const devicesAtOnceMost = 1_000;

export interface CanonicalDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Rewrites the filters of rooms above. Returns whether none is left in a former form. */
  readonly rewriteFilters: () => Promise<boolean>;
}

/** A filter, and the place where its room finds it again. */
export interface StoredFilter {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly filter: unknown;
}

/**
 * Rewrites the filters of one table, a page at a time. `replace` returns false for a row that
 * another transaction holds. Returns whether no filter is left in a former form.
 */
export async function rewriteEach(
  list: (after: Pick<StoredFilter, 'appId' | 'id'>) => Promise<StoredFilter[]>,
  replace: (row: StoredFilter) => Promise<boolean>,
): Promise<boolean> {
  let isWhole = true;
  let after: Pick<StoredFilter, 'appId' | 'id'> | undefined = { appId: nilUuid, id: nilUuid };
  while (after !== undefined) {
    const page: StoredFilter[] = await list(after);
    for (const { appId, id, filter } of page) {
      const form = canonicalFilter(filter);
      if (form !== filter) isWhole = (await replace({ appId, id, filter: form })) && isWhole;
    }
    after = page.at(-1);
  }
  return isWhole;
}

/**
 * Does the pass that is due, if one is. Any number of processes may call it, once a minute. A pass
 * that met a locked row stays due.
 */
export async function canonicalizeLocales(
  { sql, clock, rewriteFilters }: CanonicalDeps,
  devicesAtOnce = devicesAtOnceMost,
): Promise<void> {
  const due = await listDuePasses(sql, clock);
  if (due.length === 0) return;
  let isWhole = true;
  let after: Pick<StoredLocale, 'appId' | 'deviceId'> | undefined = { appId: nilUuid, deviceId: nilUuid };
  while (after !== undefined) {
    const page: StoredLocale[] = await listLocales(sql, after, devicesAtOnce);
    for (const devices of groupByLocale(page)) isWhole = (await mend(sql, devices)) && isWhole;
    after = page.at(-1);
  }
  // A filter with the canonical value selects a device only when its locale is canonical, too.
  if (isWhole && (await rewriteFilters())) await deletePasses(sql, due);
}

interface DevicesOfLocale {
  readonly appId: Uuid;
  readonly locale: string;
  readonly deviceIds: Uuid[];
}

function groupByLocale(page: readonly StoredLocale[]): DevicesOfLocale[] {
  const groups = new Map<string, DevicesOfLocale>();
  for (const { appId, deviceId, locale } of page) {
    if (locale === null) continue;
    const key = `${appId} ${locale}`;
    const group = groups.get(key) ?? { appId, locale, deviceIds: [] };
    group.deviceIds.push(deviceId);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Returns whether none of these devices has a former form any more. */
async function mend(sql: Sql, { appId, locale: former, deviceIds }: DevicesOfLocale): Promise<boolean> {
  const locale = canonicalLocale(former);
  if (locale === null || locale === former) return true;
  return (await replaceLocale(sql, appId, deviceIds, { former, locale })) === deviceIds.length;
}
