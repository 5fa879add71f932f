// Counts the work of a process, under the names that docs/metrics.md lists. For the API it also
// reads figures from the database. No label has unbounded values, except the webhook's id, and no
// label contains a secret, an address or a person.

import type { Sql } from '@carillon/postgres';
import type { Clock, ClockStep } from '../../ground/database/clock.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { type HealedReason, healedReasons } from '../../people/devices/device.ts';
import { countUnreachedUpTo } from '../../people/devices/reach-queries.ts';
import type { OutcomeCounts } from '../../sending/delivery/message-ledger.ts';
import type { AcceptMessage } from '../../sending/messages/accept-message.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { countScheduled, estimateDevices, listConnections, listOutboxStates, readQueueState } from './queries.ts';
import { createMetrics, type FamilySnapshot } from './registry.ts';

export interface ServiceMetrics {
  /** A request was answered. `route`: its pattern; empty where no route fits. */
  noteRequest(request: { method: string; route: string; status: number; seconds: number }): void;
  /** An attempt at a webhook has ended. */
  noteAttempt(webhookId: Uuid, result: { error: string | null; durationMs: number }): void;
  /** Outcomes were committed `ms` milliseconds after the flush was due. */
  noteFlush(ms: number): void;
  /** These outcomes were committed. `hasEnded`: the last outcome of a message was among them. */
  noteOutcomes(counts: OutcomeCounts, hasEnded: boolean): void;
  /** A client key asked to refresh a device and could not prove that it may. */
  noteUnprovenRefresh(): void;
  /** A client renewed its subscription on its own and registered it. */
  noteHealed(reason: HealedReason): void;
  /** A clock stepped: the host's, the database's, or both together. */
  noteClockStep(step: ClockStep): void;
  /** A client key was refused a new device, because its address had reached the limit. */
  noteNewDeviceRefused(): void;
  /** Returns the same operation with a count of what it accepts. */
  countAccepted(accept: AcceptMessage): AcceptMessage;
  snapshot(): FamilySnapshot[];
}

const requestBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25];
const flushBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 20];
const attemptBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** A process keeps series of this many webhooks: those that it called last. */
const webhookSeriesMax = 1_000;
/** The number of results; a webhook has one series for each. */
const resultsMost = 9;

/** `name` tells this process from the others: `api`, `worker-1`. */
export function createServiceMetrics(name: string): ServiceMetrics {
  const metrics = createMetrics();
  const requests = metrics.counter({
    name: 'carillon_http_requests_total',
    help: 'Requests that were answered.',
    labels: ['method', 'route', 'status'],
  });
  const requestSeconds = metrics.histogram({
    name: 'carillon_http_request_duration_seconds',
    help: 'Seconds from the headers of a request to the end of its answer. A send includes the wait for its outcomes.',
    labels: ['method', 'route'],
    bounds: requestBounds,
  });
  const accepted = metrics.counter({
    name: 'carillon_messages_accepted_total',
    help: 'Messages that were accepted, including scheduled messages, without repeated requests.',
  });
  const finished = metrics.counter({
    name: 'carillon_messages_finished_total',
    help: 'Messages whose last delivery became final.',
  });
  const deliveries = metrics.counter({
    name: 'carillon_deliveries_total',
    help: 'Deliveries that became final.',
    labels: ['channel', 'outcome'],
  });
  const codes = metrics.counter({
    name: 'carillon_delivery_errors_total',
    help: 'Deliveries that failed or were skipped, by error code.',
    labels: ['error_code'],
  });
  const flushes = metrics.histogram({
    name: 'carillon_flush_delay_seconds',
    help: 'Seconds from the time when outcomes were due to be written to their commit.',
    bounds: flushBounds,
  });
  const attempts = metrics.counter({
    name: 'carillon_webhook_attempts_total',
    help: 'Requests to webhooks; result is acknowledged, or the error as the attempt log has it.',
    labels: ['webhook', 'result'],
    seriesMax: webhookSeriesMax * resultsMost,
  });
  const attemptSeconds = metrics.histogram({
    name: 'carillon_webhook_attempt_duration_seconds',
    help: 'Seconds from the lookup of the name to the end of the answer.',
    labels: ['webhook'],
    bounds: attemptBounds,
    seriesMax: webhookSeriesMax,
  });
  const clockSteps = metrics.counter({
    name: 'carillon_clock_steps_total',
    help: 'Steps of clocks that the process noticed: of its host, of the database, or of both together (the host slept).',
    labels: ['clock'],
  });
  for (const clock of ['host', 'database', 'both'] as const) clockSteps([clock], 0);
  const unproven = metrics.counter({
    name: 'carillon_unproven_refreshes_total',
    help: 'Refreshes by client key without proof; each of them registered a new device.',
  });
  const healed = metrics.counter({
    name: 'carillon_healed_subscriptions_total',
    help: 'Subscriptions that clients renewed on their own, by reason.',
    labels: ['reason'],
  });
  for (const reason of healedReasons) healed([reason], 0);
  const newDevicesRefused = metrics.counter({
    name: 'carillon_new_devices_refused_total',
    help: 'Registrations by client key that NEW_DEVICES_PER_MINUTE refused.',
  });
  // These counters exist from the first scrape on, because a rate over a missing series is not a
  // rate of zero.
  accepted([], 0);
  finished([], 0);
  unproven([], 0);
  newDevicesRefused([], 0);
  const own = createProcessMetrics(name);

  return {
    noteRequest({ method, route, status, seconds }) {
      requests([method, route, String(status)]);
      requestSeconds([method, route], seconds);
    },
    noteAttempt(webhookId, { error, durationMs }) {
      const webhook = encodeId('whk', webhookId);
      attempts([webhook, error ?? 'acknowledged']);
      attemptSeconds([webhook], durationMs / 1000);
    },
    noteFlush: (ms) => flushes([], Math.max(0, ms) / 1000),
    noteOutcomes(counts, hasEnded) {
      for (const [channel, byOutcome] of counts.byChannel) {
        for (const outcome of ['sent', 'failed', 'skipped'] as const) {
          if (byOutcome[outcome] > 0) deliveries([channel, outcome], byOutcome[outcome]);
        }
      }
      for (const [code, count] of Object.entries(counts.byCode)) codes([code], count);
      if (hasEnded) finished([]);
    },
    noteUnprovenRefresh: () => unproven([]),
    noteHealed: (reason) => healed([reason]),
    noteClockStep: ({ clock }) => clockSteps([clock]),
    noteNewDeviceRefused: () => newDevicesRefused([]),
    countAccepted: (accept) => async (caller, plan, request, idempotencyKey) => {
      const message = await accept(caller, plan, request, idempotencyKey);
      if (!message.isReplay) accepted([]);
      return message;
    },
    snapshot: () => [...metrics.snapshot(), ...own()],
  };
}

/** Counts end at this number, because larger counts would make a scrape costly. */
const unreachedCountMax = 100_000;
const outboxLimits = { webhooksMax: 1_000, countMax: 100_000 };
const databaseWithinMs = 3_000;
/** Milliseconds. More frequent scrapes get the last figures. */
const databaseEveryMs = 5_000;

export interface DatabaseMetricsDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly isPaused: () => boolean;
}

/**
 * Reads the figures that the database has of all processes, at most once in `databaseEveryMs`.
 * Waits at most `databaseWithinMs` for them.
 */
export function createDatabaseMetrics(deps: DatabaseMetricsDeps): () => Promise<FamilySnapshot[]> {
  let reading: { readonly atMs: number; readonly families: Promise<FamilySnapshot[]> } | undefined;
  const unknown = readAvailability(false);
  return async () => {
    const nowMs = performance.now();
    if (!reading || nowMs - reading.atMs > databaseEveryMs) {
      reading = { atMs: nowMs, families: readDatabase(deps).catch(() => unknown) };
    }
    const late = new Promise<FamilySnapshot[]>((resolve) => {
      setTimeout(() => resolve(unknown), databaseWithinMs).unref();
    });
    return [...(await Promise.race([reading.families, late])), ...readPause(deps)];
  };
}

function readAvailability(isUp: boolean): FamilySnapshot[] {
  const metrics = createMetrics();
  metrics.gauge({
    name: 'carillon_database_up',
    help: '1: the database answered, so its metrics are here; 0: they are missing.',
  })([], isUp ? 1 : 0);
  return metrics.snapshot();
}

function readPause({ isPaused }: DatabaseMetricsDeps): FamilySnapshot[] {
  const metrics = createMetrics();
  metrics.gauge({ name: 'carillon_paused', help: '1: sends and webhooks are paused.' })([], isPaused() ? 1 : 0);
  return metrics.snapshot();
}

async function readDatabase(deps: DatabaseMetricsDeps): Promise<FamilySnapshot[]> {
  const { sql, clock } = deps;
  // The statements run one after the other, so that a scrape takes only one connection from the
  // callers.
  const outboxes = await listOutboxStates(sql, clock, outboxLimits);
  const queue = await readQueueState(sql, clock);
  const scheduledCount = await countScheduled(sql);
  const connections = await listConnections(sql);
  const unreachedCount = await countUnreachedUpTo(sql, unreachedCountMax);
  const devicesCount = await estimateDevices(sql);
  const metrics = createMetrics();
  const gauge = (name: string, help: string, labels: readonly string[] = []) => metrics.gauge({ name, help, labels });

  const batches = gauge(
    'carillon_batches',
    'Batches that are not done: due and held by no process, claimed, or waiting for their time.',
    ['state'],
  );
  for (const state of ['due', 'claimed', 'waiting'] as const) batches([state], queue[state]);
  const oldestBatch = gauge('carillon_batch_oldest_due_seconds', 'Seconds since the oldest due batch became due.');
  oldestBatch([], queue.oldestDueSeconds);
  gauge('carillon_messages_scheduled', 'Messages whose time is still to come.')([], scheduledCount);
  const pools = gauge('carillon_database_connections', 'Connections of all processes on all machines.', [
    'pool',
    'state',
  ]);
  for (const { pool, state, connections: count } of connections) pools([pool, state], count);

  gauge(
    'carillon_devices_never_reached',
    'Devices registered by client key that no push and no receipt ever reached, counted up to 100,000.',
  )([], unreachedCount);
  gauge('carillon_devices', 'Devices of all apps, as the planner of the database estimates them.')(
    [],
    devicesCount ?? 0,
  );

  const webhook = ['webhook'];
  const enabled = gauge('carillon_webhook_enabled', '1: enabled; 0: disabled, and its events are held.', webhook);
  const failures = gauge(
    'carillon_webhook_consecutive_failures',
    'Failures in a row; the 15th disables the webhook.',
    webhook,
  );
  const window = gauge('carillon_webhook_window', 'Requests that the webhook may have under way.', webhook);
  const inFlight = gauge('carillon_webhook_in_flight', 'Requests of the webhook that are under way.', webhook);
  const events = gauge(
    'carillon_webhook_outbox_events',
    'Events in the outbox of the webhook, counted up to 100,000.',
    webhook,
  );
  const oldest = gauge(
    'carillon_webhook_oldest_due_seconds',
    'Seconds since the oldest due event of the webhook became due; 0 when none is due.',
    webhook,
  );
  for (const outbox of outboxes) {
    const id = [encodeId('whk', outbox.id)];
    enabled(id, outbox.isEnabled ? 1 : 0);
    failures(id, outbox.failures);
    window(id, outbox.inFlightMax);
    inFlight(id, outbox.inFlight);
    events(id, outbox.events);
    oldest(id, outbox.oldestDueSeconds ?? 0);
  }
  return [...readAvailability(true), ...metrics.snapshot()];
}
