// Indexes follow use: a column of `audience` has one while a saved segment or repeated previews of any app compare it, and
// none otherwise, since each makes every write dearer (design 3). One more there always is, for the users without a number. Built and
// dropped in the background, one at a time, while everybody reads and writes on.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { runAlone } from '../platform/run-alone.ts';
import type { BuiltinField } from '../properties/fields.ts';
import { slotColumn } from '../properties/slots.ts';
import { builtinColumns } from './filter-to-sql.ts';
import {
  buildIndex,
  buildUnnumberedIndex,
  deleteOldFieldUses,
  dropIndex,
  type FollowingIndex,
  listFieldsInUse,
  listFollowingIndexes,
  listSlotsOfKeys,
  upsertFieldUses,
} from './index-queries.ts';

/** Previews of a field, a minute apart, that are worth an index and a slot. */
export const previewsMin = 3;
/** Previews longer ago say nothing about now. */
const rememberedDays = 7;
const notedEveryMs = 60_000;

const indexPrefix = 'audience_by_';
/** Not in a migration, since it is built beside those who write, and built anew when that was broken off. */
const unnumberedIndex = 'audience_unnumbered';
const propertyPrefix = 'properties.';
/** These have indexes of their own, from the first migration on. */
const alwaysIndexed: readonly BuiltinField[] = ['external_id', 'device.created_at'];

export interface FieldUses {
  /** A preview compared these fields. Never rejects and holds nobody up. */
  note(appId: Uuid, fields: readonly string[]): void;
}

/** Each process notes a field of an app at most once a minute: this is a hint, and not a count of requests. */
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

/** Any number that nothing else in this database locks. */
const indexLock = 4_271_960_133;

export interface FollowUseDeps {
  readonly sql: Sql;
  /** Builds and drops: without a deadline for statements and their answers, since no table's size is known here. */
  readonly indexSql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Builds what is used and lacks an index, drops what is not used any more. False: another process is at it. An index that fails
 * holds up no other; throws the first failure when all were tried.
 */
export async function followUse({ sql, indexSql, clock, log }: FollowUseDeps): Promise<boolean> {
  return runAlone(sql, indexLock, async () => {
    await deleteOldFieldUses(sql, clock, rememberedDays);
    const wanted = new Map<string, () => Promise<void>>([
      [unnumberedIndex, () => buildUnnumberedIndex(indexSql, unnumberedIndex)],
    ]);
    for (const column of await listColumnsInUse(sql)) {
      const name = indexPrefix + column;
      wanted.set(name, () => buildIndex(indexSql, name, column));
    }
    const existing = [
      ...(await listFollowingIndexes(sql, unnumberedIndex)),
      ...(await listFollowingIndexes(sql, indexPrefix)),
    ];
    const failures: unknown[] = [];
    const attempt = async (name: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        log.warn({ err: error, index: name }, 'index not built or dropped');
        failures.push(error);
      }
    };
    // One that the server still builds for a process that is gone will be valid: it is waited for, and not built beside.
    const kept = existing.filter((index) => index.isBeingBuilt || (isOfUse(index) && wanted.has(index.name)));
    const ready = new Set(kept.map(({ name }) => name));
    for (const index of existing) {
      const { name } = index;
      if (ready.has(name)) continue;
      await attempt(name, async () => {
        await dropIndex(indexSql, name);
        log.info({ index: name }, isOfUse(index) ? 'index dropped: no filter uses it' : 'broken index dropped');
      });
    }
    for (const [name, build] of wanted) {
      if (ready.has(name)) continue;
      await attempt(name, async () => {
        const startedAt = performance.now();
        await build();
        log.info({ index: name, ms: Math.round(performance.now() - startedAt) }, 'index built');
      });
    }
    if (failures.length > 0) throw failures[0];
  });
}

/** It is whole, and it carries what counts ask for: one of a former version may not. */
function isOfUse({ name, isValid, columns }: FollowingIndex): boolean {
  return isValid && (name === unnumberedIndex || columns.includes('user_block'));
}

/** Of fields those that are properties, by their keys. */
export function keysAmong(fields: readonly { appId: Uuid; field: string }[]): { appId: Uuid; key: string }[] {
  return fields.flatMap(({ appId, field }) =>
    field.startsWith(propertyPrefix) ? [{ appId, key: field.slice(propertyPrefix.length) }] : [],
  );
}

async function listColumnsInUse(sql: Sql): Promise<Set<string>> {
  const used = await listFieldsInUse(sql, previewsMin);
  const keys = keysAmong(used);
  const slots = keys.length === 0 ? [] : await listSlotsOfKeys(sql, keys);
  const columns = new Set(slots.map(({ type, slot }) => slotColumn(type, slot)));
  for (const [field, column] of Object.entries(builtinColumns)) {
    const isUsed = used.some((one) => one.field === field);
    if (isUsed && !alwaysIndexed.includes(field as BuiltinField)) columns.add(column);
  }
  return columns;
}
