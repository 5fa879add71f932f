import { expect, test } from 'vitest';
import type { Outcome, SentPush } from '../channels/channel.ts';
import type { Attempt } from './delivery.ts';
import type { BatchContext, PlannedPush, Target } from './plan-push.ts';
import { type Late, type PushDeps, type PushPace, type PushResult, PushUnderWay } from './push-under-way.ts';

const windowEndsAtMs = 60_000;
const noAnswer = { name: 'webpush', headers: {}, body: null, truncated: false } as const;
const accepted: Outcome = {
  kind: 'sent',
  providerMessageId: null,
  provider: { ...noAnswer, httpStatus: 201, transportError: null },
  latencyMs: 1,
};
/** The outcome of a request that was no longer wanted when it was about to be sent. */
const unsent: Outcome = {
  kind: 'refused',
  errorCode: 'provider_unavailable',
  retryable: true,
  retryAfterMs: null,
  reason: null,
  provider: { ...noAnswer, httpStatus: null, transportError: 'connect_error' },
  latencyMs: 0,
};

/**
 * A push that waits for its connection. Meanwhile the clock goes on and the message may end. Then
 * the channel asks whether the push is still wanted.
 */
function pushAfter(waitedMs: number, isStillWanted: boolean) {
  const clock = { ms: 0, nowMs: () => clock.ms, isInDoubt: () => false };
  let isWanted = true;
  let requests = 0;
  const answer = (request: SentPush<unknown>): Outcome => {
    clock.ms += waitedMs;
    isWanted = isStillWanted;
    if (request.isWanted?.() === false) return unsent;
    requests += 1;
    return accepted;
  };
  const { kind } = push(clock, answer, () => isWanted);
  return { kind, requests };
}

/**
 * A push of a message with a rate. It waits for its connection and then makes this many requests,
 * as far as it may. Its token is too old after 20 ms.
 */
function pushPacedAfter(waitedMs: number, requestsWanted = 1) {
  const clock = { ms: 0, nowMs: () => clock.ms, isInDoubt: () => false };
  let requests = 0;
  const answer = (request: SentPush<unknown>): Outcome => {
    for (let i = 0; i < requestsWanted; i++) {
      clock.ms += waitedMs;
      if (request.isWanted?.() === false) return unsent;
      requests += 1;
    }
    return accepted;
  };
  const pace = { again: async () => undefined, isLate: () => clock.ms > 20 };
  return { result: push(clock, answer, () => true, [], pace), requests };
}

/** A push that ends with this outcome. */
function pushWith(outcome: Outcome, before: readonly Attempt[]) {
  return push(
    { nowMs: () => 0, isInDoubt: () => false },
    () => outcome,
    () => true,
    before,
  );
}

function push(
  clock: { nowMs(): number; isInDoubt(): boolean },
  answer: (request: SentPush<unknown>) => Outcome,
  isWanted: () => boolean,
  before: readonly Attempt[] = [],
  pace?: PushPace,
) {
  const context = {
    batch: { dueAt: new Date(0), claims: 1 },
    messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    content: { render: () => ({ kind: 'content', content: { title: 'Sale' } }), literalUrls: () => '' },
    tokenOf: () => 'AQGS',
    publicUrl: null,
    defaultUrl: null,
    isWanted,
  } as unknown as BatchContext;
  const credential = { send: (request: SentPush<unknown>) => request.onOutcome(answer(request)) };
  const route = { channel: 'webpush', credentialId: 1, credential, ttlSeconds: 60, windowEndsAtMs };
  const target = { deviceId: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f', person: { language: null }, locale: null };
  const deps = {
    clock,
    lanes: { pause: () => undefined },
    random: () => 0,
  } as unknown as PushDeps;
  const planned = { kind: 'planned', token: '{}', route } as unknown as PlannedPush;
  const results: (PushResult | Late)[] = [];
  const hearer = { hear: (made: PushUnderWay, outcome: Outcome) => void results.push(made.resultOf(outcome)) };
  const made = new PushUnderWay(deps, context, target as unknown as Target, planned, before, hearer, pace);
  const result = made.begin();
  if (result) results.push(result);
  expect(results).toHaveLength(1);
  return results[0] as PushResult | Late;
}

test('a push that has waited for a connection goes out within its window', () => {
  expect(pushAfter(windowEndsAtMs - 1, true)).toEqual({ kind: 'attempted', requests: 1 });
});

test('R-91 a push whose window has ended is deferred and is no attempt', () => {
  expect(pushAfter(windowEndsAtMs, true)).toEqual({ kind: 'deferred', requests: 0 });
});

test('R-91 a push whose token is too old before its request is late and no attempt', () => {
  expect(pushPacedAfter(21)).toEqual({ result: { kind: 'late' }, requests: 0 });
  expect(pushPacedAfter(20)).toMatchObject({ result: { kind: 'attempted' }, requests: 1 });
});

test('R-91 a push that has begun is not late with its second request, whose token it took by itself', () => {
  expect(pushPacedAfter(15, 2)).toMatchObject({ result: { kind: 'attempted' }, requests: 2 });
});

test('R-100 a push without a request is no attempt when a clock has stepped, because the step may be why', () => {
  const clock = { steps: 0, nowMs: () => 0, isInDoubt: () => false };
  const unsentAfterStep = (): Outcome => {
    clock.steps += 1;
    return unsent;
  };
  expect(push(clock, unsentAfterStep, () => true)).toMatchObject({ kind: 'deferred' });
});

test('an attempt begins when its first request goes out', () => {
  expect(pushPacedAfter(15, 2)).toMatchObject({ result: { atMs: 15 } });
});

test('a push that is late and no longer wanted is deferred, because it needs no other token', () => {
  const isLate = { again: async () => undefined, isLate: () => true };
  const answer = (request: SentPush<unknown>) => (request.isWanted?.() ? accepted : unsent);
  expect(push({ nowMs: () => 0, isInDoubt: () => false }, answer, () => false, [], isLate)).toMatchObject({
    kind: 'deferred',
  });
  expect(push({ nowMs: () => 0, isInDoubt: () => false }, answer, () => true, [], isLate)).toEqual({ kind: 'late' });
});

test('a second outcome of a push changes nothing', () => {
  const twice = (request: SentPush<unknown>) => {
    request.onOutcome(accepted);
    return unsent;
  };
  expect(push({ nowMs: () => 0, isInDoubt: () => false }, twice, () => true)).toMatchObject({
    kind: 'attempted',
    outcome: accepted,
  });
});

test('a push whose message has ended is deferred and is no attempt', () => {
  expect(pushAfter(0, false)).toEqual({ kind: 'deferred', requests: 0 });
});

test('R-27 a push whose host could not be looked up in time is no attempt, unless the delivery was tried before', () => {
  const provider = { name: 'webpush', httpStatus: null, headers: {}, body: null, truncated: false } as const;
  const untried: Outcome = {
    kind: 'refused',
    errorCode: 'provider_unavailable',
    retryable: true,
    retryAfterMs: null,
    reason: null,
    provider: { ...provider, transportError: 'dns_error' },
    latencyMs: 2_000,
    isUntried: true,
  };
  const attempt = { error_code: 'provider_unavailable', at: new Date(0).toISOString(), provider: null } as Attempt;
  expect(pushWith(untried, [])).toMatchObject({ kind: 'deferred', untilMs: 15_000 });
  expect(pushWith(untried, [attempt])).toMatchObject({ kind: 'attempted', outcome: untried });
});
