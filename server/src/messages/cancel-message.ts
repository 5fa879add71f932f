// Cancels messages: one that is scheduled will not run; of one that is being sent nothing more is begun. What is on the wire ends
// and is recorded; whatever else is open, retries included, is skipped by whoever works its batch. Never undoes an outcome.
import { batchesTopic, endBatches } from '../delivery/queries.ts';
import { invalid, noSuch } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type Fragment, repeatOnDeadlock, type Sql, transaction } from '../platform/db.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import type { Teller } from '../platform/teller.ts';
import { canceledTopic, findSendingState, listSendingMessages, updateCanceled } from './queries.ts';

export interface CancelDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Those who send it hear of it at once. */
  readonly teller: Pick<Teller, 'tell'>;
}

/** Throws the 404, and the 400 `not_cancelable` for a message that has ended otherwise. Canceling twice is as good as once. */
export async function cancelMessage(deps: CancelDeps, appId: Uuid, id: Uuid): Promise<void> {
  for (;;) {
    const state = await findSendingState(deps.sql, appId, id);
    if (!state) throw noSuch('message', encodeId('msg', id));
    const { status } = state;
    if (status === 'canceled') return;
    if (status === 'sent' || status === 'failed') {
      const message = `A message that is ${status} cannot be canceled.`;
      throw invalid([{ path: ['id'], code: 'not_cancelable', message }]);
    }
    // It may start, or end, in this very moment: then the move fails, and its new status is looked at.
    if (await cancel(deps, appId, id, status, null)) return;
  }
}

/** Cancels what an app that was suspended is sending (contract 3). */
export async function cancelSuspended(deps: CancelDeps, appId: Uuid): Promise<void> {
  for (const id of await listSendingMessages(deps.sql, appId)) {
    await cancel(deps, appId, id, 'sending', 'app_suspended');
  }
}

/** May more of a message be begun? One whose app is suspended is canceled here and now, however it came to be sent. */
export async function isStillSending(deps: CancelDeps, appId: Uuid, id: Uuid): Promise<boolean> {
  const state = await findSendingState(deps.sql, appId, id);
  if (state?.status !== 'sending') return false;
  if (!state.isSuspended) return true;
  await cancel(deps, appId, id, 'sending', 'app_suspended');
  return false;
}

/** False: it has left that status meanwhile, and nothing was changed: what was sent or has failed has no batch that is open. */
async function cancel(
  { sql, clock, teller }: CancelDeps,
  appId: Uuid,
  id: Uuid,
  from: 'scheduled' | 'sending',
  reason: 'app_suspended' | null,
): Promise<boolean> {
  const isMoved = await repeatOnDeadlock(async () => {
    let moved: Fragment | undefined;
    await transaction(sql, async (tx, _rollback, atEnd) => {
      moved = updateCanceled(tx, clock, appId, id, from, reason);
      // The batches before the message, as a flush has it, so that the two do not wait for each other in a circle; and all with the
      // commit, for others flush into these rows.
      atEnd([...(from === 'sending' ? [endBatches(tx, clock, appId, id)] : []), moved]);
    });
    return ((await moved)?.count ?? 0) > 0;
  });
  if (!isMoved) return false;
  teller.tell(canceledTopic, id);
  teller.tell(batchesTopic);
  return true;
}
