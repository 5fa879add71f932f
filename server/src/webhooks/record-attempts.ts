// Writes what attempts came to: the webhook's health in order of completion, the events that are done or wait, the log. One
// transaction at a time for each webhook, over all processes, with whatever has completed since the last one.
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { PostResult } from './post-event.ts';
import {
  type AttemptRow,
  type ClaimedEvent,
  deleteEvents,
  insertAttempts,
  lockWebhook,
  postponeEvents,
  updateHealth,
} from './queries.ts';
import { retryInMs } from './retry.ts';
import { afterFailure, afterSuccess, kindOfNumber, pauseMs } from './webhook.ts';

export interface RecordDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly retrySeconds: readonly number[];
  readonly failurePauseMsMax: number;
}

export interface Completed {
  readonly event: ClaimedEvent;
  readonly claimId: Uuid;
  readonly at: Date;
  readonly result: PostResult;
}

/** The attempts that are kept of each webhook. */
export const attemptsKept = 50;

export interface AttemptRecorder {
  /** Resolves when the attempt is written. */
  record(webhook: { appId: Uuid; id: Uuid }, completed: Completed): Promise<void>;
}

export function createAttemptRecorder(deps: RecordDeps): AttemptRecorder {
  const waiting = new Map<Uuid, { completed: Completed[]; written: Promise<void> }>();
  const writing = new Map<Uuid, Promise<void>>();
  return {
    record(webhook, completed) {
      const queue = waiting.get(webhook.id);
      if (queue) {
        queue.completed.push(completed);
        return queue.written;
      }
      // Those that complete while this is being written go together into the next.
      const first = { completed: [completed], written: Promise.resolve() };
      const previous = writing.get(webhook.id) ?? Promise.resolve();
      first.written = previous.then(async () => {
        waiting.delete(webhook.id);
        await write(deps, webhook, first.completed);
      });
      waiting.set(webhook.id, first);
      const settled = first.written.catch(() => undefined);
      writing.set(webhook.id, settled);
      void settled.then(() => {
        if (writing.get(webhook.id) === settled) writing.delete(webhook.id);
      });
      return first.written;
    },
  };
}

async function write(
  deps: RecordDeps,
  webhook: { appId: Uuid; id: Uuid },
  completed: readonly Completed[],
): Promise<void> {
  const { sql, clock, log } = deps;
  await transaction(sql, async (tx) => {
    const stored = await lockWebhook(tx, webhook.appId, webhook.id);
    // Deleted meanwhile, with its events.
    if (!stored) return;
    let health: Parameters<typeof afterSuccess>[0] = stored;
    const done: Uuid[] = [];
    const later: { id: Uuid; attempts: number; inMs: number }[] = [];
    for (const { event, result } of completed) {
      health = result.error === null ? afterSuccess(health) : afterFailure(health);
      const attempts = event.attempts + 1;
      const inMs =
        result.error === null ? undefined : retryInMs(deps.retrySeconds, attempts, result.retryAfterMs, deps.random());
      if (inMs === undefined) done.push(event.id);
      else later.push({ id: event.id, attempts, inMs });
    }
    const claimIds = [...new Set(completed.map(({ claimId }) => claimId))];
    if (done.length > 0) await deleteEvents(tx, webhook, claimIds, done);
    if (later.length > 0) await postponeEvents(tx, clock, webhook, claimIds, later);
    await insertAttempts(tx, webhook, completed.slice(-attemptsKept).map(toRow), attemptsKept);
    await updateHealth(tx, clock, webhook.appId, webhook.id, health, pauseMs(health.failures, deps.failurePauseMsMax));
    await failpoint('webhook.before_ack_commit');
    if (health.state === 'disabled' && stored.state === 'enabled') {
      log.warn(
        { app_id: webhook.appId, webhook_id: webhook.id },
        'webhook disabled: its endpoint failed 15 times in a row',
      );
    }
  });
  for (const one of completed) logAttempt(log, webhook, one, deps.retrySeconds.length);
}

// Ids sort by the millisecond of completion.
function toRow({ event, at, result }: Completed): AttemptRow {
  return {
    id: mintUuid(at.getTime()),
    at,
    kind: event.kind,
    eventId: event.id,
    messageId: event.messageId,
    deviceId: event.deviceId,
    attempt: event.attempts + 1,
    statusCode: result.statusCode,
    error: result.error,
    durationMs: result.durationMs,
  };
}

// One line an attempt, with every id on it; one that was given up says so.
function logAttempt(
  log: Log,
  webhook: { appId: Uuid; id: Uuid },
  { event, result }: Completed,
  retriesMax: number,
): void {
  const attempt = event.attempts + 1;
  const isGivenUp = result.error !== null && attempt > retriesMax;
  log[isGivenUp ? 'warn' : 'info'](
    {
      app_id: webhook.appId,
      webhook_id: webhook.id,
      event_id: encodeId('whe', event.id),
      event: kindOfNumber(event.kind),
      message_id: event.messageId,
      device_id: event.deviceId,
      attempt,
      status_code: result.statusCode,
      error: result.error,
      ms: result.durationMs,
    },
    isGivenUp ? 'webhook event given up' : 'webhook attempt',
  );
}
