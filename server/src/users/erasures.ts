// Erased users are cleared out of the tables that still name them or their devices: a few users at a time, by whichever process
// comes first, app after app. Each room clears its own tables, in steps that may be repeated; only when all have, an erasure is
// done. A year of history takes hours: how far a turn has come is kept, and it uses one connection at a time.
import { insertPeopleChange } from '../devices/link-queries.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import {
  deleteErasures,
  type Erasure,
  freeTurn,
  holdTurn,
  type ListedErasure,
  listAppsWithErasures,
  listErasures,
  type Place,
  takeErasures,
} from './erasure-queries.ts';

/** Some erasures of one app, of which no two name the same device. */
export interface ErasureTurn {
  readonly appId: Uuid;
  readonly erasures: readonly Erasure[];
  /** Up to here the events are cleared, by name and then by day; null: none are. */
  readonly done: Place | null;
  /**
   * Runs a piece of work in a transaction in which no other process works on these erasures; `done` is noted with it, so that
   * nobody does it again.
   */
  run(work: (tx: Tx) => Promise<void>, done?: Place): Promise<void>;
}

/** Clears what one room holds of erased users. May be repeated after any interruption. */
export type Forget = (turn: ErasureTurn) => Promise<void>;

export interface ErasureDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly forget: readonly Forget[];
}

/** Longer than any transaction that read whose a device was before the erasure: nobody writes under the old ids after this. */
const quietSeconds = 60;
const erasuresAtOnce = 200;
/** A process that dies leaves its turn after this; the longest statement between two pieces ends well before. */
const leaseSeconds = 300;

/** Another process has taken these erasures. */
class TurnTaken extends Error {
  override readonly name = 'TurnTaken';
}

/** Does what is due. To be run every few minutes, by any number of processes. What fails of one app holds up no other. */
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

/** False: nothing was due. */
async function takeTurn({ sql, clock, forget }: ErasureDeps, appId: Uuid): Promise<boolean> {
  const erasures = oneTurnOf(await listErasures(sql, clock, appId, quietSeconds, erasuresAtOnce));
  const [oldest] = erasures;
  if (!oldest) return false;
  const userIds = erasures.map(({ userId }) => userId);
  const turnId = mintUuid(clock.nowMs());
  await transaction(sql, async (tx) => {
    const taking = { userIds, formerTurnId: oldest.turnId, turnId, leaseSeconds };
    if ((await takeErasures(tx, clock, appId, taking)) < userIds.length)
      throw new TurnTaken('another process has them');
  });
  const run: ErasureTurn['run'] = (work, done) =>
    repeatOnDeadlock(() =>
      transaction(sql, async (tx) => {
        const holding = { userId: oldest.userId, turnId, leaseSeconds, done: done ?? null };
        if (!(await holdTurn(tx, clock, appId, holding))) throw new TurnTaken('another process has them');
        await work(tx);
      }),
    );
  const { doneName, doneDay } = oldest;
  const done = doneName === null || doneDay === null ? null : { name: doneName, day: doneDay };
  try {
    for (const step of forget) await step({ appId, erasures, done, run });
    await run(async (tx) => {
      // What their events came to was kept apart until here.
      await insertPeopleChange(tx, clock, appId, [...userIds, ...erasures.flatMap(({ deviceIds }) => deviceIds)]);
      await deleteErasures(tx, appId, userIds);
    });
  } catch (error) {
    // Where even this fails, the lease runs out.
    await freeTurn(sql, appId, oldest.userId, turnId).catch(() => undefined);
    throw error;
  }
  return true;
}

/**
 * Those of a turn that was begun, or a new turn's. A device that was erased with one user and then with another has two pasts: the
 * earlier one is cleared first, the other next turn. Every turn of an app has its oldest erasure, so that there is one at a time.
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
