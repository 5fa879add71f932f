import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { type ApnsCredential, parseApnsCredential } from './credential.ts';
import { createProviderTokens } from './provider-token.ts';

const startMs = Date.parse('2026-11-21T10:15:30.900Z');
const minuteMs = 60_000;

function credential(changed: Partial<Record<'keyId' | 'teamId' | 'bundleId' | 'p8', string>> = {}): ApnsCredential {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const p8 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const shown = { keyId: 'ABC123DEFG', teamId: 'DEF123GHIJ', bundleId: 'com.example.shop', environment: 'production' };
  const parsed = parseApnsCredential({ p8, ...shown, ...changed });
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  return parsed.credential;
}

function setup() {
  const clock = {
    now: startMs,
    setByMs: 0,
    isDoubted: false,
    nowMs: () => clock.now + clock.setByMs,
    steadyMs: () => clock.now,
    isInDoubt: () => clock.isDoubted,
  };
  return { clock, tokens: createProviderTokens(clock) };
}

test('jose verifies the token: the header and the claims are those that Apple documents, and no others', async () => {
  const { tokens } = setup();
  const sender = credential();
  const { payload, protectedHeader } = await jwtVerify(tokens.tokenFor(sender), createPublicKey(sender.privateKey));
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'ABC123DEFG' });
  expect(payload).toEqual({ iss: 'DEF123GHIJ', iat: Math.floor(startMs / 1_000) });
});

describe('one token serves', () => {
  test('for 50 minutes, so that a day needs 29 of them', () => {
    const { tokens, clock } = setup();
    const sender = credential();
    const minted = new Map<string, number>();
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      clock.now = startMs + minute * minuteMs;
      const token = tokens.tokenFor(sender);
      if (!minted.has(token)) minted.set(token, minute);
    }
    expect([...minted.values()]).toEqual(Array.from({ length: 29 }, (_, i) => i * 50));
  });

  test('every app of the team, but no other team, no other key, and no other key of the same id', () => {
    const { tokens } = setup();
    const one = credential();
    const token = tokens.tokenFor(one);
    expect(tokens.tokenFor({ ...one, bundleId: 'com.example.other' })).toBe(token);
    expect(tokens.tokenFor({ ...one, teamId: 'AAAAAAAAAA' })).not.toBe(token);
    expect(tokens.tokenFor({ ...one, keyId: 'AAAAAAAAAA' })).not.toBe(token);
    expect(tokens.tokenFor(credential())).not.toBe(token);
    expect(tokens.tokenFor(one)).toBe(token);
  });

  test('R-100 however the clock is set: Apple judges by its own', () => {
    const { tokens, clock } = setup();
    const sender = credential();
    const token = tokens.tokenFor(sender);
    for (const minutes of [-120, -10, 10, 120]) {
      clock.setByMs = minutes * minuteMs;
      expect(tokens.tokenFor(sender)).toBe(token);
    }
  });
});

test('R-100 a token is not renewed by a host whose clock is set forward: Apple throttles renewals', () => {
  const { tokens, clock } = setup();
  const sender = credential();
  const token = tokens.tokenFor(sender);
  // The steady time includes the step, because the host may have slept. Only the database's clock
  // shows that it did not.
  clock.now += 120 * minuteMs;
  clock.setByMs = -120 * minuteMs;
  expect(tokens.tokenFor(sender)).toBe(token);
  // Later the database's clock is set, too.
  clock.setByMs = 0;
  expect(tokens.tokenFor(sender)).toBe(token);
});

test('R-100 a token is renewed after a sleep, which is known only when the doubt is over', () => {
  const { tokens, clock } = setup();
  const sender = credential();
  const token = tokens.tokenFor(sender);
  clock.now += 120 * minuteMs;
  clock.setByMs = -120 * minuteMs;
  clock.isDoubted = true;
  tokens.tokenFor(sender);
  clock.setByMs = 0;
  clock.isDoubted = false;
  expect(tokens.tokenFor(sender)).not.toBe(token);
});

test('R-100 a token made while the clock is in doubt, and perhaps hours old, serves no later push', () => {
  const { tokens, clock } = setup();
  const sender = credential();
  clock.isDoubted = true;
  const doubted = tokens.tokenFor(sender);
  clock.isDoubted = false;
  const token = tokens.tokenFor(sender);
  expect(token).not.toBe(doubted);
  expect(tokens.tokenFor(sender)).toBe(token);
});

describe.each(['expired', 'invalid'] as const)('R-100 a token that Apple calls %s', (fault) => {
  test('is renewed at once when the clock went back before its time', () => {
    const { tokens, clock } = setup();
    const sender = credential();
    const token = tokens.tokenFor(sender);
    clock.setByMs = -30_000;
    expect(tokens.renew(sender, token, fault)).toBeUndefined();
    clock.setByMs = -2 * minuteMs;
    const renewed = tokens.renew(sender, token, fault);
    expect(renewed).toBeDefined();
    expect(renewed).not.toBe(token);
    expect(tokens.tokenFor(sender)).toBe(renewed);
  });
});

test('a token that Apple calls invalid is not renewed for its age', () => {
  const { tokens, clock } = setup();
  const sender = credential();
  const token = tokens.tokenFor(sender);
  clock.now = startMs + 30 * minuteMs;
  expect(tokens.renew(sender, token, 'invalid')).toBeUndefined();
});

describe('a token that Apple calls expired', () => {
  test('is renewed when it is 20 minutes old, and never sooner', () => {
    const { tokens, clock } = setup();
    const sender = credential();
    const token = tokens.tokenFor(sender);
    clock.now = startMs + 20 * minuteMs - 1;
    expect(tokens.renew(sender, token, 'expired')).toBeUndefined();
    expect(tokens.tokenFor(sender)).toBe(token);
    clock.now = startMs + 20 * minuteMs;
    const renewed = tokens.renew(sender, token, 'expired');
    expect(renewed).not.toBe(token);
    expect(tokens.tokenFor(sender)).toBe(renewed);
  });

  test('is renewed once for all pushes that it failed', () => {
    const { tokens, clock } = setup();
    const sender = credential();
    const token = tokens.tokenFor(sender);
    clock.now = startMs + 30 * minuteMs;
    const renewed = tokens.renew(sender, token, 'expired');
    expect([tokens.renew(sender, token, 'expired'), tokens.renew(sender, token, 'expired')]).toEqual([
      renewed,
      renewed,
    ]);
  });
});
