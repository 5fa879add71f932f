// Writes what attempts came to: the webhook's health in order of completion, the events that are done or wait, the log. One
// transaction at a time for each webhook, over all processes, with whatever has completed since the last one.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../platform/clock.ts';
import { isDatabaseDown, type Sql, transaction } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { PostResult } from './post-event.ts';
import {
  type AttemptRow,
  type ClaimedEvent,
  deleteEvents,
  deleteOldAttempts,
  insertAttempts,
  listHeld,
  lockWebhook,
  postponeEvents,
  updateHealth,
} from './queries.ts';
import { retryInMs } from './retry.ts';
import { afterFailure, afterSuccess, type Health, kindOfNumber, pauseMs } from './webhook.ts';
import { bringForward } from './work-queries.ts';

export interface RecordDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly retrySeconds: readonly number[];
  readonly failurePauseMsMax: number;
  /** Told of every attempt once it is written. */
  readonly noteAttempt: (webhookId: Uuid, result: PostResult) => void;
}

export interface Completed {
  readonly event: ClaimedEvent;
  readonly claimId: Uuid;
  readonly at: Date;
  readonly result: PostResult;
}

/** The attempts that are kept of each webhook. */
export const attemptsKept = 50;

interface Webhook {
  readonly appId: Uuid;
  readonly id: Uuid;
}

export interface AttemptRecorder {
  /** Resolves when the attempt is written. */
  record(webhook: Webhook, completed: Completed): Promise<void>;
}

export function createAttemptRecorder(deps: RecordDeps): AttemptRecorder {
  const waiting = new Map<Uuid, { completed: Completed[]; written: Promise<void> }>();
  const writing = new Map<Uuid, Promise<void>>();
  const order = createCompletionOrder();
  return {
    record(webhook, completed) {
      const queue = waiting.get(webhook.id);
      if (queue) {
        queue.completed.push(completed);
        return queue.written;
      }
      const first = { completed: [completed], written: Promise.resolve() };
      const previous = writing.get(webhook.id) ?? Promise.resolve();
      // Taken once the row is held: what completes while this waits for a connection and for the row is written with it.
      const take = (): readonly Completed[] => {
        if (waiting.get(webhook.id) === first) waiting.delete(webhook.id);
        return first.completed;
      };
      first.written = previous.then(() => writeInTime(deps, webhook, take, order)).finally(take);
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

/** A database that is away for a moment costs no attempt its place in the count. Shorter than what is left of the lease. */
const writeWithinMs = 10_000;
const writeAgainMs = 200;

async function writeInTime(
  deps: RecordDeps,
  webhook: Webhook,
  take: () => readonly Completed[],
  order: CompletionOrder,
): Promise<void> {
  const deadline = performance.now() + writeWithinMs;
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      return await write(deps, webhook, take, order, isRepeated);
    } catch (error) {
      if (!isDatabaseDown(error) || performance.now() > deadline) throw error;
      await pause(writeAgainMs);
    }
  }
}

/** `isRepeated`: it may have been committed without a word, and what is no longer held has been counted. */
async function write(
  deps: RecordDeps,
  webhook: Webhook,
  take: () => readonly Completed[],
  order: CompletionOrder,
  isRepeated: boolean,
): Promise<void> {
  const { sql, clock, log } = deps;
  const counted = await transaction(sql, async (tx) => {
    const stored = await lockWebhook(tx, webhook.appId, webhook.id);
    const completed = take();
    // Deleted meanwhile, with its events.
    if (!stored) return [];
    const claimIds = [...new Set(completed.map(({ claimId }) => claimId))];
    const ids = completed.map(({ event }) => event.id);
    const held = isRepeated ? new Set((await listHeld(tx, webhook, claimIds, ids)).map(({ id }) => id)) : undefined;
    const attempts = held ? completed.filter(({ event }) => held.has(event.id)) : completed;
    if (attempts.length === 0) return [];
    const tried = attempts.filter(({ result }) => !result.isUntried);
    const { health, done, later } = judge(deps, stored, attempts);
    const restMs = pauseMs(health.failures, deps.failurePauseMsMax);
    // Pipelined: the row is held for one way to the database and back.
    await Promise.all([
      done.length > 0 && deleteEvents(tx, webhook, claimIds, done),
      later.length > 0 && postponeEvents(tx, clock, webhook, claimIds, later),
      ...(tried.length > 0
        ? [
            insertAttempts(tx, webhook, toRows(webhook, tried.slice(-attemptsKept), order)),
            deleteOldAttempts(tx, webhook, attemptsKept),
            updateHealth(tx, clock, webhook.appId, webhook.id, health, restMs),
          ]
        : []),
      // There is room now. When there is something for it, the next claim finds out.
      bringForward(tx, clock, [webhook], restMs),
    ]);
    await failpoint('webhook.before_ack_commit');
    if (health.state === 'disabled' && stored.state === 'enabled') {
      log.warn(
        { app_id: webhook.appId, webhook_id: webhook.id },
        'webhook disabled: its endpoint failed 15 times in a row',
      );
    }
    return tried;
  });
  for (const one of counted) {
    deps.noteAttempt(webhook.id, one.result);
    logAttempt(log, webhook, one, deps.retrySeconds.length);
  }
}

/** An event whose attempt could not be begun is neither counted nor logged; it is only later. */
const untriedAgainMs = 5_000;

interface Verdict {
  readonly health: Health;
  /** Acknowledged or given up. */
  readonly done: readonly Uuid[];
  readonly later: readonly { readonly id: Uuid; readonly attempts: number; readonly inMs: number }[];
}

/** What attempts, in order of completion, make of a webhook and of their events. */
function judge({ retrySeconds, random }: RecordDeps, before: Health, attempts: readonly Completed[]): Verdict {
  let health = before;
  const done: Uuid[] = [];
  const later: { id: Uuid; attempts: number; inMs: number }[] = [];
  for (const { event, result } of attempts) {
    if (result.isUntried) {
      later.push({ id: event.id, attempts: event.attempts, inMs: untriedAgainMs });
      continue;
    }
    health = result.error === null ? afterSuccess(health) : afterFailure(health);
    const made = event.attempts + 1;
    const inMs = result.error === null ? undefined : retryInMs(retrySeconds, made, result.retryAfterMs, random());
    if (inMs === undefined) done.push(event.id);
    else later.push({ id: event.id, attempts: made, inMs });
  }
  return { health, done, later };
}

/** In which millisecond the last attempt of a webhook counts as completed. */
interface CompletionOrder {
  /** The milliseconds at which attempts count as completed that were in this order, behind all that were asked about before. */
  behindLast(webhookId: Uuid, atMs: readonly number[]): readonly number[];
}

/** So many webhooks are remembered, and more only while they were told something in this very moment. */
const orderedMax = 1_000;

function createCompletionOrder(): CompletionOrder {
  const lastMs = new Map<Uuid, number>();
  return {
    behindLast(webhookId, atMs) {
      const leastMs = (lastMs.get(webhookId) ?? 0) + 1;
      const counted = atMs.map((ms) => Math.max(ms, leastMs));
      const newestMs = Math.max(...counted);
      if (lastMs.size >= orderedMax) {
        for (const [id, ms] of lastMs) if (ms < newestMs) lastMs.delete(id);
      }
      lastMs.set(webhookId, newestMs);
      return counted;
    },
  };
}

// Ids sort by the millisecond of completion, and within one as they are given out here: in order of completion. What was written
// before, and be it in the same millisecond, comes first.
function toRows({ id: webhookId }: Webhook, completed: readonly Completed[], order: CompletionOrder): AttemptRow[] {
  const atMs = order.behindLast(
    webhookId,
    completed.map(({ at }) => at.getTime()),
  );
  const ids = atMs.map((ms) => mintUuid(ms)).sort();
  return ids.flatMap((id, i) => {
    const one = completed[i];
    return one ? [toRow(id, one)] : [];
  });
}

function toRow(id: Uuid, { event, at, result }: Completed): AttemptRow {
  return {
    id,
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
function logAttempt(log: Log, webhook: Webhook, { event, result }: Completed, retriesMax: number): void {
  const attempt = event.attempts + 1;
  const isGivenUp = result.error !== null && attempt > retriesMax;
  log[isGivenUp ? 'warn' : 'info'](
    {
      app_id: webhook.appId,
      webhook_id: webhook.id,
      event_id: event.id,
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
