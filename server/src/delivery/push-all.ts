// Pushes to every open delivery of a batch, many at once: what all of them share is made once, each takes a slot, and what each
// comes to goes to the recorder. Writes nothing itself.
import type { Credentials } from '../apps/credentials.ts';
import { channelOfPlatform } from '../channels/channel.ts';
import type { Sql } from '../platform/db.ts';
import { encodeId } from '../platform/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import type { CompiledMessages } from './compiled-messages.ts';
import type { Attempt } from './delivery.ts';
import type { MessageWatch } from './message-watch.ts';
import type { OpenDeliveries } from './open-deliveries.ts';
import { type BatchContext, type PushDeps, type PushResult, pushOne, type Target } from './push-one.ts';
import type { PushSlots } from './push-slots.ts';
import { receiptTokensOf } from './receipt-token.ts';
import type { Recorder } from './record-outcomes.ts';
import { listTargets } from './targets.ts';

export interface PushAllDeps extends PushDeps {
  readonly sql: Sql;
  readonly credentials: Credentials;
  readonly slots: PushSlots;
  readonly compiled: CompiledMessages;
  /** The key that receipt tokens are signed with. */
  readonly receiptKey: Buffer;
  readonly publicUrl: string | null;
}

/** What the parts of one run share. */
export interface BatchWork {
  readonly batch: ClaimedBatch;
  readonly recorder: Recorder;
  readonly watch: MessageWatch;
  readonly isStopping: () => boolean;
}

/**
 * Returns when the batch must be looked at again, or undefined when every delivery is final. Asks before every push whether to
 * stop; then what is on the wire ends, and the rest is left.
 */
export async function pushAll(deps: PushAllDeps, work: BatchWork, open: OpenDeliveries): Promise<number | undefined> {
  const { batch, recorder, watch, isStopping } = work;
  const message = await deps.compiled.get(batch.appId, batch.messageId);
  const targets = await listTargets(deps.sql, batch.appId, open.deviceIds, message.columns);
  const context: BatchContext = {
    batch,
    messageId: encodeId('msg', batch.messageId),
    content: message.content,
    defaultUrl: message.defaultUrl,
    credentials: await deps.credentials.open(batch.appId),
    tokenOf: receiptTokensOf(deps.receiptKey, batch.messageId, batch.id),
    publicUrl: deps.publicUrl,
  };

  let nextAtMs: number | undefined;
  const lookAgainAt = (atMs: number): void => {
    nextAtMs = Math.min(nextAtMs ?? Number.POSITIVE_INFINITY, atMs);
  };
  const settle = async (target: Target, attempts: readonly Attempt[], result: PushResult): Promise<void> => {
    if (result.kind === 'deferred') return lookAgainAt(result.untilMs);
    if (result.kind === 'attempted' && result.attempt.retry_at) lookAgainAt(Date.parse(result.attempt.retry_at));
    await recorder.add(target, channelOfPlatform[target.platform], attempts, result);
  };

  const failures: unknown[] = [];
  const underWay: Promise<void>[] = [];
  const left = [...targets];
  for (let target = left.shift(); target; target = left.shift()) {
    if (isStopping()) {
      lookAgainAt(deps.clock.nowMs());
      break;
    }
    const attempts = open.attemptsOf(target.deviceId);
    if (watch.isCanceled()) {
      await settle(target, attempts, { kind: 'skipped', reason: 'canceled' });
      continue;
    }
    const retryAt = attempts.at(-1)?.retry_at;
    if (retryAt && Date.parse(retryAt) > deps.clock.nowMs()) {
      lookAgainAt(Date.parse(retryAt));
      continue;
    }
    const wait = deps.slots.take();
    if (wait) {
      await wait;
      // Much may have happened while it waited: the loop's questions are asked again, with the slot given back.
      if (isStopping() || watch.isCanceled()) {
        deps.slots.give();
        left.unshift(target);
        continue;
      }
    }
    underWay.push(
      pushOne(deps, context, target, attempts)
        .then((result) => settle(target, attempts, result))
        // A push that fails in our own code ends neither the others nor the process; the batch is claimed again for it.
        .catch((error: unknown) => void failures.push(error))
        .finally(() => deps.slots.give()),
    );
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
  return nextAtMs;
}
