// Puts past events into the outbox of one webhook again, with one transaction per batch of
// deliveries. The same transaction stores the progress. So a replay that is interrupted anywhere
// continues there, and queues nothing twice.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { type Happening, outboxEventOf } from './emit.ts';
import { findWebhook, insertEvents } from './queries.ts';
import { deleteOldReplays, deleteReplay, insertReplay, moveReplay } from './replay-queries.ts';
import { type EventKind, eventKinds, kindNumber } from './webhook.ts';
import { bringForward } from './work-queries.ts';

/**
 * The longest time for which events are held. A replay that was interrupted earlier starts from the
 * beginning.
 */
const rememberedMs = 72 * 3_600_000;

/**
 * The reason why no more is queued: the webhook is disabled or gone, or another process continues
 * the same replay.
 */
export type ReplayStop = 'refused' | 'elsewhere';

export interface Replay {
  /** The last batch whose events are in the outbox already; null at the start of a replay. */
  readonly afterBatchId: Uuid | null;
  /** The number of events that earlier runs queued. */
  readonly queuedBefore: number;
  /**
   * Queues the events of the next batch, marked as replays: all of them or none. Batches come in
   * the order of their ids.
   */
  queue(batchId: Uuid, happenings: readonly Happening[]): Promise<ReplayStop | undefined>;
  /** Ends the replay. A later request for the same events gets all of them again. */
  end(): Promise<ReplayStop | undefined>;
}

/**
 * Begins a replay or continues an interrupted one. The caller chooses kinds to which the webhook is
 * subscribed. Undefined: the webhook is gone.
 */
export async function beginReplay(
  deps: Audited & { readonly sql: Sql; readonly clock: Clock },
  webhook: { readonly appId: Uuid; readonly id: Uuid },
  { from, to, kinds }: { readonly from: Date; readonly to: Date; readonly kinds: ReadonlySet<EventKind> },
): Promise<Replay | undefined> {
  const { sql, clock } = deps;
  const numbers = eventKinds.filter((kind) => kinds.has(kind)).map(kindNumber);
  const replayed = { appId: webhook.appId, webhookId: webhook.id, from, to, kinds: numbers };
  await deleteOldReplays(sql, clock, replayed, rememberedMs);
  const begun = await transaction(sql, async (tx) => {
    const place = await insertReplay(tx, clock, replayed);
    if (!place) return undefined;
    const { appId, id } = webhook;
    const after = { from, to, events: eventKinds.filter((kind) => kinds.has(kind)) };
    await recordAudit({ ...deps, tx }, { appId, action: 'webhook.replay', target: encodeId('whk', id), after });
    return place;
  });
  if (!begun) return undefined;
  let at = begun.batchId;
  const whyNotMoved = async (): Promise<ReplayStop> => {
    return (await findWebhook(sql, webhook.id)) === undefined ? 'refused' : 'elsewhere';
  };
  return {
    afterBatchId: begun.batchId,
    queuedBefore: begun.queued,
    async queue(batchId, happenings) {
      const nowMs = clock.nowMs();
      const events = happenings.map((happening) => outboxEventOf(happening, webhook.id, mintUuid(nowMs)));
      const end = await transaction<'queued' | 'refused' | 'not moved'>(sql, async (tx, rollback) => {
        if ((await insertEvents(tx, clock, webhook.appId, events, true)) < events.length) return rollback('refused');
        const isMoved = await moveReplay(tx, clock, replayed, at, { batchId, more: events.length });
        if (!isMoved) return rollback('not moved');
        await failpoint('replay.before_commit');
        return 'queued';
      });
      if (end === 'refused') return end;
      if (end === 'not moved') return whyNotMoved();
      // Called after the commit, because a claim under way could otherwise miss these events.
      await bringForward(sql, clock, [webhook]);
      at = batchId;
      await failpoint('replay.after_commit');
      return undefined;
    },
    async end() {
      return (await deleteReplay(sql, replayed, at)) ? undefined : whyNotMoved();
    },
  };
}
