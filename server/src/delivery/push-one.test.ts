import { expect, test } from 'vitest';
import type { Outcome } from '../channels/channel.ts';
import type { Attempt } from './delivery.ts';
import type { BatchContext, PlannedPush, Target } from './plan-push.ts';
import { type PushDeps, type PushPace, pushOne } from './push-one.ts';
import type { SendRequest } from './senders.ts';

const windowEndsAtMs = 60_000;

/**
 * A push that waits for its connection. Meanwhile the clock goes on and the message may be ended;
 * then the channel asks whether the push is wanted.
 */
async function pushAfter(waitedMs: number, isStillWanted: boolean) {
  const clock = { ms: 0, nowMs: () => clock.ms };
  let isWanted = true;
  let requests = 0;
  const outcomeOf = (kind: 'sent' | 'unwanted'): Outcome => {
    const provider = { name: 'webpush', headers: {}, body: null, truncated: false } as const;
    if (kind === 'sent') {
      const accepted = { ...provider, httpStatus: 201, transportError: null };
      return { kind, providerMessageId: null, provider: accepted, latencyMs: 1 };
    }
    const unsent = { ...provider, httpStatus: null, transportError: 'connect_error' } as const;
    const refused = { kind: 'refused', errorCode: 'provider_unavailable', retryable: true } as const;
    return { ...refused, retryAfterMs: null, reason: null, provider: unsent, latencyMs: 0 };
  };
  const sender = {
    async send(request: SendRequest): Promise<Outcome> {
      clock.ms += waitedMs;
      isWanted = isStillWanted;
      if (request.isWanted?.() === false) return outcomeOf('unwanted');
      requests += 1;
      return outcomeOf('sent');
    },
  };
  const { kind } = await push(clock, sender, () => isWanted);
  return { kind, requests };
}

/** A push that ends with this outcome. */
function pushWith(outcome: Outcome, before: readonly Attempt[]) {
  return push({ nowMs: () => 0 }, { send: async () => outcome }, () => true, before);
}

async function push(
  clock: { nowMs(): number },
  sender: object,
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
  const route = { channel: 'webpush', sender, credential: { id: 1 }, ttlSeconds: 60, windowEndsAtMs };
  const target = { deviceId: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f', person: { language: null }, locale: null };
  const deps = { clock, lanes: { pause: () => undefined }, random: () => 0 } as unknown as PushDeps;
  const planned = { kind: 'planned', token: '{}', route } as unknown as PlannedPush;
  return pushOne(deps, context, target as unknown as Target, planned, before, pace);
}

test('a push that has waited for a connection goes out within its window', async () => {
  expect(await pushAfter(windowEndsAtMs - 1, true)).toEqual({ kind: 'attempted', requests: 1 });
});

test('R-91 a push whose window has ended is deferred and is no attempt', async () => {
  expect(await pushAfter(windowEndsAtMs, true)).toEqual({ kind: 'deferred', requests: 0 });
});

test('R-91 an attempt that waited for another place began when it got that', async () => {
  const clock = { ms: 0, nowMs: () => clock.ms };
  const pace = {
    again: async () => undefined,
    ready: async () => {
      clock.ms = 500;
    },
  };
  const sender = {
    async send(request: SendRequest): Promise<Outcome> {
      await request.ready?.();
      const provider = { name: 'webpush', headers: {}, body: null, truncated: false, httpStatus: 201 } as const;
      return { kind: 'sent', providerMessageId: null, provider: { ...provider, transportError: null }, latencyMs: 1 };
    },
  };
  expect(await push(clock, sender, () => true, [], pace)).toMatchObject({ kind: 'attempted', atMs: 500 });
});

test('a push whose message has ended is deferred and is no attempt', async () => {
  expect(await pushAfter(0, false)).toEqual({ kind: 'deferred', requests: 0 });
});

test('R-27 a push whose host could not be looked up in time is no attempt, unless the delivery was tried before', async () => {
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
  expect(await pushWith(untried, [])).toMatchObject({ kind: 'deferred', untilMs: 15_000 });
  expect(await pushWith(untried, [attempt])).toMatchObject({ kind: 'attempted', outcome: untried });
});
