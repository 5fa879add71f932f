// Starts scheduled messages that are due, in the transaction that locks them. Each message starts
// as a whole or not at all, and its failure touches no other message.

import {
  isDatabaseAway,
  isDatabaseState,
  isStatementTimeout,
  type Sql,
  savepoint,
  type Tx,
  transaction,
} from '@carillon/postgres';
import { type Clock, readNowMs } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import type { Log } from '../../ground/host/log.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { parseInstant } from '../../ground/values/instant.ts';
import { type Charge, tryCharge } from '../../teams/quotas/monthly-quota.ts';
import { type Plan, type Plans, planNamed } from '../../teams/quotas/plan.ts';
import { compileContent } from '../content/compile-content.ts';
import type { SendWindow } from '../delivery/fan-out-queries.ts';
import { batchesTopic } from '../delivery/queries.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { type LocalInstants, wallMsOf, zonesDue } from './local-time.ts';
import type { NoRun } from './message.ts';
import { type DueMessage, failScheduled, lockLateMessage, postponeStart, type Scheduled } from './schedule-queries.ts';
import { type Started, startMessage } from './start-message.ts';

export interface StartDeps {
  readonly clock: Clock;
  readonly plans: Plans;
  readonly log: Log;
  readonly localInstants: LocalInstants;
  /** Tells workers of new batches. */
  readonly teller: Pick<Teller, 'tell'>;
}

/** The starts of one message before it ends as one that cannot be started. */
const startsMax = 8;
/** The wait after the first failed start, doubled with each further one. */
export const nextTryMs = 2000;
/** The longest wait for another start. */
export const nextTryMsMax = nextTryMs * 2 ** startsMax;
/**
 * A start that takes too long, or that the database refuses because of its state, is tried again
 * until the message expires (contract 5.1). Such a start is not counted.
 */
const nextTryAfterRefusalMs = 30_000;

/**
 * Starts several messages in one transaction, so that a thousand due messages cost only a few
 * commits. No further message begins after `budgetMs`. A message whose start fails, or exceeds the
 * limit of a statement, is put off to be started alone. The caller tells the workers.
 */
export async function startTogether(
  deps: StartDeps,
  tx: Tx,
  due: readonly DueMessage[],
  budgetMs: number,
): Promise<void> {
  const nowMs = await readNowMs(tx, deps.clock);
  // The messages may be due only because a clock was set forward.
  if (deps.clock.isInDoubt()) return;
  const endAt = performance.now() + budgetMs;
  // All processes use the same order. So a process that waits for an app's usage never holds a row
  // that another process needs next.
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
    // Usage is charged per app and last of all, because every other send of the app waits for that
    // row.
    await savepoint(tx, async (inner) => {
      const bill = createBill();
      await startAll((message) => judge(deps, inner, message, nowMs, bill.add));
      await bill.pay(inner);
    });
  } catch {
    // One of them cannot be started, or together they exceed a quota. They are started one by one,
    // so that each gets its own result.
    await startAll((message) => startOne(deps, tx, message, nowMs));
  }
  for (const { level, fields, text } of lines) deps.log[level](fields, text);
}

/** Starts a claimed message by itself, without the short limit of a statement. Never rejects. */
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
      // The message may have been claimed while a clock was set forward that is right again
      //
      if (clock.isInDoubt() || message.runAt.getTime() > nowMs) {
        await postponeStart(tx, clock, claim, { starts: claim.starts - 1, inMs: nextTryMs });
        return undefined;
      }
      if (claim.starts > startsMax) return refuse(deps, tx, message, nowMs, 'internal_error');
      return judgeWithin(deps, tx, message, nowMs);
    });
    if (!line) return;
    log[line.level](line.fields, line.text);
    deps.teller.tell(batchesTopic);
  } catch (error) {
    // The claim has already put the next start off.
    log.error({ ...known, err: error }, notStarted);
    if (!isDatabaseState(error)) return;
    const inMs = isDatabaseAway(error) ? nextTryMs : nextTryAfterRefusalMs;
    await postponeStart(sql, clock, claim, { starts: claim.starts - 1, inMs }).catch(() => undefined);
  }
}

const notStarted = 'scheduled message not started';

/** A log line about a message, written after its start or its refusal has succeeded. */
interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly text: string;
}

type ChargeOne = (tx: Tx, appId: Uuid, plan: Plan, charge: Charge) => Promise<void>;

/** Rolls a start back when the message must not run after all. */
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

/** Starts one of several messages. A failure is rolled back, and the message is put off. */
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

/** Like `judge`, and charges at once. A start that throws is rolled back. */
async function judgeWithin(deps: StartDeps, tx: Tx, message: DueMessage, nowMs: number): Promise<Line> {
  try {
    return await savepoint(tx, (inner) => judge(deps, inner, message, nowMs, chargeAtOnce));
  } catch (error) {
    if (error instanceof WillNotRun) return refuse(deps, tx, message, nowMs, error.reason);
    throw error;
  }
}

/** Starts a message, or ends it if it must not run any more. */
async function judge(deps: StartDeps, tx: Tx, message: DueMessage, nowMs: number, charge: ChargeOne): Promise<Line> {
  const { clock, plans } = deps;
  const { appId, id, audience, perSecond } = message;
  const excludeSegmentId = message.excludeSegmentId === null ? null : encodeId('seg', message.excludeSegmentId);
  if (message.isSuspended) return refuse(deps, tx, message, nowMs, 'app_suspended');
  const { window, endsAtMs } = windowOf(deps, message);
  if (endsAtMs <= nowMs) return refuse(deps, tx, message, nowMs, 'expired');
  const plan = planNamed(plans, message.plan);
  const start = { appId, id, audience, excludeSegmentId, plan, window, own: null, perSecond };
  let started: Started;
  try {
    started = await startMessage({ tx, clock }, start);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'quota_exceeded')
      return refuse(deps, tx, message, nowMs, 'quota_exceeded');
    // The errors that a caller would get now: the catalog lacks a key of the filter, or the segment
    // is gone.
    if (error instanceof ApiError && error.status < 500) return refuse(deps, tx, message, nowMs, 'segment_invalid');
    throw error;
  }
  // The time may still come in some zone, but no device of the audience is in such a zone.
  if (started.accepted > 0 && (started.expiresAt?.getTime() ?? nowMs) <= nowMs) throw new WillNotRun('expired');
  await charge(tx, appId, plan, started.charge);
  await failpoint('schedule.after_wake');
  const fields = { ...fieldsOf(message, nowMs), accepted: started.accepted };
  return { level: 'info', fields, text: 'scheduled message started' };
}

/** The window of the deliveries of a due message, and the end of the last one. */
export function windowOf(
  { localInstants }: Pick<StartDeps, 'localInstants'>,
  { content, runAt, localSendAt, localTimePast: past }: Scheduled,
): { window: SendWindow; endsAtMs: number } {
  const windowMs = sendWindowMs(compileContent(content).largestTtlSeconds);
  if (localSendAt === null || past === null) {
    return { window: { dueAt: runAt, windowMs, zones: null }, endsAtMs: runAt.getTime() + windowMs };
  }
  const sendAt = parseInstant(localSendAt);
  if (!sendAt) throw new Error(`a stored local time cannot be read: ${localSendAt}`);
  const zones = zonesDue({ sendAt, past }, runAt.getTime(), localInstants(wallMsOf(sendAt)));
  const lastDueAtMs = zones.reduce((last, { dueAtMs }) => Math.max(last, dueAtMs), sendAt.ms);
  return { window: { dueAt: new Date(sendAt.ms), windowMs, zones }, endsAtMs: lastDueAtMs + windowMs };
}

async function refuse({ clock }: StartDeps, tx: Tx, message: DueMessage, nowMs: number, reason: NoRun): Promise<Line> {
  await failScheduled(tx, clock, message.appId, message.id, reason);
  const fields = { ...fieldsOf(message, nowMs), reason };
  return { level: reason === 'internal_error' ? 'error' : 'warn', fields, text: 'scheduled message not run' };
}

function fieldsOf({ appId, id, runAt }: DueMessage, nowMs: number): object {
  return { app_id: appId, message_id: id, late_ms: Math.round(nowMs - runAt.getTime()) };
}

/** The charges of several messages, added up per app and month. */
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
