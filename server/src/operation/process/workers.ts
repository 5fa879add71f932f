// Every loop of a worker process.

import { analyzeGrown, createStallWatch, repeatUntilAnswered, type Sql } from '@carillon/postgres';
import type { WatchedClock } from '../../ground/database/clock.ts';
import type { Lookout } from '../../ground/database/lookout.ts';
import { type PeriodicTask, runInTurn } from '../../ground/pacing/in-turn.ts';
import { foldTotals } from '../../insight/events/fold-totals.ts';
import { forgetPeople } from '../../insight/events/forget-people.ts';
import { forgetSamplesOfPeople } from '../../insight/events/forget-samples.ts';
import { doAskedRebuilds } from '../../insight/reports/asked-rebuild.ts';
import { settleAlone } from '../../insight/reports/settle.ts';
import { createAppSizes } from '../../people/audience/column-uses.ts';
import { type FollowUseDeps, followUse } from '../../people/audience/follow-use.ts';
import { moveSlots } from '../../people/audience/move-slots.ts';
import { foldDeviceTotals } from '../../people/devices/fold-totals.ts';
import { createPropertyCounter } from '../../people/properties/worker.ts';
import { type Forget, finishErasures } from '../../people/users/erasures.ts';
import { createPropertyClearing } from '../../people/users/worker.ts';
import { foldOutcomes } from '../../sending/delivery/fold-totals.ts';
import { forgetUrls } from '../../sending/delivery/forget-urls.ts';
import { shortenBatchWaits } from '../../sending/delivery/queries.ts';
import type { RunDeps } from '../../sending/delivery/run-batch.ts';
import { startSendWorker } from '../../sending/delivery/worker.ts';
import { shortenStartWaits } from '../../sending/messages/schedule-queries.ts';
import { nextTryMsMax } from '../../sending/messages/start-due.ts';
import { type ScheduleDeps, startScheduleWorker } from '../../sending/messages/worker.ts';
import { clearOrphanedOutboxes, dropHeldTooLong } from '../../sending/webhooks/clear-outbox.ts';
import { forgetInOutboxes } from '../../sending/webhooks/forget-people.ts';
import { finishDueRotations } from '../../sending/webhooks/manage-webhooks.ts';
import { bringForgottenForward, shortenPauses } from '../../sending/webhooks/work-queries.ts';
import { shortenWaits, startWebhookWorker, type WebhookDeps } from '../../sending/webhooks/worker.ts';
import { bringToCanonicalForm } from './canonical-forms.ts';
import { clearDeletedApps } from './clear-apps.ts';
import type { Due } from './due-queries.ts';
import { createUpkeep, type Upkeep } from './upkeep.ts';

export interface Workers {
  /** When the slowest of the loops last looked for work, by `performance.now()`. */
  readonly lastLookedAt: number;
  readonly upkeep: Upkeep;
  /** Makes the loops look now, because there may be batches. */
  wake(): void;
  /** Makes the webhook loop look now, because there may be events. */
  wakeWebhooks(): void;
  /**
   * Resolves when no message, batch or event is due or under way, and all verdicts on devices and
   * credentials are written.
   */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkersDeps extends Omit<ScheduleDeps, 'workSql' | 'isPaused' | 'clock'> {
  readonly clock: WatchedClock;
  readonly run: RunDeps;
  /** Tells what falls due. The elected process runs the periodic tasks. */
  readonly lookout: Pick<Lookout<Due>, 'isElected' | 'lastLookedAt' | 'onDue'>;
  /** The pool for long statements. */
  readonly sql: Sql;
  /** The connection without a time limit, which builds indexes and counts devices again. */
  readonly indexSql: Sql;
  /** The connection without a time limit, which detaches partitions. */
  readonly detachSql: Sql;
  readonly retentionDays: number;
  readonly eventRetentionDays: number | null;
  readonly webhooks: WebhookDeps;
}

export function startWorkers(deps: WorkersDeps): Workers {
  const { run, lookout, sql, indexSql, detachSql, clock, log, retentionDays, eventRetentionDays } = deps;
  const send = startSendWorker(run);
  const schedule = startScheduleWorker({ ...deps, isPaused: run.isPaused, workSql: sql });
  const webhooks = startWebhookWorker(deps.webhooks);
  lookout.onDue((due) => {
    if (due.schedules) schedule.wake();
    if (due.batches) send.wake();
    if (due.webhooks) webhooks.wake();
  });
  const rules = { retentionDays, eventRetentionDays, isPaused: run.isPaused };
  const upkeep = createUpkeep({ sql, detachSql, clock, log, ...rules });
  // Only the elected process runs these tasks, so that they cost other processes nothing at rest.
  // Most tasks take a lock as well, which ensures that no other process runs them.
  const ifElected = (task: PeriodicTask): PeriodicTask => ({
    ...task,
    run: async () => (lookout.isElected && !clock.isInDoubt() ? task.run() : undefined),
  });
  const some = [...periodicTasks({ sql, indexSql, clock, log }), upkeep.task];
  const tasks = runInTurn(some.map(ifElected), { log, random: run.random });
  const dropping = runInTurn([ifElected(upkeep.dropping)], { log, random: run.random });
  // These tasks must not wait behind long ones. The first ends transactions that a stopped process
  // holds open (R-04). The second finds webhooks' work that a killed process did not announce
  //
  const stalls = createStallWatch({ sql: deps.txSql, program: 'carillon' });
  const prompt = [
    { what: 'end what stands still', everyMs: 2000, run: () => stalls.look() },
    { what: 'tell webhooks what nobody has told', everyMs: 10_000, run: () => bringForgottenForward(deps.txSql) },
  ];
  const watch = runInTurn(prompt.map(ifElected), { log, random: run.random });
  // An ANALYZE of a large table takes seconds, so no other task waits behind it. In a second of growth
  // a plan for a small table costs at most a few thousand rows.
  const analyze = { what: 'analyze tables that have grown', everyMs: 1000, run: () => analyzeGrown(sql) };
  const growth = runInTurn([ifElected(analyze)], { log, random: run.random });
  // Instants that were stored before the database's clock was set back are too far ahead now.
  const shorten = async (): Promise<void> => {
    await shortenBatchWaits(deps.txSql, clock);
    await shortenStartWaits(deps.txSql, clock, nextTryMsMax);
    await shortenPauses(deps.txSql, clock, deps.webhooks.failurePauseMsMax);
  };
  const shortenAll = async (): Promise<void> => {
    await shorten();
    await shortenWaits(deps.webhooks);
    for (const loop of [send, schedule, webhooks]) loop.wake();
  };
  const warn = (error: unknown): void => log.warn({ err: error }, 'waits not shortened');
  // Repeated, because a step is told once, and waits that are left stay too long until the next start.
  const untilDone = (work: () => Promise<void>): void => void repeatUntilAnswered(work, warn).catch(warn);
  // The clock may have been set while no process ran. This is not done at a start, because outboxes
  // may be large.
  untilDone(shorten);
  clock.onStep((step) => {
    if (step.clock !== 'host' && step.byMs < 0) untilDone(shortenAll);
  });
  // A rebuild may take minutes, so no other task waits behind it.
  const askedRebuilds = {
    what: 'rebuild reports',
    everyMs: 5_000,
    run: async () => (run.isPaused() ? undefined : doAskedRebuilds({ sql, clock, log })),
  };
  const rebuilds = runInTurn([ifElected(askedRebuilds)], { log, random: run.random });
  return {
    get lastLookedAt() {
      return Math.min(send.lastLookedAt, schedule.lastLookedAt, webhooks.lastLookedAt, lookout.lastLookedAt);
    },
    upkeep,
    wake() {
      send.wake();
      webhooks.wake();
    },
    wakeWebhooks: () => webhooks.wake(),
    async idle() {
      await schedule.idle();
      await send.idle();
      await run.verdicts.settle();
      await run.outbox.settle();
      await webhooks.idle();
    },
    async stop() {
      tasks.stop();
      dropping.stop();
      watch.stop();
      growth.stop();
      rebuilds.stop();
      await Promise.all([send.stop(), schedule.stop(), webhooks.stop()]);
    },
  };
}

/** The steps that clear the traces of erased users, the shortest first. */
export function stepsToForget(sql: Sql): Forget[] {
  return [
    (turn) => forgetUrls(turn),
    ({ appId, erasures, run }) => {
      const devices = erasures.flatMap(({ deviceIds, at }) => deviceIds.map((id) => ({ id, until: at })));
      return forgetInOutboxes({ appId, devices, run });
    },
    (turn) => forgetPeople(sql, turn),
    forgetSamplesOfPeople,
  ];
}

/** The periodic tasks of a worker, except for the hourly upkeep. */
export function periodicTasks({ sql, indexSql, clock, log }: Omit<FollowUseDeps, 'sizes'>): PeriodicTask[] {
  const counter = createPropertyCounter({ sql, clock });
  const clearing = createPropertyClearing({ sql, clock });
  const forget = stepsToForget(sql);
  const sizes = createAppSizes({ sql, clock });
  return [
    { what: 'count the values of properties', everyMs: 60_000, run: () => counter.runOnce() },
    { what: 'clear retired properties', everyMs: 60_000, run: () => clearing.runOnce() },
    { what: 'bring locales to canonical form', everyMs: 60_000, run: () => bringToCanonicalForm({ sql, clock }) },
    { what: 'clear what names erased users', everyMs: 600_000, run: () => finishErasures({ sql, clock, forget }) },
    { what: 'finish rotations of webhook secrets', everyMs: 60_000, run: () => finishDueRotations({ sql, clock }) },
    { what: 'drop events held too long', everyMs: 600_000, run: () => dropHeldTooLong({ sql, clock }) },
    { what: 'clear the outboxes of deleted webhooks', everyMs: 60_000, run: () => clearOrphanedOutboxes(sql) },
    { what: 'fold what events add to the sums', everyMs: 10_000, run: () => foldTotals({ sql }) },
    { what: 'fold what deliveries add to the sums', everyMs: 10_000, run: () => foldOutcomes({ sql }) },
    { what: 'fold what devices add to the sums', everyMs: 10_000, run: () => foldDeviceTotals({ sql }) },
    {
      what: 'let slots and indexes follow use',
      everyMs: 60_000,
      run: () => followFilters({ sql, indexSql, sizes, clock, log }),
    },
    { what: 'clear deleted apps', everyMs: 60_000, run: () => clearDeletedApps({ sql, clock }) },
    { what: 'settle what purchases are owed to', everyMs: 60_000, run: () => settleAlone({ sql, clock }) },
  ];
}

/**
 * Runs both steps one after the other, because each holds a connection for its lock while it works.
 */
async function followFilters(deps: FollowUseDeps): Promise<void> {
  await moveSlots(deps);
  await followUse(deps);
}
