import { createECDH, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { refusedUrls } from '../../../../test/fixtures/refused-urls.ts';
import { noExceptions, parseOutboundExceptions } from '../../../ground/outbound/address-guard.ts';
import { checkSubscription, type EndpointRules, readSubscription } from './endpoint.ts';

const rules: EndpointRules = { pushHosts: [], exceptions: noExceptions, ownHosts: ['push.example.com'] };
const anyHost: EndpointRules = { ...rules, pushHosts: ['*'] };

const browser = createECDH('prime256v1');
browser.generateKeys();
const p256dh = browser.getPublicKey('base64url');
const auth = randomBytes(16).toString('base64url');
const endpoint = 'https://fcm.googleapis.com/fcm/send/abc:def?x=1';
const token = { endpoint, expirationTime: null, keys: { p256dh, auth } };

function issuesOf(value: unknown, changed: EndpointRules = rules) {
  const checked = checkSubscription(value, changed);
  return 'issues' in checked ? checked.issues.map(({ path, code }) => [path.join('.'), code]) : 'accepted';
}

describe('a subscription as a browser gives it', () => {
  test('as an object or as its JSON: the same subscription', () => {
    const checked = checkSubscription(token, rules);
    expect(checked).toEqual(checkSubscription(JSON.stringify(token), rules));
    expect(checked).toEqual({
      subscription: {
        endpoint,
        origin: 'https://fcm.googleapis.com',
        host: 'fcm.googleapis.com',
        port: 443,
        path: '/fcm/send/abc:def?x=1',
        p256dh: browser.getPublicKey(),
        auth: Buffer.from(auth, 'base64url'),
      },
    });
  });

  test.each([
    ['without expirationTime', { endpoint, keys: { p256dh, auth } }],
    ['with one', { ...token, expirationTime: 1_795_256_130_000 }],
    ['with padded keys', { endpoint, keys: { p256dh: `${p256dh}=`, auth: `${auth}==` } }],
  ])('%s it is accepted', (_name, value) => {
    expect(issuesOf(value)).toBe('accepted');
  });

  test.each(['base64', 'base64url'] as const)('R-37 its keys in %s, padded or not, are the same keys', (encoding) => {
    const secret = Buffer.from('++//++//++//++//++//+w', 'base64');
    const bare = { endpoint, keys: { p256dh, auth: secret.toString('base64url') } };
    for (const padding of [true, false]) {
      const write = (bytes: Buffer) => {
        const text = bytes.toString(encoding).replaceAll('=', '');
        return padding ? text.padEnd(Math.ceil(text.length / 4) * 4, '=') : text;
      };
      const keys = { p256dh: write(browser.getPublicKey()), auth: write(secret) };
      expect(checkSubscription({ endpoint, keys }, rules)).toEqual(checkSubscription(bare, rules));
      expect(readSubscription({ endpoint, keys }, rules)).toEqual(readSubscription(bare, rules));
    }
  });

  test('several spellings of one endpoint are one endpoint', () => {
    const checked = checkSubscription({ ...token, endpoint: 'HTTPS://FCM.GoogleAPIs.com:443/wp/a?b=C' }, rules);
    expect('subscription' in checked && checked.subscription.endpoint).toBe('https://fcm.googleapis.com/wp/a?b=C');
  });
});

const offCurve = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]).toString('base64url');
const compressed = browser.getPublicKey('base64url', 'compressed');
const hybrid = Buffer.concat([Buffer.from([6]), browser.getPublicKey().subarray(1)]).toString('base64url');

describe('R-36 anything else is refused, and the refusal names the place', () => {
  test.each([
    ['no JSON', '{', [['', 'invalid_format']]],
    ['text that is no subscription', 'abc', [['', 'invalid_format']]],
    ['null', 'null', [['', 'invalid_type']]],
    ['a list', [], [['', 'invalid_type']]],
    ['a number', 7, [['', 'invalid_type']]],
    ['nothing', undefined, [['', 'invalid_format']]],
    ['over 4,096 bytes', { ...token, endpoint: `${endpoint}${'ü'.repeat(2_000)}` }, [['', 'too_big']]],
    ['over 4,096 bytes of white space', `${JSON.stringify(token)}${' '.repeat(4_096)}`, [['', 'too_big']]],
    ['text over 4,096 bytes that is no JSON either', '['.repeat(4_097), [['', 'too_big']]],
    [
      'an endpoint over 2 KB once encoded',
      { ...token, endpoint: `${endpoint}${'é'.repeat(400)}` },
      [['endpoint', 'too_big']],
    ],
    [
      'the same as text',
      JSON.stringify({ ...token, endpoint: `${endpoint}${'é'.repeat(1_500)}` }),
      [['endpoint', 'too_big']],
    ],
    ['an endpoint over 2 KB', { ...token, endpoint: `${endpoint}${'a'.repeat(2_048)}` }, [['endpoint', 'too_big']]],
    [
      'an empty object',
      {},
      [
        ['endpoint', 'required'],
        ['keys', 'required'],
      ],
    ],
    ['an unknown key', { ...token, x: 1 }, [['', 'unrecognized_keys']]],
    ['an unknown key among the keys', { ...token, keys: { p256dh, auth, x: 1 } }, [['keys', 'unrecognized_keys']]],
    ['__proto__', `{"__proto__":1,${JSON.stringify(token).slice(1)}`, [['', 'unrecognized_keys']]],
    [
      'keys missing',
      { ...token, keys: {} },
      [
        ['keys.p256dh', 'required'],
        ['keys.auth', 'required'],
      ],
    ],
    ['keys null', { ...token, keys: null }, [['keys', 'invalid_type']]],
    [
      'wrong types',
      { endpoint: 1, expirationTime: 'x', keys: { p256dh: 1, auth: [] } },
      [
        ['expirationTime', 'invalid_type'],
        ['endpoint', 'invalid_type'],
        ['keys.p256dh', 'invalid_type'],
        ['keys.auth', 'invalid_type'],
      ],
    ],
    ['a point off the curve', { ...token, keys: { p256dh: offCurve, auth } }, [['keys.p256dh', 'invalid_format']]],
    ['a compressed point', { ...token, keys: { p256dh: compressed, auth } }, [['keys.p256dh', 'invalid_format']]],
    ['a hybrid point', { ...token, keys: { p256dh: hybrid, auth } }, [['keys.p256dh', 'invalid_format']]],
    ['a huge key', { ...token, keys: { p256dh: 'A'.repeat(1_500), auth } }, [['keys.p256dh', 'invalid_format']]],
    [
      'two alphabets in one key',
      { ...token, keys: { p256dh, auth: '++//--__++//++//++//+w' } },
      [['keys.auth', 'invalid_format']],
    ],
    ['padding inside a key', { ...token, keys: { p256dh, auth: `${auth}==AA` } }, [['keys.auth', 'invalid_format']]],
    ['a key with a space', { ...token, keys: { p256dh: ` ${p256dh}`, auth } }, [['keys.p256dh', 'invalid_format']]],
    ['auth of 15 bytes', { ...token, keys: { p256dh, auth: auth.slice(0, 20) } }, [['keys.auth', 'invalid_format']]],
    [
      'auth of 17 bytes',
      { ...token, keys: { p256dh, auth: `${auth.slice(0, 21)}AA` } },
      [['keys.auth', 'invalid_format']],
    ],
    [
      'empty keys',
      { ...token, keys: { p256dh: '', auth: '' } },
      [
        ['keys.p256dh', 'invalid_format'],
        ['keys.auth', 'invalid_format'],
      ],
    ],
  ])('%s', (_name, value, issues) => {
    expect(issuesOf(value)).toEqual(issues);
  });

  test('an unknown key is refused with the list of allowed keys', () => {
    const checked = checkSubscription({ ...token, x: 1 }, rules);
    expect('issues' in checked && checked.issues[0]).toEqual({
      path: [],
      code: 'unrecognized_keys',
      message: "Unknown: 'x'.",
      allowed: ['endpoint', 'expirationTime', 'keys'],
    });
  });

  test('an accepted subscription is accepted again as it was stored, in every spelling', () => {
    const longest = `${endpoint}${'é'.repeat(333)}`;
    const checked = checkSubscription({ ...token, endpoint: longest }, rules);
    const stored = 'subscription' in checked ? checked.subscription.endpoint : '';
    expect(stored).toHaveLength(endpoint.length + 6 * 333);
    expect(readSubscription(JSON.stringify({ endpoint: stored, keys: { p256dh, auth } }), rules)).toEqual(checked);
  });

  test('at send time the curve is left to the encryption', () => {
    expect(readSubscription({ ...token, keys: { p256dh: offCurve, auth } }, rules)).toHaveProperty('subscription');
  });
});

describe('R-36 the endpoints of the browsers, in the exact form of each vendor, and no other', () => {
  const to = (address: string) => ({ ...token, endpoint: `https://${address}` });
  const messageOf = (value: unknown) => {
    const checked = checkSubscription(value, rules);
    return 'issues' in checked ? (checked.issues[0]?.message ?? '') : 'accepted';
  };

  test.each([
    ...['fcm.googleapis.com/fcm/send/a', 'fcm.googleapis.com/wp/a:b', 'android.googleapis.com/gcm/send/a'],
    ...['jmt17.google.com/fcm/send/a', 'updates.push.services.mozilla.com/wpush/v2/a', 'web.push.apple.com/Qa'],
    ...['api.push.apple.com/x', 'wns2-by3p.notify.windows.com/w/?token=a', 'fcm.googleapis.com/preprod/wp/a:b'],
    ...['db3.notify.windows.com/w/?token=a', 'wns2-a-b.notify.windows.com/w/?token=a'],
  ])('%s is allowed', (address) => {
    expect(issuesOf(to(address))).toBe('accepted');
  });

  test.each([
    ...['push.apple.com', 'push.apple.com.evil.example', 'evilpush.apple.com', 'notify.windows.com', 'googleapis.com'],
    ...['xfcm.googleapis.com', 'fcm.googleapis.com.evil.example', 'push.services.mozilla.com', 'example.com'],
    ...['x.google.com', 'web.push.apple.com.'],
  ])('%s is not, at any path', (host) => {
    for (const path of ['x', 'fcm/send/x', 'wpush/v2/x', 'w/?token=x']) {
      expect(issuesOf(to(`${host}/${path}`))).not.toBe('accepted');
    }
  });

  test.each([
    ['fcm.googleapis.com/v1/projects/x/messages:send', '/fcm/send/'],
    ['fcm.googleapis.com/fcm/sendx', '/fcm/send/'],
    ['fcm.googleapis.com//fcm/send/x', '/fcm/send/'],
    ['fcm.googleapis.com/x/../y/fcm/send/x', '/fcm/send/'],
    ['updates.push.services.mozilla.com/x', '/wpush/'],
    ['other.push.services.mozilla.com/wpush/v2/x', 'updates.push.services.mozilla.com'],
    ['wns2-by3p.notify.windows.com/x', '/w/'],
    ['db3.notify.windows.com/?token=x', '/w/'],
    ['fcm.googleapis.com/preprod/fcm/send/x', '/preprod/wp/'],
    ['a.wns2-b.notify.windows.com/w/?token=x', '.notify.windows.com/w/'],
    ['a.b.notify.windows.com/w/?token=x', '.notify.windows.com/w/'],
    ['notify.windows.com/w/?token=x', '.notify.windows.com/w/'],
    ['wns.windows.com/w/?token=x', '.notify.windows.com/w/'],
    ['jmt18.google.com/fcm/send/x', 'https://fcm.googleapis.com/fcm/send/'],
    ['push.googleapis.com/wp/x', 'https://fcm.googleapis.com/wp/'],
    ['push.apple.com/x', '.push.apple.com/'],
    ['push.services.mozilla.com/wpush/v2/x', 'https://updates.push.services.mozilla.com/wpush/'],
  ])('%s belongs to a vendor but lacks its form, and the message names the form', (address, form) => {
    expect(issuesOf(to(address))).toEqual([['', 'host_not_allowed']]);
    expect(messageOf(to(address))).toContain(form);
  });

  test.each(['a.b.notify.windows.com/x', 'other.push.services.mozilla.com/x', 'fcm.googleapis.com/x'])(
    'a device that was stored with %s before is sent to still',
    (address) => {
      expect(readSubscription(to(address), rules)).toHaveProperty('subscription');
      expect(readSubscription(to('example.com/x'), rules)).toHaveProperty('issues');
    },
  );

  test("no path is judged at a host of the operator's", () => {
    const named = { ...rules, pushHosts: ['fcm.googleapis.com', '*.notify.windows.com'] };
    for (const address of ['fcm.googleapis.com/x', 'a.b.notify.windows.com/x']) {
      expect(issuesOf(to(address), named)).toBe('accepted');
      expect(issuesOf(to(address), anyHost)).toBe('accepted');
    }
  });

  test('the refusal names the token as a whole', () => {
    expect(issuesOf({ ...token, endpoint: 'https://example.com/x' })).toEqual([['', 'host_not_allowed']]);
    expect(issuesOf({ ...token, endpoint: 'https://127.0.0.1/x' })).toEqual([['', 'host_not_allowed']]);
  });

  test("the operator's PUSH_HOSTS add names, patterns, or every public host", () => {
    const to = (host: string) => ({ ...token, endpoint: `https://${host}/x` });
    const named = { ...rules, pushHosts: ['Push.Corp.Example', '*.up.example'] };
    expect(issuesOf(to('push.corp.example'), named)).toBe('accepted');
    expect(issuesOf(to('a.up.example'), named)).toBe('accepted');
    expect(issuesOf(to('up.example'), named)).toEqual([['', 'host_not_allowed']]);
    expect(issuesOf(to('example.com'), anyHost)).toBe('accepted');
    expect(issuesOf(to('push.example.com'), anyHost)).toEqual([['', 'host_not_allowed']]);
  });

  test('port 443 alone, and what OUTBOUND_ALLOW_PORTS adds', () => {
    const onPort = { ...token, endpoint: 'https://fcm.googleapis.com:8443/wp/x' };
    expect(issuesOf(onPort)).toEqual([['endpoint', 'invalid_value']]);
    const exceptions = parseOutboundExceptions({ allowPorts: '8443' });
    expect(issuesOf(onPort, { ...rules, exceptions })).toBe('accepted');
  });
});

describe('R-30, R-36 with every public host allowed, a host that is not public is still refused', () => {
  test.each(refusedUrls)('%j', (url) => {
    expect(issuesOf({ ...token, endpoint: url }, anyHost)).not.toBe('accepted');
  });
});
