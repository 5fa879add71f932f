// Brings devices' locales to canonical form (contract 8), which earlier versions did not store.
// Reads a page of devices at a time and never waits for a locked row. A pass that was broken off is
// done again from the start, and leaves alone what it has done. Can go, with its table, when no
// version is left that wrote the former form.
import { canonicalLocale } from '../content/locales.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { nilUuid, type Uuid } from '../ground/ids.ts';
import { deletePasses, listDuePasses, listLocales, replaceLocale, type StoredLocale } from './locale-queries.ts';

/** Devices that are read together; one statement locks some of them for milliseconds. */
const devicesAtOnceMost = 1_000;

/**
 * Does the pass that is due, if one is. Any number of processes may call it, once a minute. A pass
 * that met a locked row stays due.
 */
export async function canonicalizeLocales(
  { sql, clock }: { sql: Sql; clock: Clock },
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
  if (isWhole) await deletePasses(sql, due);
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

/** Returns whether none of these devices has the former form any more. */
async function mend(sql: Sql, { appId, locale: former, deviceIds }: DevicesOfLocale): Promise<boolean> {
  const locale = canonicalLocale(former);
  if (locale === null || locale === former) return true;
  return (await replaceLocale(sql, appId, deviceIds, { former, locale })) === deviceIds.length;
}
