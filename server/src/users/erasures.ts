// Erased users are cleared out of the tables that still name them or their devices: a few users at a time, by whichever process
// comes first, app after app. Each room clears its own tables, in steps that may be repeated; only when all have, an erasure is
// done.
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { deleteErasures, type Erasure, listAppsWithErasures, listErasures, lockErasures } from './erasure-queries.ts';

/** Some erasures of one app, of which no two name the same device. */
export interface ErasureTurn {
  readonly appId: Uuid;
  readonly erasures: readonly Erasure[];
  /** Runs a piece of work in a transaction in which no other process works on these erasures. */
  run(work: (tx: Tx) => Promise<void>): Promise<void>;
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
  const erasures = withoutRepeats(await listErasures(sql, clock, appId, quietSeconds, erasuresAtOnce));
  if (erasures.length === 0) return false;
  const userIds = erasures.map(({ userId }) => userId);
  const run = (work: (tx: Tx) => Promise<void>): Promise<void> =>
    repeatOnDeadlock(() =>
      transaction(sql, async (tx) => {
        if ((await lockErasures(tx, appId, userIds)) < userIds.length) throw new TurnTaken('another process has them');
        await work(tx);
      }),
    );
  for (const step of forget) await step({ appId, erasures, run });
  await run((tx) => deleteErasures(tx, appId, userIds));
  return true;
}

/** A device that was erased with one user and then with another has two pasts: the earlier one is cleared first, the other next turn. */
function withoutRepeats(erasures: readonly Erasure[]): Erasure[] {
  const seen = new Set<Uuid>();
  return erasures.filter(({ deviceIds }) => {
    const isNew = deviceIds.every((id) => !seen.has(id));
    for (const id of deviceIds) seen.add(id);
    return isNew;
  });
}
