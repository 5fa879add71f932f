// Starts scheduled messages whose time has come, in the transaction that holds them: each as a whole or not at all. What one of
// them comes to never touches another.
import { compileContent } from '../content/compile-content.ts';
import type { SendWindow } from '../delivery/fan-out-queries.ts';
import { batchesTopic } from '../delivery/queries.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { ApiError } from '../platform/api-error.ts';
import { type Clock, readNowMs } from '../platform/clock.ts';
import { isStatementTimeout, type Sql, savepoint, type Tx, transaction } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { parseInstant } from '../platform/instant.ts';
import type { Log } from '../platform/log.ts';
import type { Teller } from '../platform/teller.ts';
import { type Charge, tryCharge } from '../quotas/monthly-quota.ts';
import { type Plan, type Plans, planNamed } from '../quotas/plan.ts';
import { type LocalInstants, wallMsOf, zonesDue } from './local-time.ts';
import type { NoRun } from './message.ts';
import { type DueMessage, failScheduled, lockLateMessage, postponeStart } from './schedule-queries.ts';
import { type Started, startMessage } from './start-message.ts';

export interface StartDeps {
  readonly clock: Clock;
  readonly plans: Plans;
  readonly log: Log;
  readonly localInstants: LocalInstants;
  /** Workers hear of what there is to send. */
  readonly teller: Pick<Teller, 'tell'>;
}

/** Tries of one message before it counts as one that cannot be started. */
const startsMax = 8;
/** After the first try that came to nothing; doubled with each further one. */
export const nextTryMs = 2000;
/** An audience that cannot be resolved in time is tried again until the message expires (contract 5.1). */
const nextTryAfterTimeoutMs = 30_000;

/**
 * Starts several in one transaction, so that a thousand that are due at once cost a few commits: no further one is begun when
 * `budgetMs` are over. A message whose start fails, or takes a statement over its limit, is left to be tried alone. Telling the workers of
 * what there is to send is the caller's.
 */
export async function startTogether(
  deps: StartDeps,
  tx: Tx,
  due: readonly DueMessage[],
  budgetMs: number,
): Promise<void> {
  const nowMs = await readNowMs(tx, deps.clock);
  const endAt = performance.now() + budgetMs;
  // In one order everywhere: who waits for an app's usage never holds what the other needs next.
  const ordered = [...due].sort((a, b) => (a.appId < b.appId ? -1 : a.appId > b.appId ? 1 : 0));
  let lines: Line[] = [];
  const startAll = async (start: (message: DueMessage) => Promise<Line>): Promise<void> => {
    lines = [];
    for (const message of ordered) {
      lines.push(await start(message));
      if (performance.now() > endAt) return;
    }
  };
  try {
    // Usage is charged for all of an app at once and last of all: everybody who sends for that app waits for its row.
    await savepoint(tx, async (inner) => {
      const bill = createBill();
      await startAll((message) => judge(deps, inner, message, nowMs, bill.add));
      await bill.pay(inner);
    });
  } catch {
    // One of them cannot be started, or together they are too many for somebody's quota. Each by itself says which.
    await startAll((message) => startOne(deps, tx, message, nowMs));
  }
  for (const { level, fields, text } of lines) deps.log[level](fields, text);
}

/** Starts the message of a claim by itself, with all the time an audience may take. Never rejects. */
export async function startAlone(
  deps: StartDeps & { readonly sql: Sql },
  claim: { readonly appId: Uuid; readonly id: Uuid; readonly starts: number },
): Promise<void> {
  const { sql, clock, log } = deps;
  const known = { app_id: claim.appId, message_id: claim.id, starts: claim.starts };
  try {
    const line = await transaction(sql, async (tx) => {
      const message = await lockLateMessage(tx, claim);
      if (!message) return undefined;
      const nowMs = await readNowMs(tx, clock);
      if (claim.starts > startsMax) return refuse(deps, tx, message, nowMs, 'internal_error');
      return judgeWithin(deps, tx, message, nowMs);
    });
    if (!line) return;
    log[line.level](line.fields, line.text);
    deps.teller.tell(batchesTopic);
  } catch (error) {
    // The claim has put the next try off already.
    log.error({ ...known, err: error }, notStarted);
    if (!isStatementTimeout(error)) return;
    await postponeStart(sql, clock, claim, { starts: claim.starts - 1, inMs: nextTryAfterTimeoutMs }).catch(
      () => undefined,
    );
  }
}

const notStarted = 'scheduled message not started';

/** What is told of a message once it is certain. */
interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly text: string;
}

type ChargeOne = (tx: Tx, appId: Uuid, plan: Plan, charge: Charge) => Promise<void>;

/** Undoes a start that turned out not to be one. */
class WillNotRun extends Error {
  readonly reason: NoRun;
  constructor(reason: NoRun) {
    super(`will not run: ${reason}`);
    this.reason = reason;
  }
}

const chargeAtOnce: ChargeOne = async (tx, appId, plan, charge) => {
  if (!(await tryCharge(tx, appId, plan, charge))) throw new WillNotRun('quota_exceeded');
};

/** One among others: whatever goes wrong with it is undone, and it is put off. */
async function startOne(deps: StartDeps, tx: Tx, message: DueMessage, nowMs: number): Promise<Line> {
  try {
    return await judgeWithin(deps, tx, message, nowMs);
  } catch (error) {
    const isTooLong = isStatementTimeout(error);
    await postponeStart(tx, deps.clock, message, { starts: 1, inMs: isTooLong ? 0 : nextTryMs });
    const fields = { app_id: message.appId, message_id: message.id, err: error };
    return { level: isTooLong ? 'info' : 'error', fields, text: notStarted };
  }
}

/** As `judge`, and charged at once; what a start that throws has written is undone. */
async function judgeWithin(deps: StartDeps, tx: Tx, message: DueMessage, nowMs: number): Promise<Line> {
  try {
    return await savepoint(tx, (inner) => judge(deps, inner, message, nowMs, chargeAtOnce));
  } catch (error) {
    if (error instanceof WillNotRun) return refuse(deps, tx, message, nowMs, error.reason);
    throw error;
  }
}

/** Starts a message, or ends it where it must not run any more. */
async function judge(deps: StartDeps, tx: Tx, message: DueMessage, nowMs: number, charge: ChargeOne): Promise<Line> {
  const { clock, plans } = deps;
  const { appId, id, audience, perSecond } = message;
  const excludeSegmentId = message.excludeSegmentId === null ? null : encodeId('seg', message.excludeSegmentId);
  if (message.isSuspended) return refuse(deps, tx, message, nowMs, 'app_suspended');
  const windowMs = sendWindowMs(compileContent(message.content).largestTtlSeconds);
  const { window, lastDueAtMs } = windowOf(deps, message, windowMs);
  if (lastDueAtMs + windowMs <= nowMs) return refuse(deps, tx, message, nowMs, 'expired');
  const plan = planNamed(plans, message.plan);
  const start = { appId, id, audience, excludeSegmentId, plan, window, own: null, perSecond };
  let started: Started;
  try {
    started = await startMessage({ tx, clock }, start);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'quota_exceeded')
      return refuse(deps, tx, message, nowMs, 'quota_exceeded');
    // What a caller would be told now: the catalog lacks a key of the filter, or the segment is gone.
    if (error instanceof ApiError && error.status < 500) return refuse(deps, tx, message, nowMs, 'segment_invalid');
    throw error;
  }
  // Somewhere its time could still come; of those it is for, nobody is there.
  if (started.accepted > 0 && (started.expiresAt?.getTime() ?? nowMs) <= nowMs) throw new WillNotRun('expired');
  await charge(tx, appId, plan, started.charge);
  await failpoint('schedule.after_wake');
  const fields = { ...fieldsOf(message, nowMs), accepted: started.accepted };
  return { level: 'info', fields, text: 'scheduled message started' };
}

/** When its deliveries are due, and when the last of any could be. */
function windowOf(
  { localInstants }: StartDeps,
  { runAt, localSendAt, localTimePast: past }: DueMessage,
  windowMs: number,
): { window: SendWindow; lastDueAtMs: number } {
  if (localSendAt === null || past === null) {
    return { window: { dueAt: runAt, windowMs, zones: null }, lastDueAtMs: runAt.getTime() };
  }
  const sendAt = parseInstant(localSendAt);
  if (!sendAt) throw new Error(`a stored local time cannot be read: ${localSendAt}`);
  const zones = zonesDue({ sendAt, past }, runAt.getTime(), localInstants(wallMsOf(sendAt)));
  const lastDueAtMs = zones.reduce((last, { dueAtMs }) => Math.max(last, dueAtMs), sendAt.ms);
  return { window: { dueAt: new Date(sendAt.ms), windowMs, zones }, lastDueAtMs };
}

async function refuse({ clock }: StartDeps, tx: Tx, message: DueMessage, nowMs: number, reason: NoRun): Promise<Line> {
  await failScheduled(tx, clock, message.appId, message.id, reason);
  const fields = { ...fieldsOf(message, nowMs), reason };
  return { level: reason === 'internal_error' ? 'error' : 'warn', fields, text: 'scheduled message not run' };
}

function fieldsOf({ appId, id, runAt }: DueMessage, nowMs: number): object {
  return { app_id: appId, message_id: id, late_ms: Math.round(nowMs - runAt.getTime()) };
}

/** What several messages cost together, per app and month. */
function createBill(): { add: ChargeOne; pay(tx: Tx): Promise<void> } {
  const items = new Map<string, { appId: Uuid; plan: Plan; charge: Charge }>();
  return {
    async add(_tx, appId, plan, { month, units }) {
      const key = `${appId} ${month}`;
      const before = items.get(key)?.charge.units ?? 0;
      items.set(key, { appId, plan, charge: { month, units: before + units } });
    },
    async pay(tx) {
      for (const { appId, plan, charge } of items.values()) await chargeAtOnce(tx, appId, plan, charge);
    },
  };
}
