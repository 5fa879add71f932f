// Indexes follow use: a column of `audience` has an index while saved segments or repeated previews
// of apps with many devices compare it. The number of indexes is limited, because each makes every
// write slower (design 3, `plan-indexes`). Indexes are built and dropped in the background, one at a
// time, without blocking readers or writers.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { runAlone } from '../../ground/database/run-alone.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type AppSizes, listColumnsTogether, listColumnUses } from './column-uses.ts';
import {
  buildIndex,
  deleteOldFieldUses,
  dropIndex,
  type FollowingIndex,
  indexPrefix,
  listFollowingIndexes,
  upsertFieldUses,
} from './index-queries.ts';
import { planCarried } from './plan-carried.ts';
import { type IndexLimits, type IndexPlan, indexLimits, planIndexes } from './plan-indexes.ts';

/** Days after which a preview is forgotten and no longer counts as use. */
const rememberedDays = 7;
const notedEveryMs = 60_000;

export interface FieldUses {
  /** Notes that a preview compared these fields. Never rejects and delays nobody. */
  note(appId: Uuid, fields: readonly string[]): void;
}

/**
 * Each process notes a field of an app at most once a minute, because the number is a hint and not
 * a count of requests.
 */
export function createFieldUses({ sql, clock, log }: { sql: Sql; clock: Clock; log: Log }): FieldUses {
  const noted = new Map<string, number>();
  return {
    note(appId, fields) {
      const nowMs = clock.nowMs();
      const fresh = fields.filter((field) => nowMs - (noted.get(`${appId} ${field}`) ?? 0) >= notedEveryMs);
      if (fresh.length === 0) return;
      if (noted.size > 10_000) noted.clear();
      for (const field of fresh) noted.set(`${appId} ${field}`, nowMs);
      upsertFieldUses(sql, clock, appId, fresh).catch((error: unknown) =>
        log.warn({ err: error }, 'previews not noted'),
      );
    },
  };
}

export interface FollowUseDeps {
  readonly sql: Sql;
  /**
   * The connection that builds and drops indexes. It has no deadline for statements or answers,
   * because a table's size is unknown here.
   */
  readonly indexSql: Sql;
  readonly sizes: AppSizes;
  readonly clock: Clock;
  readonly log: Log;
}

interface Wanted {
  /** Columns that the index carries beside its own. */
  readonly carried: readonly string[];
  readonly build: () => Promise<void>;
}

/**
 * Drops every index that is no longer worth its writes, then builds every missing index that is.
 * Returns false when another process is already doing so. A failed index does not stop the others;
 * after all were tried, the first failure is thrown.
 */
export async function followUse(
  { sql, indexSql, sizes, clock, log }: FollowUseDeps,
  limits: IndexLimits = indexLimits,
): Promise<boolean> {
  return runAlone(sql, 'indexes', async () => {
    await deleteOldFieldUses(sql, clock, rememberedDays);
    const existing = await listFollowingIndexes(sql, indexPrefix);
    const wanted = new Map<string, Wanted>();
    const { columns } = await readIndexPlan({ sql, sizes }, limits);
    const together = await listColumnsTogether(sql, sizes, limits.devicesMin);
    for (const column of columns) {
      const name = indexPrefix + column;
      const carried = planCarried(column, together, existing.find((index) => index.name === name)?.columns ?? []);
      wanted.set(name, { carried, build: () => buildIndex(indexSql, name, column, carried) });
    }
    const failures: unknown[] = [];
    const tryOne = async (name: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        log.warn({ err: error, index: name }, 'index not built or dropped');
        failures.push(error);
      }
    };
    // The server may still build an index for a process that is gone. That index will become valid,
    // so this run waits for it and does not build it again.
    const kept = existing.filter((index) => {
      const asWanted = wanted.get(index.name);
      const carriesAll = asWanted?.carried.every((column) => index.columns.includes(column));
      return index.isBeingBuilt || (isOfUse(index) && carriesAll === true);
    });
    const ready = new Set(kept.map(({ name }) => name));
    for (const index of existing) {
      const { name } = index;
      if (ready.has(name)) continue;
      await tryOne(name, async () => {
        await dropIndex(indexSql, name);
        const isBuiltAnew = isOfUse(index) && wanted.has(name);
        const why = isBuiltAnew ? 'it is built again to carry more' : 'it is not worth its writes any more';
        log.info({ index: name }, isOfUse(index) ? `index dropped: ${why}` : 'broken index dropped');
      });
    }
    for (const [name, { build }] of wanted) {
      if (ready.has(name)) continue;
      await tryOne(name, async () => {
        const startedAt = performance.now();
        await build();
        log.info({ index: name, ms: Math.round(performance.now() - startedAt) }, 'index built');
      });
    }
    if (failures.length > 0) throw failures[0];
  });
}

/** Returns the columns that deserve an index now, and the compared columns that get none. */
export async function readIndexPlan(
  { sql, sizes }: Pick<FollowUseDeps, 'sql' | 'sizes'>,
  limits: IndexLimits = indexLimits,
): Promise<IndexPlan> {
  const uses = await listColumnUses(sql, sizes);
  const built = await listFollowingIndexes(sql, indexPrefix);
  return planIndexes(uses, new Set(built.filter(isOfUse).map(({ name }) => name.slice(indexPrefix.length))), limits);
}

/** Returns whether an index is valid and holds what counts read. Indexes of a former version may not. */
function isOfUse({ isValid, columns }: FollowingIndex): boolean {
  return isValid && columns.includes('platform_unit') && columns.includes('user_id');
}
