// Slots follow use, one way. A key that filters use and that has no slot is moved into a free one,
// and stays there while it exists (design 3). Its values stand in both places until the catalog row
// is switched and no process is left that read the catalog before. A filter therefore selects the
// same devices at every moment, during upserts and after a crash.
//
//   overflow ──filling──▶ both are written ──switched──▶ the slot is read, both are written ──▶ slot
//
// Values that stay behind in the overflow are never read again. They go when their row is next
// written. An interrupted phase is repeated, and only the catalog row says how far the move is.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { runAlone } from '../../ground/database/run-alone.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import {
  advanceMove,
  endMove,
  isInPhase,
  listKeysWithoutSlot,
  listMoves,
  type Move,
  startMove,
} from '../properties/move-queries.ts';
import { listTakenSlots, takePropertyNumbers } from '../properties/queries.ts';
import { assignSlots } from '../properties/slots.ts';
import { keysAmong, previewsMin } from './column-uses.ts';
import { listFieldsInUse } from './index-queries.ts';
import { fillChunk, findChunkEnd, isUnfilled } from './move-queries.ts';

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
  const { appId, key, slot, moveSlot, movePhase } = move;
  if (slot !== null) {
    await changeCatalog(deps, move, (tx) => endMove(tx, move));
    deps.log.info({ app_id: appId, key, slot }, 'key moved into a slot');
    return;
  }
  if (movePhase === 'clearing') {
    // The version before moved the key out of its slot, which nobody writes any more. It moves back.
    await changeCatalog(deps, move, (tx) => advanceMove(tx, deps.clock, move, { movePhase: 'filling', slot }));
  } else if (await fill(deps, move)) {
    const next = { movePhase: 'switched', slot: moveSlot } as const;
    await changeCatalog(deps, move, (tx) => advanceMove(tx, deps.clock, move, next));
  }
}

async function changeCatalog({ sql }: MoveDeps, move: Move, change: (tx: Tx) => Promise<void>): Promise<void> {
  await transaction(sql, async (tx) => {
    // Holds the lock on the catalog, which every transaction that adds, changes or deletes keys
    // takes.
    await takePropertyNumbers(tx, move.appId, 0);
    await change(tx);
    await failpoint('slots.before_commit');
  });
}

const firstDevice = '00000000-0000-0000-0000-000000000000' as Uuid;

/**
 * Copies the key's values into the slot, on all devices of the app. Returns false when another
 * transaction locked a row that needs it, or when the key no longer moves.
 */
async function fill({ sql, rowsAtOnce }: MoveDeps, move: Move): Promise<boolean> {
  const { appId } = move;
  for (let after: Uuid | undefined = firstDevice; after !== undefined; ) {
    // The slot of a deleted key is soon given to another key, so nothing more may be written there.
    if (!(await isInPhase(sql, move))) return false;
    const upTo: Uuid | undefined = await findChunkEnd(sql, appId, after, rowsAtOnce);
    await fillChunk(sql, appId, { after, upTo: upTo ?? null }, move);
    await failpoint('slots.after_chunk');
    after = upTo;
  }
  return (await isInPhase(sql, move)) && !(await isUnfilled(sql, appId, move));
}

async function startMoves({ sql, clock, log }: MoveDeps): Promise<void> {
  const used = keysAmong(await listFieldsInUse(sql, previewsMin));
  const wanting = used.length === 0 ? [] : await listKeysWithoutSlot(sql, used);
  for (const appId of new Set(wanting.map((one) => one.appId))) {
    const keys = wanting.filter((one) => one.appId === appId);
    await transaction(sql, async (tx) => {
      await takePropertyNumbers(tx, appId, 0);
      const slots = assignSlots(
        await listTakenSlots(tx, appId),
        keys.map(({ type }) => type),
      );
      for (const [i, { id, key }] of keys.entries()) {
        const slot = slots[i] ?? null;
        if (slot === null) continue;
        await startMove(tx, clock, appId, id, slot);
        log.info({ app_id: appId, key, slot }, 'a key sets out for a slot');
      }
      await failpoint('slots.before_commit');
    });
  }
}
