// Cancels messages. A scheduled message will not run. A message that is being sent begins no
// further push. Requests on the wire end and are recorded. The process that works a batch skips its
// other open deliveries, including those that wait for a retry. A cancel undoes no outcome.

import { type Fragment, repeatOnDeadlock, type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import { invalid, noSuch } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Actor } from '../../teams/audit/actor.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { batchesTopic, endBatches } from '../delivery/queries.ts';
import { canceledTopic, findSendingState, listSendingMessages, updateCanceled } from './queries.ts';

export interface CancelDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Tells the processes that send the message. */
  readonly teller: Pick<Teller, 'tell'>;
  /** Present for a person or an operator token, whose cancel is written to the audit log. */
  readonly by?: Actor | undefined;
}

/**
 * Cancels a message. Throws the 404, and the 400 `not_cancelable` for a message that is sent or has
 * failed. Canceling a second time changes nothing.
 */
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
    // The message may start or end at this moment. Then this call changes nothing, and its new
    // status is read.
    if (await cancel(deps, appId, id, status, null)) return;
  }
}

/** Cancels every message that a suspended app is sending (contract 3). */
export async function cancelSuspended(deps: CancelDeps, appId: Uuid): Promise<void> {
  for (const id of await listSendingMessages(deps.sql, appId)) {
    await cancel(deps, appId, id, 'sending', 'app_suspended');
  }
}

/**
 * Whether further pushes of a message may begin. A message of a suspended app is canceled by this
 * call (contract 3).
 */
export async function isStillSending(deps: CancelDeps, appId: Uuid, id: Uuid): Promise<boolean> {
  const state = await findSendingState(deps.sql, appId, id);
  if (state?.status !== 'sending') return false;
  if (!state.isSuspended) return true;
  await cancel(deps, appId, id, 'sending', 'app_suspended');
  return false;
}

/**
 * Moves a message to `canceled`. False: it has left the status `from`, and nothing was changed. A
 * message that is sent or has failed has no open batch.
 */
async function cancel(
  { sql, clock, teller, by }: CancelDeps,
  appId: Uuid,
  id: Uuid,
  from: 'scheduled' | 'sending',
  reason: 'app_suspended' | null,
): Promise<boolean> {
  const isMoved = await repeatOnDeadlock(async () => {
    let moved: Fragment | undefined;
    await transaction(sql, async (tx, _rollback, atEnd) => {
      moved = updateCanceled(tx, clock, appId, id, from, reason);
      if (by) {
        const entry = {
          appId,
          action: 'message.cancel',
          target: encodeId('msg', id),
          before: { status: from },
        } as const;
        await recordAudit({ tx, clock, by }, entry);
      }
      // The batches come before the message, as in a flush, so that the two cannot deadlock. Both
      // go together with the COMMIT, because other processes flush into these rows.
      atEnd([...(from === 'sending' ? [endBatches(tx, clock, appId, id)] : []), moved]);
    });
    return ((await moved)?.count ?? 0) > 0;
  });
  if (!isMoved) return false;
  teller.tell(canceledTopic, id);
  teller.tell(batchesTopic);
  return true;
}
