// Accepts a message. A repeated Idempotency-Key is answered with the first message. Otherwise one
// transaction stores message, quota and batches, or the schedule. So after the answer no crash
// loses the message.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { type Clock, readNowMs } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import { failpoint, failpointAfterCommitSent } from '../../ground/host/failpoint.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { type FairSlots, withSlot } from '../../ground/pacing/fair-slots.ts';
import { decodeId, encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { canonicalAudience } from '../../people/audience/canonical-filter.ts';
import { countDevices } from '../../people/audience/count-queries.ts';
import { keepSegmentsOf, resolveAudience } from '../../people/segments/resolve-audience.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { chargeQuota, refuseWhenUsedUp } from '../../teams/quotas/monthly-quota.ts';
import type { Plan } from '../../teams/quotas/plan.ts';
import { compileContent } from '../content/compile-content.ts';
import { batchesTopic } from '../delivery/queries.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
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
  /** `clock.steadyMs` just before the transaction began. The lease begins with the transaction. */
  readonly claimedAtMs: number;
}

export interface Accepted {
  readonly id: Uuid;
  readonly isReplay: boolean;
  /** The time at which a scheduled message runs; null for a message that is sent now. */
  readonly runAt: Date | null;
  /** Set when the caller holds the message's batches under this claim and works them now. */
  readonly claim: OwnClaim | null;
}

export interface AcceptDeps extends DueDeliveriesDeps {
  readonly sql: Sql;
  /** A pool for short transactions. */
  readonly txSql: Sql;
  /** Slots for the pool of long statements, one for each of its connections. */
  readonly audienceSlots: FairSlots;
  readonly clock: Clock;
  /**
   * While paused, this process works no batch itself. Workers get small batches too, after the
   * pause.
   */
  readonly isPaused: () => boolean;
  /** Tells workers of new batches. */
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
  // One flight per app and key in this process. Callers that repeat a request wait here without
  // holding a connection.
  const flights = new Map<string, Promise<unknown>>();

  return async (caller, plan, request, idempotencyKey) => {
    if (idempotencyKey === null) {
      const started = await store(deps, caller, plan, request, null);
      if (started === 'busy' || started === 'taken')
        throw new Error('a message without an Idempotency-Key was taken for a repeated one');
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
        // Another process works on this key. This process looks again soon and holds no connection
        // in between.
        if (started === 'busy') await sleep(busyWaitMs);
      } finally {
        flights.delete(flight);
      }
    }
  };
}

/** A message from the command line was made by a person and not by a key (contract 5.13). */
function createdBy({ keyId, keyName }: Caller): Record<string, unknown> {
  if (keyId === '') return { type: 'person', id: null, name: keyName };
  return { type: 'key', id: encodeId('key', keyId), name: keyName };
}

/**
 * The message of the first request with this key, if there was one. Throws when that request was a
 * different one.
 */
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

/** Up to this number of ids, an audience is resolved quickly. */
const fewIds = 1000;

// Runs the work in the right pool. Scheduled messages and short id lists use the short pool. Other
// audiences can be slow: they take a slot in the long pool, which no single app may fill.
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

/**
 * Stores a message and what it needs in one transaction. `busy`: another process works on its
 * idempotency key. `taken`: another message already has the key.
 */
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
    // This happens before the transaction, which must be short.
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
        audience: canonicalAudience(request.audience),
        // A malformed id matches no segment. Resolving the audience then throws, and nothing is
        // stored.
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
      if (caller.by) await recordSend({ tx, clock: deps.clock, by: caller.by }, caller.appId, request, accepted);
      await failpoint('message.before_commit');
      failpointAfterCommitSent('message.after_commit_sent');
      return accepted;
    },
  );
  if (typeof stored !== 'string' && stored.runAt === null && stored.claim === null) deps.teller.tell(batchesTopic);
  return stored;
}

/** A person's message gets an entry in the audit log. A message of a key is its own record. */
async function recordSend(
  deps: Parameters<typeof recordAudit>[0],
  appId: Uuid,
  { name = null, audience }: MessageRequest,
  { id, runAt }: Accepted,
): Promise<void> {
  // Only the kind of the audience, because its values may name people.
  const after = { name, audience: Object.keys(audience), run_at: runAt };
  await recordAudit(deps, { appId, action: 'message.send', target: encodeId('msg', id), after });
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
      appId,
      id,
      audience: canonicalAudience(request.audience),
      excludeSegmentId: request.exclude_segment_id ?? null,
      plan,
      window: { dueAt: null, windowMs, zones: null },
      own,
      perSecond,
    },
  );
  refuseLowRate(perSecond, [{ dueAtMs: 0, deliveries: started.accepted }], windowMs);
  // This comes last, because every other send of the app waits from here to the commit.
  await chargeQuota({ sql: tx, clock }, appId, plan, started.accepted, started.charge);
  return { id, isReplay: false, runAt: null, claim: started.isOwn && started.accepted > 0 ? claim : null };
}

/** Nothing is charged now. The charge is made when the message runs. */
async function sendLater(
  { tx, workSql, clock }: AcceptDeps & { tx: Tx },
  plan: Plan,
  request: MessageRequest & Timing,
  message: NewMessage,
): Promise<Accepted | undefined> {
  const { appId, id } = message;
  const schedule = scheduleOf(request, await readNowMs(tx, clock));
  // The audience is resolved again when the message runs. It is also resolved here, so that the
  // caller learns now of an error that would stop the message then.
  const excluded = request.exclude_segment_id ?? null;
  await keepSegmentsOf(tx, appId, request.audience, excluded);
  const audience = await resolveAudience(tx, appId, request.audience, excluded);
  await refuseWhenUsedUp({ sql: tx, clock }, appId, plan, () => countDevices({ tx: workSql, clock, appId }, audience));
  if (!(await insertScheduledMessage(tx, clock, message, schedule))) return undefined;
  return { id, isReplay: false, runAt: schedule.runAt, claim: null };
}
