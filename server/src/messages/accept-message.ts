// Accepts a message: a repeated Idempotency-Key is answered with the first one's message; else message, quota and batches are
// stored in one transaction, so that after the answer no crash loses it.
import type { Caller } from '../apps/caller.ts';
import { compileContent } from '../content/compile-content.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { batchesChannel } from '../delivery/worker.ts';
import { invalid } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { failpoint, failpointAfterCommitSent } from '../platform/failpoint.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import type { Plan } from '../quotas/plan.ts';
import { fingerprintOf, type MessageRequest } from './message.ts';
import { findByIdempotencyKey, insertSendingMessage, tryLockIdempotencyKey } from './queries.ts';
import { startMessage } from './start-message.ts';

export interface OwnClaim {
  readonly id: Uuid;
  /** `performance.now()` before it was asked for. */
  readonly claimedAt: number;
}

export interface Accepted {
  readonly id: Uuid;
  readonly isReplay: boolean;
  /** Set: the caller holds the message's batches under this claim and works them now. */
  readonly claim: OwnClaim | null;
}

export interface AcceptDeps {
  readonly sql: Sql;
  /** The pool for long statements: a large audience must not stand in front of a request. */
  readonly workSql: Sql;
  readonly clock: Clock;
  /** While paused nothing is worked here, however small: its batches wait like all others. */
  readonly isPaused: () => boolean;
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
  return { id: found.id, isReplay: true, claim: null };
}

async function store(
  { workSql, clock, isPaused }: AcceptDeps,
  caller: Caller,
  plan: Plan,
  request: MessageRequest,
  idempotencyKey: string | null,
): Promise<Accepted | 'busy' | 'taken'> {
  const id = mintUuid(clock.nowMs());
  const claim: OwnClaim = { id: mintUuid(clock.nowMs()), claimedAt: performance.now() };
  const windowMs = sendWindowMs(compileContent(request.content).largestTtlSeconds);
  return transaction<Accepted | 'busy' | 'taken'>(workSql, async (tx, rollback) => {
    if (idempotencyKey !== null && !(await tryLockIdempotencyKey(tx, caller.appId, idempotencyKey)))
      return rollback('busy');
    const isNew = await insertSendingMessage(tx, clock, {
      appId: caller.appId,
      id,
      idempotencyKey,
      fingerprint: fingerprintOf(request),
      name: request.name ?? null,
      metadata: request.metadata ?? null,
      createdBy: createdBy(caller),
      audience: request.audience,
      content: request.content,
      title: request.content.title ?? null,
      windowMs,
    });
    if (!isNew) return rollback('taken');
    const started = await startMessage(
      { tx, clock },
      { appId: caller.appId, id, audience: request.audience, windowMs, plan, claimId: isPaused() ? null : claim.id },
    );
    if (started.accepted > 0 && !started.isOwn) await tx`SELECT pg_notify(${batchesChannel}, '')`;
    await failpoint('message.before_commit');
    failpointAfterCommitSent('message.after_commit_sent');
    return { id, isReplay: false, claim: started.isOwn && started.accepted > 0 ? claim : null };
  });
}
