import { expect, test } from 'vitest';
import type { Outcome } from '../channels/channel.ts';
import type { BatchContext, PlannedPush, Target } from './plan-push.ts';
import { type PushDeps, pushOne } from './push-one.ts';
import type { SendRequest } from './senders.ts';

const windowEndsAtMs = 60_000;

/** A push that waits for its connection, while the clock goes on and the message may be ended; then it is asked for. */
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
  const context = {
    batch: { dueAt: new Date(0), claims: 1 },
    messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    content: { render: () => ({ kind: 'content', content: { title: 'Sale' } }), literalUrls: () => '' },
    tokenOf: () => 'AQGS',
    publicUrl: null,
    defaultUrl: null,
    isWanted: () => isWanted,
  } as unknown as BatchContext;
  const route = { channel: 'webpush', sender, credential: { id: 1 }, ttlSeconds: 60, windowEndsAtMs };
  const target = { deviceId: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f', person: { language: null }, locale: null };
  const deps = { clock, lanes: { pause: () => undefined }, random: () => 0 } as unknown as PushDeps;
  const planned = { kind: 'planned', token: '{}', route } as unknown as PlannedPush;
  const result = await pushOne(deps, context, target as unknown as Target, planned, []);
  return { kind: result.kind, requests };
}

test('a push that has waited for a connection goes out within its window', async () => {
  expect(await pushAfter(windowEndsAtMs - 1, true)).toEqual({ kind: 'attempted', requests: 1 });
});

test('R-91 after its window it does not: it is looked at anew, and is no attempt', async () => {
  expect(await pushAfter(windowEndsAtMs, true)).toEqual({ kind: 'deferred', requests: 0 });
});

test('nor does it once its message was ended', async () => {
  expect(await pushAfter(0, false)).toEqual({ kind: 'deferred', requests: 0 });
});
