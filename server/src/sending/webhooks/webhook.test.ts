import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventBody } from './event-body.ts';
import { parseRetryAfter, retryInMs } from './retry.ts';
import { signatureOf, signingSecrets } from './signature.ts';
import { afterFailure, afterSuccess, type Health, pauseMs, probingHealth } from './webhook.ts';

const fresh: Health = { state: 'enabled', failures: 0, inFlightMax: 10, isProbing: false };
const times = (health: Health, many: number, step: (one: Health) => Health): Health =>
  Array.from({ length: many }).reduce<Health>(step, health);

describe('the health of a webhook', () => {
  it('has a window that grows by one with each 2xx, up to 64', () => {
    expect(times(fresh, 1, afterSuccess).inFlightMax).toBe(11);
    expect(times(fresh, 200, afterSuccess).inFlightMax).toBe(64);
  });

  it('never lets more be under way than failures are left until it is disabled', () => {
    for (let failures = 1; failures < 15; failures++) {
      const health = times(times(fresh, 100, afterSuccess), failures, afterFailure);
      expect(health).toMatchObject({ state: 'enabled', failures, inFlightMax: Math.min(10, 15 - failures) });
    }
  });

  it('is disabled by the 15th failure in a row, and by no later success enabled', () => {
    const dead = times(fresh, 15, afterFailure);
    expect(dead).toMatchObject({ state: 'disabled', failures: 15 });
    expect(afterSuccess(dead)).toBe(dead);
    expect(times(afterSuccess(times(fresh, 14, afterFailure)), 14, afterFailure).state).toBe('enabled');
  });

  it('is probed by one request at a time until a 2xx, and then has its first window', () => {
    expect(afterFailure(probingHealth)).toMatchObject({ failures: 1, inFlightMax: 1, isProbing: true });
    expect(afterSuccess(afterFailure(probingHealth))).toEqual(fresh);
  });

  it.each([
    [0, 2000, 0],
    [1, 2000, 100],
    [2, 2000, 200],
    [5, 2000, 1600],
    [6, 2000, 2000],
    [14, 2000, 2000],
    [3, 0, 0],
  ])('after %d failures rests, of at most %d ms, for %d', (failures, most, expected) => {
    expect(pauseMs(failures, most)).toBe(expected);
  });
});

describe('the schedule of an event', () => {
  const schedule = [5, 30, 120];

  it.each([
    [1, null, 0.5, 5000],
    [1, null, 0, 4000],
    [2, null, 0.999999, 36_000],
    [1, 1000, 0.5, 5000],
    [1, 7000, 0.5, 7000],
    [1, 60_000, 0.5, 10_000],
    [3, null, 0.5, 120_000],
    [4, null, 0.5, undefined],
  ])('after attempt %d with Retry-After %s and chance %d waits %s ms', (attempts, retryAfterMs, random, expected) => {
    expect(retryInMs(schedule, attempts, retryAfterMs, random)).toBe(expected);
  });

  it.each([
    ['7', 7000],
    ['Sat, 01 Jan 2028 00:00:10 GMT', 10_000],
    ['Sat, 01 Jan 2022 00:00:00 GMT', 0],
    ['soon', null],
    [undefined, null],
  ])('reads Retry-After: %s as %s', (value, expected) => {
    expect(parseRetryAfter(value, Date.UTC(2028, 0, 1))).toBe(expected);
  });
});

describe('the signature', () => {
  // The vectors of contract 13.3, which the SDK's tests read too.
  const path = new URL('../../../../docs/vectors.json', import.meta.url);
  const { webhook } = JSON.parse(readFileSync(path, 'utf8')) as {
    webhook: {
      secrets: { new: string };
      valid: { name: string; secrets: string[]; t: number; body: string; signature: string }[];
    };
  };
  const secret = webhook.secrets.new;

  it.each(webhook.valid)('is that of the published vectors: $name', ({ secrets, t, body, signature }) => {
    expect(signatureOf(secrets, t, Buffer.from(body))).toBe(signature);
  });

  it('is that of the contract', () => {
    const [first] = webhook.valid;
    expect(Buffer.from(first?.body ?? '')).toHaveLength(194);
    expect(first?.signature).toBe('t=1795256130,v1=1faf79dbd3986f5d60d7497e3409a6597308c9e4c7f5f170c6592f759a64e8bf');
  });

  it('covers empty and very small bodies', () => {
    for (const small of ['', '{', '{}']) {
      const wanted = createHmac('sha256', secret).update(`7.${small}`).digest('hex');
      expect(signatureOf([secret], 7, Buffer.from(small))).toBe(`t=7,v1=${wanted}`);
    }
  });

  it.each([
    ['no rotation', { pending: null, finishAt: null, isDual: false }, ['a']],
    ['a pending one', { pending: 'b', finishAt: null, isDual: false }, ['a']],
    ['both, the new one first', { pending: 'b', finishAt: null, isDual: true }, ['b', 'a']],
    ['one that is to finish later', { pending: 'b', finishAt: new Date(2000), isDual: false }, ['a']],
    ['one whose time has come', { pending: 'b', finishAt: new Date(1000), isDual: true }, ['b']],
  ])('with %s is made by the right secrets', (_what, rotation, expected) => {
    expect(signingSecrets({ secret: 'a', ...rotation }, 1000)).toEqual(expected);
  });
});

describe('the body of an event', () => {
  it('has its keys in the documented order, whatever the order in which details were stored', () => {
    const text = eventBody({
      kind: 'message.clicked',
      at: new Date('2026-11-21T10:20:02.511Z'),
      messageId: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f',
      deviceId: '9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0',
      channel: 'webpush',
      errorCode: null,
      metadata: { campaign: 'autumn-26' },
      details: { action: null, url: 'https://shop.example/offers', external_id: 'u-42' },
    }).toString();
    expect(text).toBe(
      '{"event":"message.clicked","created_at":"2026-11-21T10:20:02.511Z","data":{"message_id":"msg_02y9GVDsTuJUi2BOoCH5G3","device_id":"dev_4r4tgBwaHmRyQNukgzmqsi","channel":"webpush","error_code":null,"external_id":"u-42","url":"https://shop.example/offers","action":null,"metadata":{"campaign":"autumn-26"}}}',
    );
  });
});
