import { createPublicKey, verify } from 'node:crypto';
import { importJWK, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import webPush from 'web-push';
import {
  createVapidHeaders,
  generateVapidKeys,
  isVapidSubject,
  parseVapidKeys,
  vapidSigningInput,
  type WebPushCredential,
} from './vapid.ts';

const startMs = Date.parse('2026-11-21T10:15:30Z');
const hourMs = 3_600_000;

function credential(changed: { id?: string; subject?: string } = {}): WebPushCredential {
  const parsed = parseVapidKeys({ id: 'key-1', subject: 'mailto:ops@example.com', ...generateVapidKeys(), ...changed });
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  return parsed.credential;
}

function jwkOf(publicKey: string) {
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
  return { kty: 'EC', crv: 'P-256', x, y };
}

function settableClock() {
  let nowMs = startMs;
  let steadyMs = 0;
  return {
    nowMs: () => nowMs,
    steadyMs: () => steadyMs,
    set: (ms: number) => (nowMs = ms),
    pass(ms: number) {
      nowMs += ms;
      steadyMs += ms;
    },
  };
}

describe('RFC 8292, section 2.4', () => {
  const token =
    'eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA';
  const publicKey = 'BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs';

  test('our signed text equals that of the vector, byte for byte', () => {
    const input = vapidSigningInput('https://push.example.net', 1_453_523_768, 'mailto:push@example.com');
    expect(input).toBe(token.slice(0, token.lastIndexOf('.')));
  });

  test('its signature is of the form we make: 64 bytes, no DER', () => {
    const [input, signature] = [token.slice(0, token.lastIndexOf('.')), token.slice(token.lastIndexOf('.') + 1)];
    const key = createPublicKey({ key: jwkOf(publicKey), format: 'jwk' });
    const isValid = verify(
      'sha256',
      Buffer.from(input),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    expect(isValid).toBe(true);
  });
});

describe('the Authorization header', () => {
  test('jose verifies the token with the key beside it', async () => {
    const sender = credential();
    const header = createVapidHeaders(settableClock()).headerFor('https://fcm.googleapis.com', sender);
    const [, token = '', key] = /^vapid t=([^,]+), k=([A-Za-z0-9_-]{87})$/.exec(header) ?? [];
    expect(key).toBe(sender.publicKey);
    const { payload, protectedHeader } = await jwtVerify(token, await importJWK(jwkOf(sender.publicKey), 'ES256'), {
      audience: 'https://fcm.googleapis.com',
      subject: 'mailto:ops@example.com',
      currentDate: new Date(startMs),
    });
    expect(protectedHeader).toEqual({ typ: 'JWT', alg: 'ES256' });
    expect(payload.exp).toBe(startMs / 1_000 + 12 * 3_600);
  });

  test('it is kept per origin and key: one signature for every subscription there', () => {
    const vapid = createVapidHeaders(settableClock());
    const [one, two] = [credential(), credential({ id: 'key-2' })];
    const header = vapid.headerFor('https://a.example', one);
    expect(vapid.headerFor('https://a.example', one)).toBe(header);
    expect(vapid.headerFor('https://b.example', one)).not.toBe(header);
    expect(vapid.headerFor('https://a.example', two)).not.toBe(header);
    expect(vapid.headerFor('https://a.example', one)).toBe(header);
  });

  test('it is renewed in its last hour and not before, so never twice within an hour', () => {
    const clock = settableClock();
    const vapid = createVapidHeaders(clock);
    const sender = credential();
    const minted = new Map<string, number>();
    for (let minute = 0; minute < 60 * 72; minute += 1) {
      clock.set(startMs + minute * 60_000);
      const header = vapid.headerFor('https://a.example', sender);
      if (!minted.has(header)) minted.set(header, minute);
    }
    expect([...minted.values()]).toEqual([0, 660, 1_320, 1_980, 2_640, 3_300, 3_960]);
  });

  test('after a clock went back by a day it is made again, because services refuse a token of more than 24 h', () => {
    const clock = settableClock();
    const vapid = createVapidHeaders(clock);
    const sender = credential();
    const header = vapid.headerFor('https://a.example', sender);
    clock.set(startMs - 11 * hourMs);
    expect(vapid.headerFor('https://a.example', sender)).toBe(header);
    clock.set(startMs - 24 * hourMs);
    expect(vapid.headerFor('https://a.example', sender)).not.toBe(header);
  });

  test('no header is older than its life, also after a clock was set back for two hours', () => {
    const clock = settableClock();
    const vapid = createVapidHeaders(clock);
    const sender = credential();
    const header = vapid.headerFor('https://a.example', sender);
    clock.pass(10 * hourMs);
    clock.set(clock.nowMs() - 2 * hourMs);
    expect(vapid.headerFor('https://a.example', sender)).toBe(header);
    clock.pass(hourMs);
    expect(vapid.headerFor('https://a.example', sender)).not.toBe(header);
  });

  test('a changed subject is used at once', () => {
    const vapid = createVapidHeaders(settableClock());
    const sender = credential();
    const header = vapid.headerFor('https://a.example', sender);
    expect(vapid.headerFor('https://a.example', { ...sender, subject: 'mailto:new@example.com' })).not.toBe(header);
  });
});

describe('keys', () => {
  test('ours have the form that web-push makes and accepts', () => {
    const ours = generateVapidKeys();
    expect(() => webPush.setVapidDetails('mailto:ops@example.com', ours.publicKey, ours.privateKey)).not.toThrow();
    const theirs = webPush.generateVAPIDKeys();
    expect(parseVapidKeys({ id: 'k', subject: 'https://example.com', ...theirs })).toHaveProperty('credential');
  });

  test('every generated pair is whole, also when a number begins with zeros', () => {
    for (let i = 0; i < 600; i += 1) {
      const { publicKey, privateKey } = generateVapidKeys();
      expect([publicKey.length, privateKey.length]).toEqual([87, 43]);
    }
  });

  const good = generateVapidKeys();
  test.each([
    [{ publicKey: good.publicKey.slice(1) }, ['publicKey']],
    [{ publicKey: `${good.publicKey.slice(0, -2)}-+` }, ['publicKey']],
    [{ privateKey: good.publicKey }, ['privateKey']],
    [{ privateKey: Buffer.alloc(32).toString('base64url') }, ['privateKey']],
    [{ privateKey: Buffer.alloc(32, 255).toString('base64url') }, ['privateKey']],
    [{ privateKey: generateVapidKeys().privateKey }, ['privateKey']],
    [{ subject: 'mailto:root@localhost', publicKey: '' }, ['publicKey', 'subject']],
  ])('%j is refused', (changed, fields) => {
    const parsed = parseVapidKeys({ id: 'k', subject: 'mailto:ops@example.com', ...good, ...changed });
    expect('issues' in parsed && parsed.issues.map(({ path }) => path[0])).toEqual(fields);
  });

  test.each([
    ['mailto:ops@example.com', true],
    ['mailto:first.last+push@mail.example.com', true],
    ['https://example.com/contact', true],
    ['mailto: ops@example.com', false],
    ['mailto:<ops@example.com>', false],
    ['mailto:ops@localhost', false],
    ['mailto:ops', false],
    ['ops@example.com', false],
    ['https://localhost', false],
    ['https://127.0.0.1/', false],
    ['http://example.com', false],
    ['', false],
  ])('subject %j: %j', (subject, expected) => {
    expect(isVapidSubject(subject)).toBe(expected);
  });
});
