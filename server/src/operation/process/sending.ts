// The sending part of a process: everything that runs batches and calls webhooks.

import { createFairSlots } from '../../ground/pacing/fair-slots.ts';
import { createSpareTime } from '../../ground/pacing/spare-time.ts';
import type { EndpointRules } from '../../sending/channels/webpush/endpoint.ts';
import { createAnswerForms } from '../../sending/delivery/answer-forms.ts';
import { createCompiledMessages } from '../../sending/delivery/compiled-messages.ts';
import { channelOfNumber } from '../../sending/delivery/delivery.ts';
import { createFlushPace, type FlushPace } from '../../sending/delivery/flush-pace.ts';
import { createLanes } from '../../sending/delivery/lanes.ts';
import { createLeases } from '../../sending/delivery/leases.ts';
import { createMessageWatches } from '../../sending/delivery/message-watch.ts';
import { createOutageWatch } from '../../sending/delivery/outage-watch.ts';
import { createOutcomeBacklog } from '../../sending/delivery/outcome-backlog.ts';
import { createPaces } from '../../sending/delivery/pace.ts';
import type { RunDeps } from '../../sending/delivery/run-batch.ts';
import { createVerdictBook } from '../../sending/delivery/verdict-book.ts';
import type { WebhookDeps } from '../../sending/webhooks/worker.ts';
import { createCredentials } from '../../teams/apps/credentials.ts';
import type { ServiceMetrics } from '../metrics/service-metrics.ts';
import type { Foundation } from './foundation.ts';
import { openOutbound } from './outbound.ts';

export interface Sending {
  /** The parts with which a batch is run. */
  readonly run: RunDeps;
  /** The parts with which webhooks are called. */
  readonly webhooks: WebhookDeps;
  /** The rules for the addresses of browsers and webhooks that may be called. */
  readonly endpointRules: EndpointRules;
  /** Writes the last verdicts and gives up the leases. */
  stop(): Promise<void>;
  /** Closes the connections to providers. */
  close(): Promise<void>;
}

/**
 * Pushes under way at once in one process. An app that is alone can get half of them. With 50 ms of
 * provider latency this keeps the process busy, although pushes go out and are answered in waves.
 * An app begins with 200, so that at most 200 pushes are made before a silent or refusing provider
 * is noticed (R-62, contract 7.5). The maximum bounds memory. It does not bound the pushes that a
 * crash repeats, because time does.
 */
const pushSlots = { slotsMax: 10_000, perFree: 1, start: 200 };

export function createSending(foundation: Foundation, metrics: ServiceMetrics): Sending {
  const { config, databases, clock, log, seal, ledger, outbox, teller, pause, receiptKeys } = foundation;
  const { promptSql, txSql, sendSql } = databases;
  const paces = createPaces({ sql: sendSql, clock });
  const { endpointRules, http1, senders } = openOutbound(config, { clock, log, paces });
  const outages = createOutageWatch(clock);
  // While a clock is in doubt, everything waits as in a pause.
  const isPaused = (): boolean => pause.isPaused() || clock.isInDoubt();
  const leases = createLeases({ sql: promptSql, clock, log, outages });
  const run: RunDeps = {
    sql: sendSql,
    clock,
    log,
    forms: createAnswerForms({ sql: sendSql }),
    ledger,
    flushPace: countedPace(metrics),
    backlog: createOutcomeBacklog(),
    outbox,
    teller,
    noteOutcomes: metrics.noteOutcomes,
    verdicts: createVerdictBook({ sql: txSql, clock, log }),
    senders,
    paces,
    lanes: createLanes(() => clock.steadyMs()),
    random: Math.random,
    credentials: createCredentials({ sql: sendSql, seal }),
    leases,
    outages,
    watches: createMessageWatches({ sql: sendSql, ledger, log }),
    slots: createFairSlots(pushSlots),
    hasSpareTime: createSpareTime(),
    compiled: createCompiledMessages({ sql: sendSql, ledger, clock }),
    receiptKeys,
    publicUrl: config.publicUrl,
    isPaused,
  };
  const webhooks: WebhookDeps = {
    sql: txSql,
    clock,
    log,
    http: http1,
    rules: endpointRules,
    seal,
    isPaused,
    channelOfNumber,
    random: Math.random,
    retrySeconds: config.webhookRetrySeconds,
    failurePauseMsMax: config.webhookFailurePauseMsMax,
    noteAttempt: metrics.noteAttempt,
  };
  return {
    run,
    webhooks,
    endpointRules,
    async stop() {
      await run.verdicts.close();
      leases.stop();
    },
    async close() {
      await Promise.all(Object.values(senders).map((sender) => sender.close()));
    },
  };
}

/** The pace of flushes. Each flush is also counted. */
function countedPace(metrics: Pick<ServiceMetrics, 'noteFlush'>): FlushPace {
  const pace = createFlushPace();
  return {
    get waitMs() {
      return pace.waitMs;
    },
    get unwrittenMsMax() {
      return pace.unwrittenMsMax;
    },
    note(tookMs) {
      pace.note(tookMs);
      metrics.noteFlush(tookMs);
    },
  };
}
