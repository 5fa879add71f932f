// Clears erased users from the tables that still name them or their devices, app after app, up to
// 200 users at a time. Each room clears its own tables in steps that may be repeated; an erasure is
// done when all rooms are. A year of history takes hours, so the progress of a turn is stored. A
// turn uses one connection.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { insertPeopleChange } from '../devices/link-queries.ts';
import {
  deleteErasures,
  type Erasure,
  type ErasureProgress,
  freeTurn,
  holdTurn,
  type ListedErasure,
  listAppsWithErasures,
  listErasures,
  takeErasures,
} from './erasure-queries.ts';

/** A turn: erasures of one app, each for devices of its own. */
export interface ErasureTurn {
  readonly appId: Uuid;
  readonly erasures: readonly Erasure[];
  /** The progress of clearing events, by name and then by day; null: nothing is cleared yet. */
  readonly done: ErasureProgress | null;
  /**
   * Runs work in a transaction in which no other process works on these erasures. `done` is stored
   * in the same transaction, so that the work is not repeated.
   */
  run(work: (tx: Tx) => Promise<void>, done?: ErasureProgress): Promise<void>;
}

/** Clears the data of erased users that one room stores. May be repeated after any interruption. */
export type Forget = (turn: ErasureTurn) => Promise<void>;

export interface ErasureDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly forget: readonly Forget[];
}

/**
 * Seconds. Longer than any transaction that read a device's owner before the erasure, so nothing is
 * written under the old ids afterwards.
 */
const quietSeconds = 60;
const erasuresAtOnce = 200;
/**
 * Seconds after which another process may continue the turn of a dead one. Every statement between
 * two renewals is much shorter.
 */
const leaseSeconds = 300;

/** Another process has taken these erasures. */
class TurnTaken extends Error {
  override readonly name = 'TurnTaken';
}

/**
 * Clears all erasures that are due. Any number of processes may call it, every few minutes. A
 * failure in one app does not stop the others; the first failure is thrown at the end.
 */
export async function finishErasures(deps: ErasureDeps): Promise<void> {
  const failures: unknown[] = [];
  for (const appId of await listAppsWithErasures(deps.sql, deps.clock, quietSeconds)) {
    try {
      while (await takeTurn(deps, appId));
    } catch (error) {
      if (!(error instanceof TurnTaken)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Clears one turn. Returns false when nothing was due. */
async function takeTurn({ sql, clock, forget }: ErasureDeps, appId: Uuid): Promise<boolean> {
  const erasures = oneTurnOf(await listErasures(sql, clock, appId, quietSeconds, erasuresAtOnce));
  const [oldest] = erasures;
  if (!oldest) return false;
  const userIds = erasures.map(({ userId }) => userId);
  const turnId = mintUuid(clock.nowMs());
  await transaction(sql, async (tx) => {
    const taking = { userIds, formerTurnId: oldest.turnId, turnId, leaseSeconds };
    if ((await takeErasures(tx, clock, appId, taking)) < userIds.length)
      throw new TurnTaken('another process has taken these erasures');
  });
  const run: ErasureTurn['run'] = (work, done) =>
    repeatOnDeadlock(() =>
      transaction(sql, async (tx) => {
        const holding = { userId: oldest.userId, turnId, leaseSeconds, done: done ?? null };
        if (!(await holdTurn(tx, clock, appId, holding)))
          throw new TurnTaken('another process has taken these erasures');
        await work(tx);
      }),
    );
  const { doneName, doneDay } = oldest;
  const done = doneName === null || doneDay === null ? null : { name: doneName, day: doneDay };
  try {
    for (const step of forget) await step({ appId, erasures, done, run });
    await run(async (tx) => {
      // The change that makes reports class these people's events again is recorded only now, when
      // every table is cleared.
      await insertPeopleChange(tx, clock, appId, [...userIds, ...erasures.flatMap(({ deviceIds }) => deviceIds)]);
      await deleteErasures(tx, appId, userIds);
    });
  } catch (error) {
    // If this fails too, the lease expires.
    await freeTurn(sql, appId, oldest.userId, turnId).catch(() => undefined);
    throw error;
  }
  return true;
}

/**
 * Selects the erasures of the turn that was begun, or of a new one. A device may have been erased
 * with one user and later with another: the earlier erasure is cleared first, the later in the next
 * turn. Each turn contains the app's oldest erasure, so an app has one turn at a time.
 */
function oneTurnOf(erasures: readonly ListedErasure[]): ListedErasure[] {
  const seen = new Set<Uuid>();
  return erasures.filter(({ turnId, deviceIds }) => {
    if (turnId !== erasures[0]?.turnId) return false;
    const isNew = deviceIds.every((id) => !seen.has(id));
    for (const id of deviceIds) seen.add(id);
    return isNew;
  });
}
