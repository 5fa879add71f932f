// One process of the service, built from four parts with a file each: foundation, sending, news and
// answering. A stop ends its parts in an order that loses nothing.

import type { Sql } from '@carillon/postgres';
import type { WatchedClock } from '../../ground/database/clock.ts';
import type { PauseWatch } from '../../ground/database/restore-guard.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { createFinishes } from '../../sending/messages/await-outcomes.ts';
import type { LocalInstants } from '../../sending/messages/local-time.ts';
import { type FamilySnapshot, renderMetrics } from '../metrics/registry.ts';
import { createDatabaseMetrics, createServiceMetrics } from '../metrics/service-metrics.ts';
import { type Answering, type AnsweringOptions, createAnswering } from './answering.ts';
import { type FoundationOptions, openFoundation } from './foundation.ts';
import { followNews, type News } from './news.ts';
import { createSending, type Sending } from './sending.ts';
import { startWorkers, type Workers } from './workers.ts';

export interface ServiceOptions extends FoundationOptions, AnsweringOptions {
  /**
   * The name of this process in metrics, and how the sums of all processes are asked for. Absent:
   * metrics are those of this process alone.
   */
  readonly metrics?: { readonly name: string; gather(): Promise<readonly FamilySnapshot[] | undefined> };
}

export interface Service extends Answering, Pick<Sending, 'run' | 'webhooks'>, Pick<News, 'lookout'> {
  readonly sql: Sql;
  readonly clock: WatchedClock;
  readonly pause: PauseWatch;
  readonly localInstants: LocalInstants;
  /**
   * Resolves with the counts of this process and, on demand, the figures that the database has of
   * all processes.
   */
  snapshotMetrics(wanted: { includesDatabase: boolean }): Promise<FamilySnapshot[]>;
  /** Starts the loops of a worker. */
  startWorkers(): Workers;
  /** Notes how long ago the slowest worker beside this process looked for work. */
  noteWorkers(pollAgeMs: number): void;
  /**
   * Makes /readyz fail from now on, so that load balancers look elsewhere. Everything else goes on.
   */
  leave(): void;
  /** Begins no new work from now on. Resolves when the work that is under way has ended. */
  drain(): Promise<void>;
  /** Closes pools and connections. */
  close(): Promise<void>;
}

export async function createService(options: ServiceOptions): Promise<Service> {
  let workers: Workers | undefined;
  let isStopping = false;
  let isLeaving = false;
  // The supervisor's last report about the workers beside this process. Before the first report no
  // worker counts.
  let told = { pollAgeMs: Number.NEGATIVE_INFINITY, at: 0 };
  const underWay = new Set<Promise<unknown>>();
  const finishes = createFinishes();

  const foundation = await openFoundation(options, () => workers?.wake());
  const { config, databases, clock, log, plans, localInstants, teller, outbox, pause } = foundation;
  const { sql, txSql, workSql, indexSql, detachSql } = databases;
  const metrics = createServiceMetrics(options.metrics?.name ?? 'api');
  const sending = createSending(foundation, metrics);
  const { run, webhooks } = sending;
  clock.onStep((step) => {
    metrics.noteClockStep(step);
    workers?.wake();
  });
  const news = await followNews({ foundation, run, finishes, workers: () => workers });
  const { lookout } = news;

  const readDatabase = createDatabaseMetrics({ sql, clock, isPaused: pause.isPaused });
  const snapshotMetrics: Service['snapshotMetrics'] = async ({ includesDatabase }) => [
    ...metrics.snapshot(),
    ...(includesDatabase ? await readDatabase() : []),
  ];
  const stage = {
    finishes,
    track(work: Promise<unknown>): void {
      underWay.add(work);
      void work.catch(() => undefined).finally(() => underWay.delete(work));
    },
    isStopping: () => isStopping,
    isLeaving: () => isLeaving || isStopping,
    lastPollAgeMs: () =>
      workers ? performance.now() - workers.lastLookedAt : told.pollAgeMs + (performance.now() - told.at),
    async readMetrics(): Promise<string> {
      const families = await (options.metrics?.gather() ?? snapshotMetrics({ includesDatabase: true }));
      if (!families) throw new ApiError('unavailable', { retryAfterMs: 1000 });
      return renderMetrics(families);
    },
  };
  const { server, routes, requestLog } = createAnswering({ foundation, sending, metrics, stage }, options);

  return {
    sql,
    clock,
    server,
    routes,
    requestLog,
    run,
    webhooks,
    pause,
    lookout,
    localInstants,
    snapshotMetrics,
    startWorkers() {
      const { retentionDays, eventRetentionDays } = config;
      const rules = { plans, localInstants, retentionDays, eventRetentionDays };
      lookout.stand();
      const pools = { sql: workSql, indexSql, detachSql, txSql };
      workers ??= startWorkers({ run, lookout, teller, ...pools, clock, log, ...rules, webhooks });
      return workers;
    },
    noteWorkers(pollAgeMs) {
      told = { pollAgeMs, at: performance.now() };
    },
    leave() {
      isLeaving = true;
    },
    async drain() {
      isStopping = true;
      finishes.notify('');
      // Another process becomes the lookout from now on.
      await lookout.stop();
      await workers?.stop();
      await Promise.allSettled(underWay);
      await run.verdicts.close();
      await requestLog.close();
    },
    async close() {
      await sending.stop();
      await outbox.settle();
      await news.stop();
      await sending.close();
      await foundation.close();
    },
  };
}
