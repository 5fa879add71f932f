import { createECDH, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { createCredentials } from '../../src/apps/credentials.ts';
import { generateVapidKeys } from '../../src/channels/webpush/vapid.ts';
import { registerDevice } from '../../src/devices/register-device.ts';
import { parseToken } from '../../src/devices/token.ts';
import { encodeId, type Uuid } from '../../src/ground/ids.ts';
import { createSeal, parseMasterKey } from '../../src/ground/seal.ts';
import { noExceptions } from '../../src/outbound/address-guard.ts';
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
import { whenDone } from '../database.ts';
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

describe('channel set and list', () => {
  it('R-44 makes VAPID keys, shows the public one and stores the private one sealed', async () => {
    const app = await cli.newApp('Generated');
    const before = cli.printed.length;
    const set = await cli.json('channel', 'set', 'Generated', 'webpush', '--subject', 'mailto:ops@shop.example');
    expect(set).toMatchObject({ channel: 'webpush', current: true, subject: 'mailto:ops@shop.example', state: 'ok' });
    expect(Buffer.from(set.public_key, 'base64url')).toHaveLength(65);

    const { channels } = await cli.json('channel', 'list', 'Generated');
    expect(channels).toEqual([set]);
    const [secret] = await secretsOf(app.id);
    expect(Buffer.from(secret ?? '', 'base64url')).toHaveLength(32);
    expect(cli.printed.slice(before).join('')).not.toContain(secret);
    expect(JSON.stringify(await cli.sql`SELECT * FROM credentials`)).not.toContain(secret);
  });

  it('uses the keys of a file, and their subject', async () => {
    const app = await cli.newApp('Imported');
    const keys = generateVapidKeys();
    const file = writeFile('vapid.json', { ...keys, subject: 'https://shop.example/contact' });
    const before = cli.printed.length;
    const set = await cli.json('channel', 'set', 'Imported', 'webpush', '--vapid-file', file);
    expect(set).toMatchObject({ public_key: keys.publicKey, subject: 'https://shop.example/contact' });
    expect(await secretsOf(app.id)).toEqual([keys.privateKey]);
    expect(cli.printed.slice(before).join('')).not.toContain(keys.privateKey);
  });

  it('keeps the former keys for devices bound to them, and the subject when none is given', async () => {
    await cli.newApp('Twice');
    const first = await cli.json('channel', 'set', 'Twice', 'webpush', '--subject', 'mailto:ops@shop.example');
    const second = await cli.json('channel', 'set', 'Twice', 'webpush');
    expect(second.subject).toBe('mailto:ops@shop.example');
    expect(second.public_key).not.toBe(first.public_key);
    const { channels } = await cli.json('channel', 'list', 'Twice');
    expect(channels).toEqual([second, { ...first, current: false, replaced_at: expect.stringMatching(/Z$/) }]);
  });

  it('reports when no channel is set', async () => {
    await cli.newApp('Bare');
    expect(await cli.json('channel', 'list', 'Bare')).toEqual({ channels: [] });
  });

  it('R-45 needs the master key, and stores nothing without it', async () => {
    const app = await cli.newApp('Keyless');
    const refused = await cli.runWith({ MASTER_KEY: '' }, 'channel', 'set', 'Keyless', 'webpush');
    expect(refused).toMatchObject(refusal(/MASTER_KEY is required/));
    expect(await secretsOf(app.id)).toEqual([]);
  });

  it('refuses keys that do not belong together', async () => {
    await cli.newApp('Mixed up');
    const keys = { ...generateVapidKeys(), privateKey: generateVapidKeys().privateKey };
    const refused = await cli.run(
      'channel',
      'set',
      'Mixed up',
      'webpush',
      '--vapid-file',
      writeFile('mixed.json', keys),
    );
    expect(refused).toMatchObject(refusal(/privateKey: It does not belong to the public key/));
    expect(refused.stderr).not.toContain(keys.privateKey);
  });

  it.concurrent.each([
    ['an unknown channel', ['set', 'Bare', 'telegram'], /no channel 'telegram'; there is webpush/],
    [
      'a subject without an address',
      ['set', 'Bare', 'webpush', '--subject', 'mailto:root'],
      /subject: It must be mailto/,
    ],
    ['a subject that push services refuse', ['set', 'Bare', 'webpush', '--subject', 'https://localhost'], /subject: /],
    ['a file that is not there', ['set', 'Bare', 'webpush', '--vapid-file', 'none.json'], /cannot be read: ENOENT/],
    ['an unknown app', ['list', 'Nobody'], /No app has/],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    expect(await cli.run('channel', ...parameters)).toMatchObject(refusal(line));
  });

  it('refuses a wrong kind of file, without showing its content', async () => {
    const files = [writeFile('text.json', 'hunter2'), writeFile('other.json', { key: 'hunter2' })];
    for (const file of files) {
      const refused = await cli.run('channel', 'set', 'Bare', 'webpush', '--vapid-file', file);
      expect(refused).toMatchObject(refusal(/--vapid-file \S+ (is not JSON|must hold)/));
      expect(refused.stderr).not.toContain('hunter2');
    }
  });
});

const apnsOptions = (file: string) =>
  ['--key-file', file, '--key-id', keyId, '--team-id', teamId, '--bundle-id', bundleId] as const;

describe('channel set and list for phones', () => {
  it('R-44 accepts an APNs key, shows its team and app, and stores it sealed', async () => {
    const app = await cli.newApp('Apple');
    const before = cli.printed.length;
    const file = writeFile('AuthKey.p8', apnsKey.pem);
    const set = await cli.json('channel', 'set', 'Apple', 'apns', ...apnsOptions(file));
    expect(set).toMatchObject({
      channel: 'apns',
      current: true,
      key_id: keyId,
      team_id: teamId,
      bundle_id: bundleId,
      environment: 'production',
      state: 'ok',
    });
    expect((await cli.json('channel', 'list', 'Apple')).channels).toEqual([set]);
    expect((await cli.run('channel', 'list', 'Apple')).stdout).toContain(`${keyId} ${teamId} ${bundleId} production`);
    expect(await secretsOf(app.id)).toEqual([apnsKey.pem]);
    const secret = apnsKey.pem.split('\n')[1] ?? '';
    expect(cli.printed.slice(before).join('')).not.toContain(secret);
    expect(JSON.stringify(await cli.sql`SELECT * FROM credentials`)).not.toContain(secret);
  });

  it('R-44 accepts a service account, shows its project and its address, and stores it sealed', async () => {
    const app = await cli.newApp('Google');
    const before = cli.printed.length;
    const file = writeFile('account.json', serviceAccount());
    const set = await cli.json('channel', 'set', 'Google', 'fcm', '--service-account', file);
    expect(set).toMatchObject({ channel: 'fcm', project_id: projectId, client_email: clientEmail, state: 'ok' });
    expect((await cli.json('channel', 'list', 'Google')).channels).toEqual([set]);
    expect((await cli.run('channel', 'list', 'Google')).stdout).toContain(`${projectId} ${clientEmail}`);
    expect(await secretsOf(app.id)).toEqual([JSON.stringify(serviceAccount())]);
    const secret = googleKey.pem.split('\n')[1] ?? '';
    expect(cli.printed.slice(before).join('')).not.toContain(secret);
    expect(JSON.stringify(await cli.sql`SELECT * FROM credentials`)).not.toContain(secret);
  });

  it('keeps channels apart: a new key of one changes no other', async () => {
    await cli.newApp('Both');
    const file = writeFile('both.p8', apnsKey.pem);
    const first = await cli.json('channel', 'set', 'Both', 'apns', ...apnsOptions(file));
    const account = writeFile('both.json', serviceAccount());
    const google = await cli.json('channel', 'set', 'Both', 'fcm', '--service-account', account);
    const second = await cli.json('channel', 'set', 'Both', 'apns', ...apnsOptions(file), '--environment', 'sandbox');
    const { channels } = await cli.json('channel', 'list', 'Both');
    const former = { ...first, current: false, replaced_at: expect.stringMatching(/Z$/) };
    expect(channels).toEqual([second, google, former]);
    expect(second.environment).toBe('sandbox');
  });

  /**
   * Runs each of these `channel set` commands, and expects one line of refusal and nothing stored.
   */
  const refuseAll = async (name: string, cases: readonly (readonly [readonly string[], RegExp])[]) => {
    const app = await cli.newApp(name);
    const refused = await Promise.all(cases.map(([parameters]) => cli.run('channel', 'set', name, ...parameters)));
    for (const [i, [, line]] of cases.entries()) expect(refused[i]).toMatchObject(refusal(line));
    const said = refused.map(({ stdout, stderr }) => stdout + stderr).join('');
    for (const { pem } of [apnsKey, googleKey]) expect(said).not.toContain(pem.split('\n')[1]);
    expect(await secretsOf(app.id)).toEqual([]);
  };

  it('names the fault of wrong values for Apple in one line, and stores nothing', async () => {
    const p8 = writeFile('good.p8', apnsKey.pem);
    const account = writeFile('good.json', serviceAccount());
    const rsa = writeFile('rsa.p8', googleKey.pem);
    const certificate = certificateFile;
    await refuseAll('Refusing Apple', [
      [['apns', ...apnsOptions(certificate)], /--key-file \S+cert\.pem: It is a certificate/],
      [['apns', ...apnsOptions(rsa)], /--key-file \S+rsa\.p8: It is a key of the kind rsa/],
      [['apns', ...apnsOptions(account)], /--key-file \S+good\.json: It is no PEM file/],
      [['apns', ...apnsOptions('none.p8')], /--key-file none\.p8 cannot be read: ENOENT/],
      [['apns', ...apnsOptions(p8), '--key-id', 'short'], /--key-id: A key id is 10 capital letters/],
      [['apns', ...apnsOptions(p8), '--team-id', 'def123ghij'], /--team-id: A team id is 10 capital letters/],
      [['apns', ...apnsOptions(p8), '--bundle-id', 'shop!'], /--bundle-id: A bundle id is like com\.example\.shop/],
      [['apns', ...apnsOptions(p8), '--environment', 'test'], /--environment: It is one of production, sandbox/],
      [['apns', '--key-file', p8], /--key-id is missing; apns needs --key-file, --key-id, --team-id, --bundle-id/],
      [
        ['apns', ...apnsOptions(p8), '--service-account', p8],
        /--service-account belongs to the channel fcm, not to apns/,
      ],
    ]);
  });

  it('names the fault of wrong values for Google in one line, and stores nothing', async () => {
    const p8 = writeFile('other.p8', apnsKey.pem);
    const account = writeFile('right.json', serviceAccount());
    const ofTheApp = writeFile('google-services.json', { project_info: { project_id: projectId }, client: [] });
    const ofAPerson = writeFile('person.json', serviceAccount({ type: 'authorized_user' }));
    const ofApple = writeFile('apple.json', serviceAccount({ private_key: apnsKey.pem }));
    const incomplete = writeFile('incomplete.json', serviceAccount({ client_email: undefined }));
    const elsewhere = writeFile('elsewhere.json', serviceAccount({ token_uri: 'https://evil.example/token' }));
    await refuseAll('Refusing Google', [
      [['fcm'], /--service-account is missing/],
      [['fcm', '--service-account', p8], /--service-account \S+other\.p8: It is not JSON/],
      [['fcm', '--service-account', ofTheApp], /It is the app's google-services\.json/],
      [['fcm', '--service-account', ofAPerson], /person\.json: type: It must be "service_account"/],
      [['fcm', '--service-account', ofApple], /apple\.json: private_key: It is a key of the kind ec/],
      [['fcm', '--service-account', incomplete], /incomplete\.json: client_email: It is missing or malformed/],
      [['fcm', '--service-account', account, '--key-id', keyId], /--key-id belongs to the channel apns, not to fcm/],
      [['fcm', '--service-account', elsewhere], /token_uri: It must be https:\/\/oauth2\.googleapis\.com\/token/],
    ]);
  });

  it('keeps the current credential when its replacement is refused', async () => {
    const app = await cli.newApp('Kept');
    const p8 = writeFile('kept.p8', apnsKey.pem);
    await cli.json('channel', 'set', 'Kept', 'apns', ...apnsOptions(p8));
    await cli.json('channel', 'set', 'Kept', 'fcm', '--service-account', writeFile('kept.json', serviceAccount()));
    const { channels } = await cli.json('channel', 'list', 'Kept');
    const secrets = await secretsOf(app.id);
    const rsa = writeFile('kept-rsa.p8', googleKey.pem);
    const damaged = writeFile('damaged.json', serviceAccount({ private_key: googleKey.pem.slice(0, 400) }));
    const refused = [
      await cli.run('channel', 'set', 'Kept', 'apns', ...apnsOptions(rsa)),
      await cli.run('channel', 'set', 'Kept', 'apns', ...apnsOptions(p8), '--bundle-id', ''),
      await cli.run('channel', 'set', 'Kept', 'fcm', '--service-account', damaged),
    ];
    for (const each of refused) expect(each.status).toBe(1);
    expect((await cli.json('channel', 'list', 'Kept')).channels).toEqual(channels);
    expect(await secretsOf(app.id)).toEqual(secrets);
  });

  it('R-45 needs the master key, and stores nothing without it', async () => {
    const app = await cli.newApp('Keyless phones');
    const file = writeFile('keyless.json', serviceAccount());
    const parameters = ['channel', 'set', 'Keyless phones', 'fcm', '--service-account', file];
    expect(await cli.runWith({ MASTER_KEY: '' }, ...parameters)).toMatchObject(refusal(/MASTER_KEY is required/));
    expect(await secretsOf(app.id)).toEqual([]);
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
      expect(done.json.delivery).toMatchObject({ device_id: device, channel, status: 'sent', attempts: 1 });
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
    expect(failed.stdout).toMatch(/ failed\n {2}403 after \d+ ms {"reason":"InvalidProviderToken"}\n$/);
    expect(failed).toMatchObject({ status: 1, stderr: 'carillon: The push is failed: auth_failed\n' });
    const { channels } = await cli.json('channel', 'list', 'Wrong key');
    expect(channels[0]).toMatchObject({ state: 'failing', last_error: { reason: 'InvalidProviderToken' } });
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
    const { channels } = await cli.json('channel', 'list', 'Wrong bundle');
    expect(channels[0]).toMatchObject({ state: 'suspect', suspect_since: expect.stringMatching(/Z$/) });
    const { stdout } = await cli.run('channel', 'list', 'Wrong bundle');
    expect(stdout).toMatch(
      /apns is suspect since .*Z: .* \(DeviceTokenNotForTopic\)\.\n {2}No device is retired for this reason/,
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
      delivery: { device_id: device, channel: 'webpush', status: 'sent', error_code: null, attempts: 1 },
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
    expect(failed.stdout).toMatch(/^msg_\w{22} {2}failed\n {2}410 after \d+ ms gone for good\n$/);
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
    expect(await test(phone)).toMatchObject(refusal(/is reached by apns, not by webpush/));
    expect(await test(foreign)).toMatchObject(refusal(/Hopeless has no device/));
    expect(await test('dev_1')).toMatchObject(refusal(/Hopeless has no device 'dev_1'/));
    await cli.json('app', 'suspend', 'Hopeless');
    expect(await test(phone)).toMatchObject(refusal(/Hopeless is suspended/));
  });
});
