// Tests every channel against the sandbox, which was written from the vendors' documents and shares
// no code with the service. Every push must pass all checks there, and the vendors' exact answers
// must be understood.

import { type Http2Engine, nodeEngine, ownEngine } from '@carillon/http2';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome, Push } from '../../src/sending/channels/channel.ts';
import type { ErrorCode } from '../../src/sending/channels/error-code.ts';
import { parseVapidKeys, type WebPushCredential } from '../../src/sending/channels/webpush/vapid.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import type { AskedChannel } from './asked-channel.ts';
import { apnsCredential, createTestApns, createTestFcm, fcmCredential, pushTo } from './phone-bundle.ts';
import { startSandbox } from './sandbox-process.ts';
import { createTestChannel, pushTo as pushToBrowser, vapidKeys } from './webpush-bundle.ts';

const sandbox = await startSandbox();
const vendors = ['generic', 'fcm', 'mozilla', 'apple', 'wns'] as const;

interface Sender {
  readonly token: string;
  send(content?: Partial<ChannelContent>): Promise<Outcome>;
  /** Sends `count` pushes, each to a device of its own. */
  sendMany(count: number): Promise<Outcome[]>;
}

function sender<Credential>(
  channel: AskedChannel<Credential>,
  pushes: readonly Push<Credential>[],
  token: string,
): Sender {
  onTestFinished(() => channel.close());
  const [first] = pushes;
  if (first === undefined) throw new Error('no device');
  return {
    token,
    send: (content = {}) => channel.send({ ...first, content: { ...first.content, ...content } }),
    sendMany: (count) => Promise.all(pushes.slice(0, count).map((push) => channel.send(push))),
  };
}

async function phones(platform: 'ios' | 'android', count: number): Promise<string[]> {
  const { devices } = await sandbox.call<{ devices: { token: string }[] }>('POST', '/devices', { platform, count });
  return devices.map(({ token }) => token);
}

async function apns(engine: Http2Engine = ownEngine, count = 1): Promise<Sender> {
  const key = await sandbox.call<Record<'p8' | 'key_id' | 'team_id', string>>('POST', '/apns/keys', {});
  const credential = apnsCredential({ p8: key.p8, keyId: key.key_id, teamId: key.team_id });
  const tokens = await phones('ios', count);
  const channel = createTestApns(sandbox.apnsPort, { engine, ca: sandbox.certificate });
  const pushes = tokens.map((token) => pushTo(credential, token, {}, { environment: 'production' }));
  return sender(channel, pushes, tokens[0] ?? '');
}

async function fcm(engine: Http2Engine = ownEngine, count = 1): Promise<Sender> {
  const credential = fcmCredential(await sandbox.call('POST', '/fcm/service-accounts', {}));
  const tokens = await phones('android', count);
  const channel = createTestFcm(sandbox.fcmPort, sandbox.fcmPort, { engine, ca: sandbox.certificate });
  return sender(
    channel,
    tokens.map((token) => pushTo(credential, token)),
    tokens[0] ?? '',
  );
}

async function webpush(vendor: (typeof vendors)[number], engine: Http2Engine = ownEngine, count = 1): Promise<Sender> {
  const asked = { vendor, count, hosts: 'vendor', vapid_key: vapidKeys.publicKey };
  const { subscriptions } = await sandbox.call<{ subscriptions: { endpoint: string }[] }>(
    'POST',
    '/subscriptions',
    asked,
  );
  const endpoint = new URL(subscriptions[0]?.endpoint ?? '');
  const parsed = parseVapidKeys({ id: 'sandbox', subject: 'mailto:ops@example.com', ...vapidKeys });
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  const credential: WebPushCredential = parsed.credential;
  const channel = createTestChannel({
    leads: { [`${endpoint.hostname}:443`]: sandbox.pushPort },
    pushHosts: [endpoint.hostname],
    ca: sandbox.certificate,
    engine,
  });
  const pushes = subscriptions.map((one) => pushToBrowser(JSON.stringify(one), {}, { credential }));
  return sender(channel, pushes, endpoint.searchParams.get('token') ?? endpoint.pathname.split('/').at(-1) ?? '');
}

interface Log {
  readonly records: readonly {
    readonly vendor: string;
    readonly token: string;
    readonly delivered: boolean;
    readonly checks: readonly { readonly name: string; readonly verdict: string }[];
    readonly notification: { readonly title: string } | null;
  }[];
}
const readLog = () => sandbox.call<Log>('GET', '/log');
const counters = () => sandbox.call<{ streams_exceeded: number; connections: { h2: number } }>('GET', '/counters');

async function script(match: object, action: object): Promise<void> {
  const { faults } = await sandbox.call<{ faults: { id: string }[] }>('POST', '/faults', { match, action });
  const id = faults.at(-1)?.id ?? '';
  onTestFinished(async () => void (await sandbox.call('DELETE', `/faults/${id}`)));
}

const senders: readonly (readonly [string, (engine?: Http2Engine, count?: number) => Promise<Sender>])[] = [
  ['apns', apns],
  ['fcm', fcm],
  ...vendors.map((vendor) => {
    const make = (engine?: Http2Engine, count?: number) => webpush(vendor, engine, count);
    return [`webpush to ${vendor}`, make] as const;
  }),
];

describe.each([
  ['our own', ownEngine],
  ['node:http2', nodeEngine],
] as const)('the engine on %s', (_name, engine) => {
  test.each(senders)('%s: a push passes every check of the vendor, without a warning', async (_channel, make) => {
    const t = await make(engine);
    const content = {
      title: 'Grüße 📦',
      url: 'https://shop.example/orders/17',
      image: 'https://shop.example/17.png',
    };
    expect(await t.send(content)).toMatchObject({ kind: 'sent' });
    const record = (await readLog()).records.findLast(({ token }) => token === t.token);
    expect(record).toMatchObject({ delivered: true, notification: { title: 'Grüße 📦' } });
    expect(record?.checks.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
  });

  test.each(senders)('%s: rubbish of every kind gives an outcome', async (_channel, make) => {
    const t = await make(engine);
    for (const kind of ['html', 'truncated_json', 'megabyte']) {
      await script({ token: t.token, times: 1 }, { type: 'rubbish', kind, status: 502 });
      expect(await t.send()).toMatchObject({ errorCode: 'provider_unavailable', provider: { httpStatus: 502 } });
    }
    expect(await t.send()).toMatchObject({ kind: 'sent' });
  });

  test('fcm: a thousand concurrent pushes never open a 101st stream on a connection', async () => {
    const before = await counters();
    const t = await fcm(engine, 1_000);
    const outcomes = await t.sendMany(1_000);
    expect(outcomes.filter(({ kind }) => kind !== 'sent')).toEqual([]);
    const after = await counters();
    expect(after.streams_exceeded).toBe(before.streams_exceeded);
    // One more connection for the access token.
    expect(after.connections.h2 - before.connections.h2).toBeLessThanOrEqual(9);
  });

  test('apns: a thousand concurrent pushes wait for the first good token, and all arrive over a few connections', async () => {
    const before = await counters();
    const t = await apns(engine, 1_000);
    const outcomes = await t.sendMany(1_000);
    expect(outcomes.filter(({ kind }) => kind !== 'sent')).toEqual([]);
    expect((await counters()).connections.h2 - before.connections.h2).toBeLessThanOrEqual(4);
  });
});

describe('a push without a text', () => {
  const noText = { title: '', body: '' };
  test.each<[Partial<ChannelContent>, object]>([
    [{ content_available: true }, { pushType: 'background' }],
    [{ content_available: true, sound: '' }, { pushType: 'background' }],
    [{ content_available: true, badge: 0 }, { pushType: 'alert' }],
    [{ badge: 7 }, { pushType: 'alert' }],
    [{ sound: { name: 'bell.caf', critical: true } }, { pushType: 'alert' }],
  ])('apns accepts %j, and the phone shows nothing', async (content, { pushType }: { pushType?: string }) => {
    const t = await apns();
    expect(await t.send({ ...noText, ...content })).toMatchObject({ kind: 'sent' });
    const record = (await readLog()).records.findLast(({ token }) => token === t.token);
    expect(record).toMatchObject({ delivered: true, notification: null });
    expect(record?.checks.find(({ name }) => name === 'push_type')).toMatchObject({
      verdict: 'pass',
      detail: pushType,
    });
  });

  test('fcm accepts data with fields of a notification, and the phone shows nothing', async () => {
    const t = await fcm();
    const fields = {
      data: { sync: true },
      sound: 'bell',
      notification_count: 3,
      tag: 'a',
      visibility: 'secret',
    } as const;
    expect(await t.send({ ...noText, ...fields })).toMatchObject({ kind: 'sent' });
    const record = (await readLog()).records.findLast(({ token }) => token === t.token);
    expect(record).toMatchObject({ delivered: true, notification: null });
  });
});

describe("the meaning of APNs's answers", () => {
  const meaning: Partial<Record<ErrorCode, readonly string[]>> = {
    unregistered: ['Unregistered', 'ExpiredToken'],
    invalid_token: ['BadDeviceToken', 'MissingDeviceToken'],
    credential_mismatch: [
      'DeviceTokenNotForTopic',
      'BadCertificateEnvironment',
      'BadEnvironmentKeyIdInToken',
      'BadEnvironmentKeyInToken',
    ],
    auth_failed: [
      'BadTopic',
      'MissingTopic',
      'TopicDisallowed',
      'BadCertificate',
      'ExpiredProviderToken',
      'Forbidden',
      'InvalidProviderToken',
      'MissingProviderToken',
      'UnrelatedKeyIdInToken',
    ],
    payload_too_large: ['PayloadTooLarge'],
    invalid_payload: [
      'BadCollapseId',
      'BadExpirationDate',
      'BadMessageId',
      'BadPriority',
      'BadPath',
      'DuplicateHeaders',
      'InvalidPushType',
      'MethodNotAllowed',
      'PayloadEmpty',
    ],
    rate_limited: ['TooManyRequests', 'TooManyProviderTokenUpdates'],
    provider_unavailable: ['IdleTimeout', 'InternalServerError', 'ServiceUnavailable', 'Shutdown'],
  };
  const rows = Object.entries(meaning).flatMap(([code, reasons]) => reasons.map((reason) => [reason, code] as const));

  test.each(rows)('%s: %s', async (reason, errorCode) => {
    const t = await apns();
    await script({ token: t.token }, { type: 'error', reason });
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode, reason });
  });

  test('Unregistered: with its time', async () => {
    const t = await apns();
    const before = Date.now();
    await sandbox.call('DELETE', `/devices/${t.token}`);
    const outcome = await t.send();
    expect(outcome).toMatchObject({ errorCode: 'unregistered', goneAtMs: expect.any(Number) });
    expect('goneAtMs' in outcome && outcome.goneAtMs).toBeGreaterThanOrEqual(before);
  });
});

describe("the meaning of FCM's answers", () => {
  test.each<[string, ErrorCode]>([
    ['UNREGISTERED', 'unregistered'],
    ['INVALID_REGISTRATION', 'invalid_token'],
    ['INVALID_ARGUMENT', 'invalid_payload'],
    ['MESSAGE_TOO_BIG', 'payload_too_large'],
    ['SENDER_ID_MISMATCH', 'credential_mismatch'],
    ['THIRD_PARTY_AUTH_ERROR', 'auth_failed'],
    ['UNAUTHENTICATED', 'auth_failed'],
    // A project that does not exist: no word about the phone.
    ['NOT_FOUND', 'auth_failed'],
    ['CREDENTIALS_MISSING', 'auth_failed'],
    ['PERMISSION_DENIED', 'auth_failed'],
    ['SERVICE_DISABLED', 'auth_failed'],
    ['SCOPE_INSUFFICIENT', 'auth_failed'],
    ['QUOTA_EXCEEDED', 'rate_limited'],
    ['RESOURCE_EXHAUSTED', 'rate_limited'],
    ['INTERNAL', 'provider_unavailable'],
    ['UNAVAILABLE', 'provider_unavailable'],
  ])('%s: %s', async (reason, errorCode) => {
    const t = await fcm();
    await script({ token: t.token }, { type: 'error', reason });
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode });
  });

  test.each<[string, ErrorCode]>([
    ['invalid_request', 'auth_failed'],
    ['invalid_grant', 'auth_failed'],
    ['invalid_scope', 'auth_failed'],
    ['unsupported_grant_type', 'auth_failed'],
    ['invalid_client', 'auth_failed'],
    ['unauthorized_client', 'auth_failed'],
    ['temporarily_unavailable', 'provider_unavailable'],
    ['internal_failure', 'provider_unavailable'],
  ])('the token endpoint answers %s: %s, and nothing is pushed', async (reason, errorCode) => {
    const t = await fcm();
    await script({ vendor: 'google_oauth' }, { type: 'error', reason });
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode, reason: expect.stringContaining(reason) });
    expect((await readLog()).records.filter(({ token }) => token === t.token)).toEqual([]);
  });
});

describe("the meaning of browsers' push services' answers", () => {
  const ofStatus: readonly (readonly [number, ErrorCode])[] = [
    [400, 'invalid_payload'],
    [404, 'unregistered'],
    [410, 'unregistered'],
    [413, 'payload_too_large'],
    [429, 'rate_limited'],
    [500, 'provider_unavailable'],
    [503, 'provider_unavailable'],
  ];
  const rows = vendors.flatMap((vendor) => ofStatus.map(([status, code]) => [vendor, status, code] as const));

  test.each([...rows, ['wns', 406, 'rate_limited'] as const])('%s, %i: %s', async (vendor, status, errorCode) => {
    // At Apple a 404 means a bad path: there never was such a subscription. Google's 400 is a page
    // that says that the subscription belongs to another sender.
    const own: Record<string, ErrorCode> = { 'apple 404': 'invalid_token', 'fcm 400': 'credential_mismatch' };
    const expected = own[`${vendor} ${status}`] ?? errorCode;
    const t = await webpush(vendor);
    await script({ token: t.token }, { type: 'status', status });
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode: expected, provider: { httpStatus: status } });
  });

  test.each<[(typeof vendors)[number], string, ErrorCode]>([
    ['fcm', 'sender_id', 'credential_mismatch'],
    ['fcm', 'vapid_credentials', 'credential_mismatch'],
    ['fcm', 'MismatchSenderId', 'credential_mismatch'],
    ['fcm', 'UnauthorizedRegistration', 'credential_mismatch'],
    ['mozilla', 'key_mismatch', 'credential_mismatch'],
    ['mozilla', 'errno_109', 'auth_failed'],
    ['mozilla', 'errno_103', 'unregistered'],
    ['apple', 'VapidPkHashMismatch', 'credential_mismatch'],
    ['apple', 'ExpiredToken', 'unregistered'],
    ['apple', 'BadJwtToken', 'auth_failed'],
    ['wns', 'forbidden', 'auth_failed'],
    ['wns', 'expired', 'unregistered'],
    ['wns', 'channelthrottled', 'rate_limited'],
  ])('%s, %s: %s', async (vendor, reason, errorCode) => {
    const t = await webpush(vendor);
    await script({ token: t.token, vendor }, { type: 'error', reason });
    const outcome = await t.send();
    expect(outcome).toMatchObject({ kind: 'refused', errorCode });
    const shown = Object.keys(outcome.provider?.headers ?? {}).filter((name) => /^(x-wns-|ms-cv)/.test(name));
    expect(shown.includes('x-wns-error-description')).toBe(vendor === 'wns');
  });

  test.each(vendors)('%s: an ended subscription is unregistered', async (vendor) => {
    const t = await webpush(vendor);
    await sandbox.call('DELETE', `/subscriptions/${t.token}`);
    expect(await t.send()).toMatchObject({ errorCode: 'unregistered', retryable: false });
  });
});
