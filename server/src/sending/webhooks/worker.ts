// Empties the outboxes: claims webhooks with due events and room for requests, posts their events
// at once, and records each as it completes. A slow or dead endpoint holds only its own places.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import type { Log } from '../../ground/host/log.ts';
import { startWorkLoop, type WorkLoop } from '../../ground/pacing/work-loop.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { eventBody } from './event-body.ts';
import { type PostDeps, type PostResult, postEvent } from './post-event.ts';
import { type ClaimedEvent, claimEvents, lockNextWebhooks, type StoredWebhook } from './queries.ts';
import { createAttemptRecorder, type RecordDeps } from './record-attempts.ts';
import { RequestPlaces } from './request-places.ts';
import { openSecrets } from './secrets.ts';
import { type StoredSecrets, signingSecrets } from './signature.ts';
import { kindOfNumber } from './webhook.ts';
import { findNextWorkMs, putOff, shortenWebhookWaits } from './work-queries.ts';

export interface WebhookDeps extends RecordDeps, PostDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly seal: Seal;
  readonly isPaused: () => boolean;
  /** The name of a channel that deliveries store as a number. */
  readonly channelOfNumber: (channel: number) => string;
}

/** Several webhooks in one claim, because a commit costs the same for one. */
const webhooksPerClaim = 16;
/** Milliseconds. The lookout wakes this worker for work that is due later. */
const aheadMsMax = 2_000;
/** The wait for a webhook that is due and was not claimed. */
const heldMs = 50;
/** The longest wait before the next look, because a clock may be set meanwhile. */
const lookEveryMs = 1_000;
/**
 * Longer than an attempt and its recording take. Events of a killed process are due again after it.
 */
const leaseMs = 20_000;
/**
 * The time to gather places that become free, because a claim costs the database about the same for
 * one event as for many.
 */
const gatherMs = 5;
/**
 * After a claim of fewer events, the next claim waits for `gatherMs`: the rest can wait that long.
 */
const fewEvents = 32;

interface Claim {
  readonly id: Uuid;
  readonly webhook: StoredWebhook;
  readonly events: readonly ClaimedEvent[];
}

export function startWebhookWorker(deps: WebhookDeps): WorkLoop {
  const recorder = createAttemptRecorder(deps);
  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;
  const places = new RequestPlaces();
  let hadFew = false;

  const deliver = async (claim: Claim, secrets: OpenedSecrets, event: ClaimedEvent): Promise<void> => {
    places.take(claim.webhook.id, performance.now());
    try {
      const result = await attempt(deps, claim.webhook, secrets, event);
      await failpoint('webhook.after_response');
      await recorder.record(claim.webhook, { event, claimId: claim.id, at: deps.clock.date(), result });
    } catch (error) {
      // The event is due again when the lease of its claim ends.
      deps.log.error({ err: error, webhook_id: claim.webhook.id }, 'webhook attempt not recorded');
    } finally {
      places.giveBack(claim.webhook.id);
      // A place has become free, so the worker looks for more work.
      loop.wake();
    }
  };

  // Waits to the millisecond for work that is due soon, such as after a failure or for a first
  // retry. Work that is already due came due after the claim, or another process holds its webhook.
  const waitForNext = async (): Promise<undefined> => {
    const aheadMs = await findNextWorkMs(deps.sql, deps.clock, places.full());
    clearTimeout(timer);
    if (aheadMs !== undefined && aheadMs < aheadMsMax) {
      const waitMs = aheadMs > 0 ? Math.min(Math.ceil(aheadMs), lookEveryMs) : heldMs;
      timer = setTimeout(() => loop.wake(), waitMs).unref();
    }
    return undefined;
  };

  const loop = startWorkLoop({
    name: 'webhooks',
    // The number of requests is the limit, and not the number of turns.
    turnsMax: Number.POSITIVE_INFINITY,
    log: deps.log,
    isPaused: () => isStopping || places.areTaken || deps.isPaused(),
    async claim() {
      if (hadFew) await sleep(gatherMs);
      const claims = await claimNext(deps, places);
      const many = claims.reduce((sum, { events }) => sum + events.length, 0);
      hadFew = many > 0 && many < fewEvents;
      if (claims.length === 0) return waitForNext();
      return async () => {
        await Promise.all(
          claims.map(async (claim) => {
            const secrets = openOnce(deps, claim.webhook);
            await Promise.all(claim.events.map((event) => deliver(claim, secrets, event)));
          }),
        );
      };
    },
    onStop() {
      isStopping = true;
      recorder.stop();
      clearTimeout(timer);
    },
  });
  return loop;
}

/** Ends waits that were written before the database's clock was set back. */
export function shortenWaits({ sql, clock, failurePauseMsMax, retrySeconds }: WebhookDeps): Promise<void> {
  return shortenWebhookWaits(sql, clock, { leaseMs, pauseMsMax: failurePauseMsMax, retrySeconds });
}

async function claimNext({ sql, clock }: WebhookDeps, places: RequestPlaces): Promise<Claim[]> {
  const id = mintUuid(clock.nowMs());
  const read = clock.beginReading();
  return transaction(sql, async (tx, _rollback, atEnd) => {
    const taken = await lockNextWebhooks(tx, clock, { without: places.full(), limit: webhooksPerClaim });
    if (taken[0]) read(taken[0].claimedAt.getTime());
    if (taken.length === 0 || clock.isInDoubt()) return [];
    const webhooks = taken.filter(({ isCallable }) => isCallable);
    const haveCompany = webhooks.length === webhooksPerClaim;
    const free = places.free(
      webhooks.map((webhook) => webhook.id),
      { haveCompany, nowMs: performance.now() },
    );
    // Pipelined: one round trip for all webhooks.
    const claims = await Promise.all(
      webhooks.map(async (webhook, i) => ({
        id,
        webhook,
        events: await claimEvents(tx, clock, webhook, { id, leaseMs, limit: free[i] ?? 0 }),
      })),
    );
    atEnd([putOff(tx, clock, taken)]);
    return claims.filter(({ events }) => events.length > 0);
  });
}

/**
 * The secrets of a claim, or the error by which they could not be opened. With an error every event
 * of the claim is a failed attempt.
 */
type OpenedSecrets = StoredSecrets | { readonly error: unknown };

function openOnce({ seal }: WebhookDeps, webhook: StoredWebhook): OpenedSecrets {
  try {
    return openSecrets(seal, webhook);
  } catch (error) {
    return { error };
  }
}

// Never rejects: an attempt that cannot begin counts as failed.
async function attempt(
  deps: WebhookDeps,
  webhook: StoredWebhook,
  secrets: OpenedSecrets,
  event: ClaimedEvent,
): Promise<PostResult> {
  try {
    if ('error' in secrets) throw secrets.error;
    const kind = kindOfNumber(event.kind);
    const { at, messageId, deviceId, errorCode, details, metadata } = event;
    const channel = deps.channelOfNumber(event.channel);
    return await postEvent(deps, {
      endpoint: webhook.endpoint,
      pool: webhook.id,
      secretsAt: (nowMs) => signingSecrets(secrets, nowMs),
      event: kind,
      body: eventBody({ kind, at, messageId, deviceId, channel, errorCode, details, metadata }),
      headers: {
        'service-id': encodeId('whe', event.id),
        'service-attempt': String(event.attempts + 1),
        ...(event.isReplay && { 'service-replay': '1' }),
      },
    });
  } catch (error) {
    deps.log.error({ err: error, webhook_id: webhook.id }, 'webhook attempt not made');
    return { statusCode: null, error: 'connect_error', durationMs: 0, retryAfterMs: null };
  }
}
