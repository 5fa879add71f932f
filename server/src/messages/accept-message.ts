// Accepts a message: a repeated Idempotency-Key is answered with the first one's message; else message, quota and batches, or
// the schedule, are stored in one transaction, so that after the answer no crash loses it.
import type { Caller } from '../apps/caller.ts';
import { countAudience } from '../audience/queries.ts';
import { compileContent } from '../content/compile-content.ts';
import { batchesTopic } from '../delivery/queries.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { invalid } from '../platform/api-error.ts';
import { type Clock, readNowMs } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import { failpoint, failpointAfterCommitSent } from '../platform/failpoint.ts';
import { type FairSlots, withSlot } from '../platform/fair-slots.ts';
import { decodeId, encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import type { Teller } from '../platform/teller.ts';
import { chargeQuota, refuseWhenUsedUp } from '../quotas/monthly-quota.ts';
import type { Plan } from '../quotas/plan.ts';
import { keepSegmentsOf, resolveAudience } from '../segments/resolve-audience.ts';
import { countDueDeliveries, type DueDeliveriesDeps } from './due-deliveries.ts';
import { fingerprintOf, type MessageRequest } from './message.ts';
import {
  findByIdempotencyKey,
  insertScheduledMessage,
  insertSendingMessage,
  type NewMessage,
  tryLockIdempotencyKey,
} from './queries.ts';
import { refuseLowRate } from './rate.ts';
import { scheduleOf, type Timing } from './schedule.ts';
import { ownDevicesMax, startMessage } from './start-message.ts';

export interface OwnClaim {
  readonly id: Uuid;
  /** `clock.steadyMs` before its transaction began, whose beginning is when its lease begins. */
  readonly claimedAtMs: number;
}

export interface Accepted {
  readonly id: Uuid;
  readonly isReplay: boolean;
  /** When a scheduled message runs; null: it is sent now. */
  readonly runAt: Date | null;
  /** Set: the caller holds the message's batches under this claim and works them now. */
  readonly claim: OwnClaim | null;
}

export interface AcceptDeps extends DueDeliveriesDeps {
  readonly sql: Sql;
  /** For short transactions. */
  readonly txSql: Sql;
  /** One for each connection of the pool for long statements. */
  readonly audienceSlots: FairSlots;
  readonly clock: Clock;
  /** While paused nothing is worked here, however small: its batches wait like all others. */
  readonly isPaused: () => boolean;
  /** Workers hear of batches that are theirs. */
  readonly teller: Pick<Teller, 'tell'>;
}

export type AcceptMessage = (
  caller: Caller,
  plan: Plan,
  request: MessageRequest,
  idempotencyKey: string | null,
) => Promise<Accepted>;

const busyWaitMs = 25;

export function createAcceptMessage(deps: AcceptDeps): AcceptMessage {
  // One flight per app and key in this process: those who repeat a request wait here, without holding a connection.
  const flights = new Map<string, Promise<unknown>>();

  return async (caller, plan, request, idempotencyKey) => {
    if (idempotencyKey === null) {
      const started = await store(deps, caller, plan, request, null);
      if (started === 'busy' || started === 'taken') throw new Error('a message without a key cannot meet another');
      return started;
    }
    const flight = `${caller.appId} ${idempotencyKey}`;
    const fingerprint = fingerprintOf(request);
    for (;;) {
      const replay = await findReplay(deps, caller, idempotencyKey, fingerprint);
      if (replay) return replay;
      const before = flights.get(flight);
      if (before) {
        await before.catch(() => undefined);
        continue;
      }
      const storing = store(deps, caller, plan, request, idempotencyKey);
      flights.set(flight, storing);
      try {
        const started = await storing;
        if (typeof started !== 'string') return started;
        // Another process works on this key: look again soon, with no connection held meanwhile.
        if (started === 'busy') await new Promise((resolve) => setTimeout(resolve, busyWaitMs));
      } finally {
        flights.delete(flight);
      }
    }
  };
}

/** A message from the command line was made by a person, with no key (contract 5.13). */
function createdBy({ keyId, keyName }: Caller): Record<string, unknown> {
  if (keyId === '') return { type: 'person', id: null, name: keyName };
  return { type: 'key', id: encodeId('key', keyId), name: keyName };
}

/** The first request's message, if the key is known; throws when the key was used for another request. */
async function findReplay(
  { sql }: AcceptDeps,
  caller: Caller,
  idempotencyKey: string,
  fingerprint: Buffer,
): Promise<Accepted | undefined> {
  const found = await findByIdempotencyKey(sql, caller.appId, idempotencyKey);
  if (!found) return undefined;
  if (!found.fingerprint.equals(fingerprint)) {
    throw invalid([
      {
        path: ['idempotency-key'],
        code: 'idempotency_key_reused',
        message: 'This Idempotency-Key was used for another request.',
      },
    ]);
  }
  return { id: found.id, isReplay: true, runAt: found.runAt, claim: null };
}

function windowMsOf({ content }: MessageRequest): number {
  return sendWindowMs(compileContent(content).largestTtlSeconds);
}

/** So many ids are soon resolved. */
const fewIds = 1000;

// What is only stored is short work, and so is a message to a few; whom another one reaches may take long to find out. Of the
// connections for that an app leaves some to others, however much it sends.
function inPool<Result>(
  { txSql, workSql, audienceSlots, clock }: AcceptDeps,
  appId: Uuid,
  { send_at: sendAt, exclude_segment_id: excluded, audience }: MessageRequest,
  work: (tx: Tx, rollback: (result: Result) => never, begunAtMs: number) => Promise<Result>,
): Promise<Result> {
  const begin = (sql: Sql): Promise<Result> => {
    const begunAtMs = clock.steadyMs();
    return transaction<Result>(sql, (tx, rollback) => work(tx, rollback, begunAtMs));
  };
  const ids =
    'device_ids' in audience ? audience.device_ids : 'external_ids' in audience ? audience.external_ids : null;
  if (sendAt || (ids !== null && ids.length <= fewIds && !excluded)) return begin(txSql);
  return withSlot(audienceSlots, appId, () => begin(workSql));
}

/** Stores a message and what it needs, in one transaction. `busy` and `taken`: somebody else has its key. */
async function store(
  deps: AcceptDeps,
  caller: Caller,
  plan: Plan,
  request: MessageRequest,
  idempotencyKey: string | null,
): Promise<Accepted | 'busy' | 'taken'> {
  const sendAt = request.send_at ?? null;
  const perSecond = request.per_second ?? null;
  if (sendAt !== null && perSecond !== null) {
    // Before the transaction: it is to be short.
    const due = await countDueDeliveries(deps, caller.appId, request, deps.clock.nowMs());
    refuseLowRate(perSecond, due, windowMsOf(request));
  }
  const stored = await inPool<Accepted | 'busy' | 'taken'>(
    deps,
    caller.appId,
    request,
    async (tx, rollback, begunAtMs) => {
      if (idempotencyKey !== null && !(await tryLockIdempotencyKey(tx, caller.appId, idempotencyKey)))
        return rollback('busy');
      const message: NewMessage = {
        appId: caller.appId,
        id: mintUuid(deps.clock.nowMs()),
        idempotencyKey,
        fingerprint: fingerprintOf(request),
        name: request.name ?? null,
        metadata: request.metadata ?? null,
        createdBy: createdBy(caller),
        audience: request.audience,
        // A malformed id is that of no segment: the audience is refused before anything of this is kept.
        excludeSegmentId: decodeId('seg', request.exclude_segment_id ?? '') ?? null,
        content: request.content,
        title: request.content.title ?? null,
        perSecond,
      };
      const accepted =
        sendAt === null
          ? await sendNow({ tx, ...deps }, plan, request, message, begunAtMs)
          : await sendLater({ tx, ...deps }, plan, { ...request, send_at: sendAt }, message);
      if (!accepted) return rollback('taken');
      await failpoint('message.before_commit');
      failpointAfterCommitSent('message.after_commit_sent');
      return accepted;
    },
  );
  if (typeof stored !== 'string' && stored.runAt === null && stored.claim === null) deps.teller.tell(batchesTopic);
  return stored;
}

async function sendNow(
  { tx, clock, isPaused }: AcceptDeps & { tx: Tx },
  plan: Plan,
  request: MessageRequest,
  message: NewMessage,
  begunAtMs: number,
): Promise<Accepted | undefined> {
  const { appId, id, perSecond } = message;
  const claim: OwnClaim = { id: mintUuid(clock.nowMs()), claimedAtMs: begunAtMs };
  const windowMs = windowMsOf(request);
  if (!(await insertSendingMessage(tx, clock, message, windowMs))) return undefined;
  const own = isPaused() ? null : { claimId: claim.id, devicesMax: ownDevicesMax };
  const started = await startMessage(
    { tx, clock },
    {
      ...{ appId, id, audience: request.audience, excludeSegmentId: request.exclude_segment_id ?? null },
      ...{ plan, window: { dueAt: null, windowMs, zones: null }, own, perSecond },
    },
  );
  refuseLowRate(perSecond, [{ dueAtMs: 0, deliveries: started.accepted }], windowMs);
  // Last: from here to the commit everybody waits who sends for this app.
  await chargeQuota({ sql: tx, clock }, appId, plan, started.accepted, started.charge);
  return { id, isReplay: false, runAt: null, claim: started.isOwn && started.accepted > 0 ? claim : null };
}

/** Nothing is resolved and nothing is charged yet: that is done when it runs. */
async function sendLater(
  { tx, workSql, clock }: AcceptDeps & { tx: Tx },
  plan: Plan,
  request: MessageRequest & Timing,
  message: NewMessage,
): Promise<Accepted | undefined> {
  const { appId, id } = message;
  const schedule = scheduleOf(request, await readNowMs(tx, clock));
  // Resolved again when it runs; here for whoever wrote it, to know now what would be refused then.
  const excluded = request.exclude_segment_id ?? null;
  await keepSegmentsOf(tx, appId, request.audience, excluded);
  const audience = await resolveAudience(tx, appId, request.audience, excluded);
  await refuseWhenUsedUp({ sql: tx, clock }, appId, plan, async () => {
    const { web, ios, android } = await countAudience({ tx: workSql, clock, appId }, audience);
    return web + ios + android;
  });
  if (!(await insertScheduledMessage(tx, clock, message, schedule))) return undefined;
  return { id, isReplay: false, runAt: schedule.runAt, claim: null };
}
