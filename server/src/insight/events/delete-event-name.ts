// Deletes a name of events: its events, their daily counts, their sums and their properties in the
// catalog. Each day is one transaction, so that a reader sees a day completely or not at all.
// Ingest continues, and later events of the name are new.
import { setTimeout as sleepFor } from 'node:timers/promises';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { countDeletedName } from '../../teams/apps/queries.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { deletePropertiesOfName } from './catalog-queries.ts';
import { countEventsOfName, deleteDayOfName, listDaysOfName } from './delete-queries.ts';
import { waitAloneWithTotals } from './fold-totals.ts';
import { deleteClientName } from './name-queries.ts';
import { dayMs } from './totals.ts';
import { deleteEventNames, upsertEventNames } from './totals-queries.ts';

export interface DeleteEventName {
  readonly appId: Uuid;
  readonly name: string;
  /** Called before anything is deleted, with the number of events. */
  readonly onCounted?: (events: number) => void;
  /** Deletes the reports' credits of this name, in the last transaction. */
  readonly forgetCredits: (tx: Tx) => Promise<void>;
  /** Waits; tests pass their own. */
  readonly sleep?: (ms: number) => Promise<void>;
}

/**
 * Milliseconds. A process may remember a deleted name for 2 s, because a key is cached that long. A
 * second pass deletes the events that such a process stores meanwhile.
 */
const rememberedMs = 2_500;
/** Tries for one day. A day is tried again when a request changed one of its counts meanwhile. */
const triesMax = 20;

/**
 * Deletes a name and returns the number of deleted events; undefined when nothing was ever tracked
 * under the name. May be repeated.
 */
export async function deleteEventName(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  { appId, name, onCounted, forgetCredits, sleep = sleepFor }: DeleteEventName,
): Promise<number | undefined> {
  const counted = await countEventsOfName(sql, appId, name);
  if (counted === 0 && (await listDaysOfName(sql, appId, name)).length === 0) return undefined;
  onCounted?.(counted);
  await transaction(sql, (tx) =>
    recordAudit({ tx, clock, by }, { appId, action: 'event.delete', target: name, after: { events: counted } }),
  );
  const first = await deleteAll(sql, appId, name, forgetCredits);
  await sleep(rememberedMs);
  return first + (await deleteAll(sql, appId, name, forgetCredits));
}

async function deleteAll(
  sql: Sql,
  appId: Uuid,
  name: string,
  forgetCredits: DeleteEventName['forgetCredits'],
): Promise<number> {
  let deleted = 0;
  for (const day of await listDaysOfName(sql, appId, name)) {
    const span = { from: day, to: new Date(day.getTime() + dayMs) };
    await waitAloneWithTotals(sql, async () => {
      deleted += await inOneSnapshot(sql, (tx) => deleteDayOfName(tx, appId, name, span));
    });
  }
  await waitAloneWithTotals(sql, () =>
    transaction(sql, async (tx) => {
      await upsertEventNames(tx, appId);
      await deleteEventNames(tx, appId);
      await deletePropertiesOfName(tx, appId, name);
      await deleteClientName(tx, appId, name);
      await countDeletedName(tx, appId);
      await forgetCredits(tx);
    }),
  );
  return deleted;
}

// A request that commits after the snapshot keeps its events, counts and sums. When it changed a
// count that is to be deleted, the day is tried again.
async function inOneSnapshot<Result>(sql: Sql, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried++) {
    try {
      return await transaction(sql, async (tx) => {
        await tx.unsafe('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
        return work(tx);
      });
    } catch (error) {
      if ((error as { code?: unknown }).code !== '40001' || tried === triesMax) throw error;
    }
  }
}
