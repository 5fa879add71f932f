// Slots follow use: a key that filters use and that has no slot is brought into one, and where there is none left a key that
// nothing uses makes room (design 3). Values stand in both places until the catalog row is switched and everybody who read it
// before is gone, so that a filter selects the same devices at every moment, whoever upserts and whoever is killed meanwhile.
//
//   promotion:  overflow ──filling──▶ both ──switched──▶ slot is read, both ──clearing──▶ slot
//   demotion:   slot ──filling──▶ both ──switched──▶ overflow is read, both ──clearing──▶ overflow
//
// A phase that was broken off is done again: each step may be repeated, and only the row of the catalog says how far it is.
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { runAlone } from '../platform/run-alone.ts';
import {
  advanceMove,
  endMove,
  isInPhase,
  listAppsShortOfSlots,
  listMoves,
  listSlotCandidates,
  type Move,
  startMove,
} from '../properties/move-queries.ts';
import { listRetiredSlots, takePropertyNumbers } from '../properties/queries.ts';
import { planMoves, type SlotCandidate } from '../properties/slots.ts';
import { keysAmong, previewsMin } from './column-uses.ts';
import { listFieldsInUse } from './index-queries.ts';
import { findChunkEnd, isStepLeft, type MoveStep, updateChunk } from './move-queries.ts';

interface MoveDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly rowsAtOnce: number;
}

/** Any number that nothing else in this database locks. */
const moveLock = 4_271_960_134;
/** Longer than anybody keeps what they read of the catalog outside of a transaction: a compiled message, a preview that waits. */
const quietSeconds = 60;
/** Rows that are held at a time: for some milliseconds. */
const rowsAtOnceMost = 1_000;

/**
 * Brings each move one phase further that may go on, and starts those that are due. To be run every minute, by any number of
 * processes. False: another process is at it.
 */
export async function moveSlots(
  { sql, clock, log }: Pick<MoveDeps, 'sql' | 'clock' | 'log'>,
  rowsAtOnce = rowsAtOnceMost,
): Promise<boolean> {
  const deps: MoveDeps = { sql, clock, log, rowsAtOnce };
  return runAlone(sql, moveLock, async () => {
    for (const move of await listMoves(sql, clock, quietSeconds)) {
      if (!move.isQuiet) continue;
      // One that fails holds up no other: it is tried again at the next turn.
      await goOn(deps, move).catch((error: unknown) => log.warn({ err: error, key: move.key }, 'a key is not moved'));
    }
    await startMoves(deps);
  });
}

async function goOn(deps: MoveDeps, move: Move): Promise<void> {
  const { sql, log } = deps;
  const { key, slot, moveSlot } = move;
  switch (move.movePhase) {
    case 'filling':
      if (!(await doStep(deps, move, slot === null ? 'fill slot' : 'fill overflow'))) return;
      return advance(deps, move, { movePhase: 'switched', slot: slot === null ? moveSlot : null });
    case 'switched':
      return advance(deps, move, { movePhase: 'clearing', slot });
    case 'clearing':
      if (!(await doStep(deps, move, slot === null ? 'empty slot' : 'empty overflow'))) return;
      await transaction(sql, async (tx) => {
        await takePropertyNumbers(tx, move.appId, 0);
        await endMove(tx, move);
        await failpoint('slots.before_commit');
      });
      log.info(
        { app_id: move.appId, key, slot },
        slot === null ? 'key moved out of its slot' : 'key moved into a slot',
      );
  }
}

async function advance({ sql, clock }: MoveDeps, move: Move, next: Parameters<typeof advanceMove>[3]): Promise<void> {
  await transaction(sql, async (tx) => {
    // Held by whoever adds, changes or deletes keys.
    await takePropertyNumbers(tx, move.appId, 0);
    await advanceMove(tx, clock, move, next);
    await failpoint('slots.before_commit');
  });
}

const firstDevice = '00000000-0000-0000-0000-000000000000' as Uuid;

/** Walks over all devices of the app. False: somebody held a row that needs it, or the key is no longer on its way. */
async function doStep({ sql, rowsAtOnce }: MoveDeps, move: Move, step: MoveStep): Promise<boolean> {
  const { appId } = move;
  for (let after: Uuid | undefined = firstDevice; after !== undefined; ) {
    // A deleted key's slot is another's soon: nothing more may be written there.
    if (!(await isInPhase(sql, move))) return false;
    const upTo: Uuid | undefined = await findChunkEnd(sql, appId, after, rowsAtOnce);
    await updateChunk(sql, appId, { after, upTo: upTo ?? null }, step, move);
    await failpoint('slots.after_chunk');
    after = upTo;
  }
  return (await isInPhase(sql, move)) && !(await isStepLeft(sql, appId, step, move));
}

async function startMoves({ sql, clock, log }: MoveDeps): Promise<void> {
  const muchUsed = keysAmong(await listFieldsInUse(sql, previewsMin));
  if (muchUsed.length === 0) return;
  const appIds = await listAppsShortOfSlots(sql, muchUsed);
  if (appIds.length === 0) return;
  const used = keysAmong(await listFieldsInUse(sql, 1));
  for (const appId of appIds) {
    const keysOf = (uses: typeof used) => new Set(uses.flatMap((use) => (use.appId === appId ? [use.key] : [])));
    const much = keysOf(muchUsed);
    const some = keysOf(used);
    await transaction(sql, async (tx) => {
      await takePropertyNumbers(tx, appId, 0);
      const candidates = (await listSlotCandidates(tx, appId)).map(
        (one): SlotCandidate => ({ ...one, use: much.has(one.key) ? 'much' : some.has(one.key) ? 'some' : 'none' }),
      );
      for (const { id, slot } of planMoves(candidates, await listRetiredSlots(tx, appId))) {
        await startMove(tx, clock, appId, id, slot);
        log.info({ app_id: appId, property: id, slot }, 'a key sets out for another place');
      }
      await failpoint('slots.before_commit');
    });
  }
}
