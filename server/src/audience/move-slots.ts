// Slots follow use. A key that filters use and that has no slot is moved into one; when no slot is
// free, a key that nothing uses gives up its own (design 3). The values stand in both places until
// the catalog row is switched and no process is left that read the catalog before. A filter
// therefore selects the same devices at every moment, during upserts and after a crash.
//
//   promotion:  overflow ──filling──▶ both ──switched──▶ slot is read, both ──clearing──▶ slot
//   demotion:   slot ──filling──▶ both ──switched──▶ overflow is read, both ──clearing──▶ overflow
//
// An interrupted phase is repeated. Each step may be repeated, and only the catalog row says how
// far the move is.
import type { Clock } from '../database/clock.ts';
import { type Sql, transaction } from '../database/db.ts';
import { runAlone } from '../database/run-alone.ts';
import { failpoint } from '../ground/failpoint.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Log } from '../ground/log.ts';
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

/**
 * Seconds. Longer than any process keeps data of the catalog outside a transaction, such as a
 * compiled message or a waiting preview.
 */
const quietSeconds = 60;
/** Rows that one statement locks, for some milliseconds. */
const rowsAtOnceMost = 1_000;

/**
 * Advances each move that may go on by one phase, and starts the moves that are due. Any number of
 * processes may call it, once a minute. Returns false when another process is already doing so.
 */
export async function moveSlots(
  { sql, clock, log }: Pick<MoveDeps, 'sql' | 'clock' | 'log'>,
  rowsAtOnce = rowsAtOnceMost,
): Promise<boolean> {
  const deps: MoveDeps = { sql, clock, log, rowsAtOnce };
  return runAlone(sql, 'slots', async () => {
    for (const move of await listMoves(sql, clock, quietSeconds)) {
      if (!move.isQuiet) continue;
      // A failed move does not stop the others and is tried again at the next run.
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
    // Holds the lock on the catalog, which every transaction that adds, changes or deletes keys
    // takes.
    await takePropertyNumbers(tx, move.appId, 0);
    await advanceMove(tx, clock, move, next);
    await failpoint('slots.before_commit');
  });
}

const firstDevice = '00000000-0000-0000-0000-000000000000' as Uuid;

/**
 * Applies the step to all devices of the app. Returns false when another transaction locked a row
 * that needs the step, or when the key no longer moves.
 */
async function doStep({ sql, rowsAtOnce }: MoveDeps, move: Move, step: MoveStep): Promise<boolean> {
  const { appId } = move;
  for (let after: Uuid | undefined = firstDevice; after !== undefined; ) {
    // The slot of a deleted key is soon given to another key, so nothing more may be written there.
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
