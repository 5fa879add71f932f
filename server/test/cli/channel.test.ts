import { createECDH, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal, parseMasterKey } from '../../src/ground/secrets/seal.ts';
import { encodeId, type Uuid } from '../../src/ground/values/ids.ts';
import { registerDevice } from '../../src/people/devices/register-device.ts';
import { parseToken } from '../../src/people/devices/token.ts';
import { generateVapidKeys } from '../../src/sending/channels/webpush/vapid.ts';
import { createCredentials } from '../../src/teams/apps/credentials.ts';
import {
  apnsKey,
  bundleId,
  clientEmail,
  googleKey,
  grant,
  keyId,
  projectId,
  serviceAccount,
  teamId,
} from '../channels/phone-bundle.ts';
import { startPushServer } from '../channels/push-server.ts';
import { startPushService } from '../push-service.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const pushHost = 'push.test.example';

const cli = await setupCommandLine();
const push = await startPushService();
whenDone(() => push.close());
/** The environment with which a command reaches this test's push service. */
const outbound = {
  PUSH_HOSTS: pushHost,
  OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
  OUTBOUND_RESOLVE: `${pushHost}:443=127.0.0.1:${push.port}`,
  OUTBOUND_CA_FILE: certificateFile,
};

function writeFile(name: string, content: unknown): string {
  const file = join(cli.directory, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function secretsOf(appId: Uuid): Promise<(string | null)[]> {
  const seal = createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY'));
  const opened = await createCredentials({ sql: cli.sql, seal }).open(appId);
  return [...opened.values()].map((credential) => credential.secret);
}

/** Registers a device and returns its public id. `token` names a browser at the push service. */
async function newDevice(appId: Uuid, token: string, platform: 'web' | 'ios' | 'android' = 'web'): Promise<string> {
  const p256dh = createECDH('prime256v1').generateKeys('base64url');
  const keys = { p256dh, auth: randomBytes(16).toString('base64url') };
  const text = platform !== 'web' ? token : JSON.stringify({ endpoint: `https://${pushHost}/push/${token}`, keys });
  const parsed = parseToken(platform, text, { pushHosts: [pushHost], exceptions: noExceptions, ownHosts: [] });
  if (!('token' in parsed)) throw new Error('a test token is not valid');
  const { row } = await registerDevice(cli, {
    appId,
    platform,
    token: parsed.token,
    facts: {},
    environment: undefined,
    properties: undefined,
    byClient: false,
    refreshes: null,
    permit: null,
  });
  return encodeId('dev', row.deviceId);
}

const apnsOptions = (file: string) =>
  ['--key-file', file, '--key-id', keyId, '--team-id', teamId, '--bundle-id', bundleId] as const;

describe('channel set and list', () => {
  const vapid = generateVapidKeys();
  const secretLine = (pem: string): string => pem.split('\n')[1] ?? '';
  const kinds = [
    ['webpush', [], { subject: 'mailto:push@carillon.example' }, undefined],
    [
      'webpush',
      ['--vapid-file', () => writeFile('vapid.json', { ...vapid, subject: 'https://shop.example/contact' })],
      { public_key: vapid.publicKey, subject: 'https://shop.example/contact' },
      vapid.privateKey,
    ],
    [
      'apns',
      [...apnsOptions('').slice(2), '--key-file', () => writeFile('AuthKey.p8', apnsKey.pem)],
      { key_id: keyId, team_id: teamId, bundle_id: bundleId, environment: 'production' },
      apnsKey.pem,
    ],
    [
      'fcm',
      ['--service-account', () => writeFile('account.json', serviceAccount())],
      { project_id: projectId, client_email: clientEmail },
      JSON.stringify(serviceAccount()),
    ],
  ] as const;

  it.each(kinds)(
    'R-44 %s %s shows the public part, and stores the secret sealed',
    async (channel, given, shown, secret) => {
      const app = await cli.newApp(`${channel} ${given.length}`);
      const before = cli.printed.length;
      const options = given.map((each) => (typeof each === 'function' ? each() : each));
      const set = await cli.json('channel', 'set', app.publicId, channel, ...options);
      expect(set).toMatchObject({ channel, current: true, health: 'ok', public: shown });
      expect((await cli.json('channel', 'list', app.publicId)).data).toEqual([set]);
      expect((await cli.run('channel', 'list', app.publicId)).stdout).toContain(Object.values(shown)[0]);
      const [stored = ''] = await secretsOf(app.id);
      if (secret) expect(stored).toBe(secret);
      const telling =
        channel === 'apns' ? secretLine(apnsKey.pem) : channel === 'fcm' ? secretLine(googleKey.pem) : stored;
      expect(telling?.length).toBeGreaterThan(40);
      expect(cli.printed.slice(before).join('')).not.toContain(telling);
      expect(JSON.stringify(await cli.sql`SELECT * FROM credentials`)).not.toContain(telling);
    },
  );

  it('keeps channels apart, the former keys for devices bound to them, and the subject when none is given', async () => {
    await cli.newApp('Twice');
    const set = (...parameters: string[]) => cli.json('channel', 'set', 'Twice', ...parameters);
    const first = await set('webpush', '--subject', 'mailto:ops@shop.example');
    const apple = await set('apns', ...apnsOptions(writeFile('both.p8', apnsKey.pem)), '--environment', 'sandbox');
    const second = await set('webpush');
    expect(apple.public.environment).toBe('sandbox');
    expect(second.public.subject).toBe('mailto:ops@shop.example');
    expect(second.public.public_key).not.toBe(first.public.public_key);
    const former = { ...first, current: false, replaced_at: expect.stringMatching(/Z$/) };
    expect((await cli.json('channel', 'list', 'Twice')).data).toEqual([second, apple, former]);
  });

  it('R-45 needs the master key, and stores nothing without it', async () => {
    const app = await cli.newApp('Keyless');
    const account = ['--service-account', writeFile('keyless.json', serviceAccount())];
    for (const parameters of [['webpush'], ['fcm', ...account]]) {
      const refused = await cli.runWith({ MASTER_KEY: '' }, 'channel', 'set', 'Keyless', ...parameters);
      expect(refused).toMatchObject(refusal(/MASTER_KEY is required/));
    }
    expect(await secretsOf(app.id)).toEqual([]);
  });

  const mixed = generateVapidKeys();
  const faults: readonly (readonly [file: unknown, (file: string) => readonly string[], RegExp])[] = [
    ['', () => ['telegram'], /Allowed choices are webpush, apns, fcm/],
    ['', () => ['webpush', '--subject', 'mailto:root'], /--subject: It must be mailto/],
    ['', () => ['webpush', '--subject', 'https://localhost'], /--subject: /],
    ['', () => ['webpush', '--vapid-file', 'none.json'], /--vapid-file none\.json cannot be read: ENOENT/],
    ['hunter2', (file) => ['webpush', '--vapid-file', file], /--vapid-file \S+ is not JSON/],
    [{ key: 'hunter2' }, (file) => ['webpush', '--vapid-file', file], /--vapid-file \S+ must hold/],
    [
      { ...mixed, privateKey: generateVapidKeys().privateKey },
      (file) => ['webpush', '--vapid-file', file],
      /private_key: It does not belong to the public key/,
    ],
    ['', () => ['apns', ...apnsOptions(certificateFile)], /--key-file: It is a certificate/],
    [googleKey.pem, (file) => ['apns', ...apnsOptions(file)], /--key-file: It is a key of the kind rsa/],
    ['{}', (file) => ['apns', ...apnsOptions(file)], /--key-file: It is no PEM file/],
    ['', () => ['apns', ...apnsOptions('none.p8')], /--key-file none\.p8 cannot be read: ENOENT/],
    [apnsKey.pem, (file) => ['apns', ...apnsOptions(file), '--key-id', 'short'], /A key id is 10 capital letters/],
    [apnsKey.pem, (file) => ['apns', ...apnsOptions(file), '--bundle-id', 'shop!'], /A bundle id is like com\.example/],
    [apnsKey.pem, (file) => ['apns', ...apnsOptions(file), '--environment', 'test'], /--environment must be one of/],
    [apnsKey.pem, (file) => ['apns', '--key-file', file], /--key-id is required/],
    [
      apnsKey.pem,
      (file) => ['apns', '--service-account', file],
      /--service-account does not belong to the channel apns/,
    ],
    ['', () => ['fcm'], /--service-account is required/],
    [apnsKey.pem, (file) => ['fcm', '--service-account', file], /--service-account: It is not JSON/],
    [
      { project_info: { project_id: projectId }, client: [] },
      (file) => ['fcm', '--service-account', file],
      /It is the app's google-services\.json/,
    ],
    [
      serviceAccount({ type: 'authorized_user' }),
      (file) => ['fcm', '--service-account', file],
      /--service-account type: It must be "service_account"/,
    ],
    [
      serviceAccount({ private_key: googleKey.pem.slice(0, 400) }),
      (file) => ['fcm', '--service-account', file],
      /The private key cannot be read/,
    ],
  ];

  it('names what is wrong in one line without showing a secret, and keeps the current credential', async () => {
    const app = await cli.newApp('Kept');
    await cli.json('channel', 'set', 'Kept', 'webpush');
    const secrets = await secretsOf(app.id);
    const said: string[] = [];
    for (const [n, [content, parameters, line]] of faults.entries()) {
      const refused = await cli.run('channel', 'set', 'Kept', ...parameters(writeFile(`fault-${n}`, content)));
      expect(refused).toMatchObject(refusal(line));
      said.push(refused.stderr);
    }
    for (const secret of [secretLine(apnsKey.pem), secretLine(googleKey.pem), mixed.privateKey, 'hunter2']) {
      expect(said.join('')).not.toContain(secret);
    }
    expect(await secretsOf(app.id)).toEqual(secrets);
  });
});

describe('channel test for phones', () => {
  it('sends one push to an iPhone and one to an Android phone by the normal path', async () => {
    const provider = await startPushServer({ protocol: 'h2' });
    whenDone(() => provider.close());
    provider.handle = (request) => {
      if (request.path === '/token') return request.answer(200, {}, grant('ya29.test'));
      const apnsId = request.headers['apns-id'];
      return apnsId
        ? request.answer(200, { 'apns-id': apnsId })
        : request.answer(200, {}, '{"name":"projects/shop-4711/messages/1"}');
    };
    const address = `https://127.0.0.1:${provider.port}`;
    const reach = { ...outbound, APNS_URL: address, FCM_URL: address, FCM_TOKEN_URL: `${address}/token` };
    const app = await cli.newApp('Phones');
    const key = writeFile('phones.p8', apnsKey.pem);
    const account = writeFile('phones.json', serviceAccount({ token_uri: `${address}/token` }));
    await cli.json('channel', 'set', 'Phones', 'apns', ...apnsOptions(key));
    const set = await cli.runWith(reach, 'channel', 'set', 'Phones', 'fcm', '--service-account', account);
    expect(set).toMatchObject({ status: 0, stderr: '' });
    const phones = {
      apns: await newDevice(app.id, 'ab'.repeat(32), 'ios'),
      fcm: await newDevice(app.id, 'fGx0kKd3Q8u:APA91bHkR', 'android'),
    };
    for (const [channel, device] of Object.entries(phones)) {
      const done = await cli.runWith(reach, 'channel', 'test', 'Phones', channel, '--device', device, '--json');
      expect(done.stderr).toBe('');
      expect(done.json).toMatchObject({ device_id: device, status: 'sent', answers: [{ http_status: 200 }] });
    }
    expect(provider.seen.map(({ path }) => path)).toEqual([
      `/3/device/${'ab'.repeat(32)}`,
      '/token',
      '/v1/projects/shop-4711/messages:send',
    ]);
  });

  it("shows the provider's answer when the push failed", async () => {
    const provider = await startPushServer({ protocol: 'h2' });
    whenDone(() => provider.close());
    provider.handle = (request) => request.answer(403, {}, '{"reason":"InvalidProviderToken"}');
    const app = await cli.newApp('Wrong key');
    const key = writeFile('wrong.p8', apnsKey.pem);
    await cli.json('channel', 'set', 'Wrong key', 'apns', ...apnsOptions(key));
    const device = await newDevice(app.id, 'cd'.repeat(32), 'ios');
    const reach = { ...outbound, APNS_URL: `https://127.0.0.1:${provider.port}` };
    const failed = await cli.runWith(reach, 'channel', 'test', 'Wrong key', 'apns', '--device', device);
    expect(failed.stdout).toMatch(/status +failed[\s\S]*\n403 .*{"reason":"InvalidProviderToken"}/);
    expect(failed).toMatchObject({ status: 1, stderr: 'carillon: The push is failed: auth_failed\n' });
    const { data: channels } = await cli.json('channel', 'list', 'Wrong key');
    expect(channels[0]).toMatchObject({ health: 'failing', last_error: { reason: 'InvalidProviderToken' } });
    const { stdout } = await cli.run('channel', 'list', 'Wrong key');
    expect(stdout).toMatch(/apns is failing: the push service refuses our credential \(InvalidProviderToken\)\.\n$/);
  });

  it('reports a key that fits no device as suspect, in the list and in the log, and retires no device', async () => {
    const provider = await startPushServer({ protocol: 'h2' });
    whenDone(() => provider.close());
    provider.handle = (request) => request.answer(400, {}, '{"reason":"DeviceTokenNotForTopic"}');
    const app = await cli.newApp('Wrong bundle');
    const key = writeFile('bundle.p8', apnsKey.pem);
    await cli.json('channel', 'set', 'Wrong bundle', 'apns', ...apnsOptions(key));
    const reach = { ...outbound, APNS_URL: `https://127.0.0.1:${provider.port}`, LOG_LEVEL: 'error' };
    const logs: string[] = [];
    for (const digits of ['e1', 'e2', 'e3']) {
      const device = await newDevice(app.id, digits.repeat(32), 'ios');
      logs.push((await cli.runWith(reach, 'channel', 'test', 'Wrong bundle', 'apns', '--device', device)).stderr);
    }
    expect(logs.join('')).toMatch(/credential is suspect: no device is invalidated for it/);
    const { data: channels } = await cli.json('channel', 'list', 'Wrong bundle');
    expect(channels[0]).toMatchObject({ health: 'suspect', suspect_since: expect.stringMatching(/Z$/) });
    const { stdout } = await cli.run('channel', 'list', 'Wrong bundle');
    expect(stdout).toMatch(
      /apns is suspect since .*Z: .* \(DeviceTokenNotForTopic\)\.\n\nNo device is retired for this reason/,
    );
    const active = await cli.sql`SELECT 1 FROM devices WHERE app_id = ${app.id} AND status = 'active'`;
    expect(active).toHaveLength(3);
  });
});

describe('channel test', () => {
  it('sends one push by the normal path and shows the answer, without a running service', async () => {
    const app = await cli.newApp('Tested');
    await cli.json('channel', 'set', 'Tested', 'webpush');
    const device = await newDevice(app.id, 'tested');
    const done = await cli.runWith(outbound, 'channel', 'test', 'Tested', 'webpush', '--device', device, '--json');
    expect(done.stderr).toBe('');
    expect(done.json).toMatchObject({
      message_id: expect.stringMatching(/^msg_/),
      device_id: device,
      status: 'sent',
      error_code: null,
      answers: [{ http_status: 201 }],
    });
    expect(push.requestsOf('tested')).toHaveLength(1);
    const [message] = await cli.sql<{ status: string; webpushSent: number }[]>`
      SELECT status, webpush_sent FROM messages WHERE app_id = ${app.id}`;
    expect(message).toEqual({ status: 'sent', webpushSent: 1 });
    const [charged] = await cli.sql<{ used: number }[]>`SELECT used FROM usage WHERE app_id = ${app.id}`;
    expect(charged).toEqual({ used: 1 });
  });

  it("shows the push service's answer and ends with 1 when the push failed", async () => {
    const app = await cli.newApp('Refused');
    await cli.json('channel', 'set', 'Refused', 'webpush');
    const device = await newDevice(app.id, 'refused');
    push.script('refused', (_request, response) => response.writeHead(410).end('gone for good'));
    const failed = await cli.runWith(outbound, 'channel', 'test', 'Refused', 'webpush', '--device', device);
    expect(failed.stdout).toMatch(/status +failed[\s\S]*\n410 .*gone for good/);
    expect(failed).toMatchObject({ status: 1, stderr: 'carillon: The push is failed: unregistered\n' });
  });

  it('retires no device because of settings that this shell lacks', async () => {
    const app = await cli.newApp('Elsewhere');
    await cli.json('channel', 'set', 'Elsewhere', 'webpush');
    const device = await newDevice(app.id, 'elsewhere');
    const refused = await cli.run('channel', 'test', 'Elsewhere', 'webpush', '--device', device);
    expect(refused).toMatchObject(refusal(/By the settings of this shell.*'push\.test\.example'/));
    expect(push.requestsOf('elsewhere')).toHaveLength(0);
    const [row] = await cli.sql<{ status: string }[]>`SELECT status FROM devices WHERE app_id = ${app.id}`;
    expect(row).toEqual({ status: 'active' });
  });

  it('refuses targets that it cannot send to, in one line', async () => {
    const app = await cli.newApp('Hopeless');
    const phone = await newDevice(app.id, 'ab'.repeat(32), 'ios');
    const foreign = await newDevice((await cli.newApp('Other')).id, 'foreign');
    const test = (device: string) =>
      cli.runWith(outbound, 'channel', 'test', 'Hopeless', 'webpush', '--device', device);
    expect(await test(phone)).toMatchObject(refusal(/The device is reached by apns/));
    expect(await test(foreign)).toMatchObject(refusal(/No device dev_/));
    expect(await test('dev_1')).toMatchObject(refusal(/No device dev_1/));
    await cli.json('app', 'suspend', 'Hopeless');
    expect(await test(phone)).toMatchObject(refusal(/This app is suspended/));
  });
});
