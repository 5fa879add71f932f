// Empties the outbox: takes the next webhook that has something due and room for requests, posts its events at once, and lets
// each be recorded as it completes. A slow or dead endpoint holds its own places and nobody else's.
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { OutboundHttp } from '../platform/outbound-http.ts';
import type { Seal } from '../platform/seal.ts';
import { startWorkLoop, type WorkLoop } from '../platform/work-loop.ts';
import { eventBody } from './event-body.ts';
import { type PostResult, postEvent } from './post-event.ts';
import { type ClaimedEvent, claimEvents, lockNextWebhook, type StoredWebhook } from './queries.ts';
import { createAttemptRecorder, type RecordDeps } from './record-attempts.ts';
import { openSecrets } from './secrets.ts';
import { signingSecrets } from './signature.ts';
import { kindOfNumber } from './webhook.ts';

export interface WebhookDeps extends RecordDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly http: OutboundHttp;
  readonly seal: Seal;
  readonly isPaused: () => boolean;
  /** As deliveries number them. */
  readonly channelOfNumber: (channel: number) => string;
}

/** Webhooks served at once by a process. Each waits at most for its own endpoint. */
const turnsMax = 256;
const pollMs = 250;
/** Longer than an attempt can take and be recorded; what a killed process held is due again after it. */
const leaseMs = 20_000;

const firstId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startWebhookWorker(deps: WebhookDeps): WorkLoop {
  const recorder = createAttemptRecorder(deps);
  let lastId = firstId;
  let isStopping = false;

  const deliver = async (webhook: StoredWebhook, claimId: Uuid, event: ClaimedEvent): Promise<void> => {
    const result = await attempt(deps, webhook, event);
    await failpoint('webhook.after_response');
    await recorder.record(webhook, { event, claimId, at: deps.clock.date(), result });
    // Its place is free: there may be more for it.
    loop.wake();
    if (result.error !== null) setTimeout(() => loop.wake(), 110).unref();
  };

  const loop = startWorkLoop({
    name: 'webhooks',
    turnsMax,
    pollMs,
    log: deps.log,
    isPaused: () => isStopping || deps.isPaused(),
    async claim() {
      const claimed = await claimNext(deps, lastId);
      if (!claimed) return undefined;
      const { webhook, claimId, events } = claimed;
      lastId = webhook.id;
      return async () => {
        await Promise.all(events.map((event) => deliver(webhook, claimId, event)));
      };
    },
  });
  return {
    wake: loop.wake,
    idle: loop.idle,
    get lastLookedAt() {
      return loop.lastLookedAt;
    },
    stop() {
      isStopping = true;
      return loop.stop();
    },
  };
}

async function claimNext(
  { sql, clock }: WebhookDeps,
  afterId: Uuid,
): Promise<{ webhook: StoredWebhook; claimId: Uuid; events: ClaimedEvent[] } | undefined> {
  const claimId = mintUuid(clock.nowMs());
  return transaction(sql, async (tx) => {
    const webhook = await lockNextWebhook(tx, clock, afterId);
    if (!webhook) return undefined;
    const events = await claimEvents(tx, clock, webhook, { id: claimId, leaseMs, limit: webhook.room });
    return { webhook, claimId, events };
  });
}

// Never rejects: what cannot even be begun is a failed attempt.
async function attempt(deps: WebhookDeps, webhook: StoredWebhook, event: ClaimedEvent): Promise<PostResult> {
  try {
    const kind = kindOfNumber(event.kind);
    const secrets = signingSecrets(openSecrets(deps.seal, webhook), deps.clock.nowMs());
    const { at, messageId, deviceId, errorCode, details, metadata } = event;
    const channel = deps.channelOfNumber(event.channel);
    return await postEvent(deps, {
      endpoint: webhook.endpoint,
      pool: webhook.id,
      secrets,
      event: kind,
      body: eventBody({ kind, at, messageId, deviceId, channel, errorCode, details, metadata }),
      headers: { 'service-id': encodeId('whe', event.id), 'service-attempt': String(event.attempts + 1) },
    });
  } catch (error) {
    deps.log.error({ err: error, webhook_id: webhook.id }, 'webhook attempt not made');
    return { statusCode: null, error: 'connect_error', durationMs: 0, retryAfterMs: null };
  }
}
