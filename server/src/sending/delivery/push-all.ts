// Pushes to every open delivery of a batch. What the pushes share is made once, the channels run
// side by side, and the recorder gets each result. Writes no outcome itself.

import type { Sql } from '@carillon/postgres';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Credentials } from '../../teams/apps/credentials.ts';
import { channelOfPlatform, type Platform } from '../channels/channel.ts';
import { type ClaimedBatch, unknownPushesOf } from './batch.ts';
import type { CompiledMessages } from './compiled-messages.ts';
import type { Lease } from './leases.ts';
import type { MessageWatch } from './message-watch.ts';
import type { OpenDeliveries } from './open-deliveries.ts';
import type { Paces } from './pace.ts';
import { type BatchContext, routesOf, type Target } from './plan-push.ts';
import { pushQueue, type Queue, type QueueDeps } from './push-queue.ts';
import { markPushed } from './queries.ts';
import type { ReceiptKeys } from './receipt-keys.ts';
import { receiptTokensOf } from './receipt-token.ts';
import type { Recorder } from './record-outcomes.ts';
import type { Senders } from './senders.ts';
import { listTargets } from './targets.ts';

export interface PushAllDeps extends QueueDeps {
  readonly sql: Sql;
  readonly senders: Senders;
  readonly credentials: Credentials;
  readonly compiled: CompiledMessages;
  readonly paces: Paces;
  /** The key that signs receipt tokens. */
  readonly receiptKeys: Pick<ReceiptKeys, 'signing'>;
  readonly publicUrl: string | null;
}

/** How long a batch of a message with a rate keeps its turn. Other messages wait for one. */
const turnMs = 5000;

/** The objects that the parts of one run share. */
export interface BatchWork {
  readonly batch: ClaimedBatch;
  readonly recorder: Recorder;
  readonly watch: MessageWatch;
  readonly lease: Lease;
  /** Once true, no push is sent any more, not even one that waits for a connection. */
  readonly isStopping: () => boolean;
}

/**
 * Resolves with the time at which the batch is due again; undefined when every delivery is final.
 * Calls `onPushing` before the first push, after everything was read from the database.
 */
export async function pushAll(
  deps: PushAllDeps,
  work: BatchWork,
  open: OpenDeliveries,
  onPushing: () => void,
): Promise<number | undefined> {
  const { batch, recorder, watch, lease, isStopping } = work;
  const { appId, messageId, perSecond } = batch;
  const message = await deps.compiled.get(appId, messageId);
  const { columns, content } = message;
  const targets = await listTargets(deps.sql, appId, open.deviceIds, columns, content.attributes);
  let nextAtMs: number | undefined;
  const lookAgainAt = (atMs: number): void => {
    nextAtMs = Math.min(nextAtMs ?? Number.POSITIVE_INFINITY, atMs);
  };
  const context: BatchContext = {
    batch,
    messageId: encodeId('msg', messageId),
    content,
    defaultUrl: message.defaultUrl,
    routes: routesOf(deps.senders, batch, content, await deps.credentials.open(appId)),
    tokenOf: tokensOfDevices(deps.receiptKeys.signing, batch),
    publicUrl: deps.publicUrl,
    isWanted: () => lease.mayPush() && !isStopping() && !watch.isCanceled(),
  };
  const queue: Queue = {
    context,
    watch,
    isStopping,
    onOver: (hear) => lease.onOver(hear),
    attemptsOf: open.attemptsOf,
    pace: perSecond === null ? null : deps.paces.ofMessage({ appId, messageId, perSecond }),
    turnEndsAtMs: deps.clock.steadyMs() + turnMs,
    lookAgainAt,
    untilSafe: () => recorder.behind() ?? lease.untilMayPush(),
    settle(target, attempts, result) {
      if (result.kind === 'deferred') {
        lookAgainAt(result.untilMs);
        return undefined;
      }
      if (result.kind === 'attempted' && result.retryAtMs !== null) lookAgainAt(result.retryAtMs);
      return recorder.add(target, channelOfPlatform[target.platform], attempts, result);
    },
  };
  if (unknownPushesOf(batch) > 0) await markPushed(deps.sql, batch);
  onPushing();
  // Channels run side by side, so that a provider with a slow start does not delay the other
  // channels.
  const ended = await Promise.allSettled(byPlatform(targets).map((some) => pushQueue(deps, queue, some)));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return nextAtMs;
}

/** A token names the device's place in the whole batch, whichever devices are still open. */
function tokensOfDevices(key: Buffer, { id, deviceIds }: ClaimedBatch): (deviceId: Uuid) => string {
  const places = new Map(deviceIds.map((deviceId, place) => [deviceId, place]));
  const tokenAt = receiptTokensOf(key, id);
  return (deviceId) => tokenAt(places.get(deviceId) ?? -1);
}

function byPlatform(targets: readonly Target[]): Target[][] {
  const parts = new Map<Platform, Target[]>();
  for (const target of targets) {
    const part = parts.get(target.platform);
    if (part) part.push(target);
    else parts.set(target.platform, [target]);
  }
  return [...parts.values()];
}
