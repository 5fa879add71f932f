// Compose in the console: what a screen is said to show is what its device gets; sends, schedules
// and tests by people are those of /v1.
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import {
  apnsKey,
  bundleId,
  clientEmail,
  grant,
  keyId,
  projectId,
  serviceAccount,
  teamId,
} from '../channels/phone-bundle.ts';
import { startPushServer } from '../channels/push-server.ts';
import { readPayload, subscriptionTo } from '../channels/webpush-bundle.ts';
import { setup, unknownId } from '../setup.ts';
import { signIn } from './console.ts';

const [apple, google] = await Promise.all([0, 1].map(() => startPushServer({ protocol: 'h2' as const })));
if (!apple || !google) throw new Error('no servers');
const addressOf = ({ port }: { port: number }) => `https://127.0.0.1:${port}`;
const fcmTokenUrl = `${addressOf(google)}/token`;
const t = await setup({
  environment: { APNS_URL: addressOf(apple), FCM_URL: addressOf(google), FCM_TOKEN_URL: fcmTokenUrl },
});
whenDone(() => Promise.all([apple.close(), google.close()]));
apple.handle = (request) => request.answer(200, { 'apns-id': request.headers['apns-id'] ?? '' });
google.handle = (request) => {
  if (request.path === '/token') return request.answer(200, {}, grant('ya29.test'));
  const { token } = JSON.parse(request.body.toString()).message;
  const name = `projects/${projectId}/messages/0:${token}`;
  return request.answer(200, { 'content-type': 'application/json' }, JSON.stringify({ name }));
};
await t.setCredential({
  channel: 'apns',
  public: { keyId, teamId, bundleId, environment: 'production' },
  secret: apnsKey.pem,
});
await t.setCredential({
  channel: 'fcm',
  public: { projectId, clientEmail, privateKeyId: '0a1b2c3d4e5f' },
  secret: JSON.stringify(serviceAccount({ token_uri: fcmTokenUrl })),
});

const app = encodeId('app', t.app.id);
const member = await signIn(t, 'member');
const at = (path: string): string => `/apps/${app}${path}`;
const render = (body: object) => member.send('POST', at('/render'), body);

const iosToken = 'e'.repeat(64);
const phone = await t.registerDevice({ platform: 'ios', token: iosToken, locale: 'fr-FR' });
const android = await t.registerDevice({ platform: 'android', token: 'android-1', properties: { plan: 'pro' } });
const browser = await t.registerDevice({ token: subscriptionTo('https://push.test.example/push/browser-1') });
for (const device of [phone, android, browser]) {
  await t.server.post('/v1/users', { external_id: 'u-42', first_name: 'Zoë', device_id: device, language: 'de' });
}

const content = {
  title: "Sale, {{first_name | default: 'you'}}",
  body: 'Your {{properties.plan}} offer',
  locales: { de: { title: "Ausverkauf, {{first_name | default: 'du'}}" }, fr: { title: 'Soldes' } },
  apns: { subtitle: 'Only {{country}} today', body: 'On iPhones' },
  webpush: { actions: [{ action: 'open', title: 'Open the shop of {{first_name}}' }] },
};

describe('the drawn preview', () => {
  it('shows each screen the text that its device then gets, in the language of the delivery', async () => {
    const drawn = await Promise.all(
      ['webpush', 'apns', 'fcm'].map(async (channel) => (await render({ content, channel, external_id: 'u-42' })).body),
    );
    const sent = await member.send('POST', at('/messages'), { audience: { external_ids: ['u-42'] }, content });
    expect(sent.body.report).toMatchObject({ accepted: 3, sent: 3 });
    const [onWeb, onApple, onGoogle] = drawn;
    const { notification } = readPayload(t.push.requestsOf('browser-1')[0]?.body ?? Buffer.alloc(0));
    const { alert } = JSON.parse(String(apple.seen.find(({ path }) => path.endsWith(iosToken))?.body)).aps;
    const { message } = JSON.parse(String(google.seen.find(({ body }) => body.includes('android-1'))?.body));
    const texts = ({ screens }: { screens: { title: { text: string }; body: { text: string } }[] }) =>
      screens.map(({ title, body }) => ({ title: title.text, body: body.text }));
    const { title, body } = notification;
    expect(texts(onWeb)).toEqual(Array.from({ length: 3 }, () => ({ title, body })));
    expect(texts(onApple)).toEqual([{ title: alert.title, body: alert.body }]);
    expect(onApple.screens[0].subtitle.text).toBe(alert.subtitle);
    expect(texts(onGoogle)).toEqual([{ title: message.notification.title, body: message.notification.body }]);
    expect(title).toBe('Ausverkauf, Zoë');
    expect(onGoogle).toMatchObject({ language: 'de', locale: 'de', result: 'shown' });
    expect(onGoogle.variables).toEqual([
      { name: 'first_name', value: 'Zoë' },
      { name: 'country', value: null },
      { name: 'properties.plan', value: 'pro' },
    ]);
    expect(message.notification.body).toBe('Your pro offer');
  });

  it('cuts each text as its screen does, and shows the actions and images that the screen has', async () => {
    const long = { title: 'T'.repeat(80), body: 'b'.repeat(300), image: 'https://shop.example/bell.png' };
    const { screens } = (await render({ content: { ...content, ...long, locales: null }, channel: 'webpush' })).body;
    expect(
      screens.map(({ screen, title, body, image, actions }: Record<string, { shown: string; length: number }[]>) => ({
        screen,
        image,
        actions: actions?.length,
        lengths: [title, body].map((text) => [...(text as unknown as { shown: string }).shown].length),
      })),
    ).toEqual([
      { screen: 'chrome_windows', image: long.image, actions: 1, lengths: [70, 140] },
      { screen: 'chrome_macos', image: null, actions: 1, lengths: [43, 88] },
      { screen: 'firefox', image: null, actions: 0, lengths: [50, 200] },
    ]);
    expect(screens[0].actions[0]).toEqual({
      text: 'Open the shop of ',
      shown: 'Open the shop of ',
      length: 17,
      limit: 19,
    });
  });

  it('renders for a device, for somebody without values, and in a chosen language', async () => {
    const titleOf = async (of: object): Promise<string> =>
      (await render({ content, channel: 'apns', ...of })).body.screens[0].title.text;
    expect(await titleOf({})).toBe('Sale, you');
    expect(await titleOf({ language: 'de' })).toBe('Ausverkauf, du');
    expect(await titleOf({ device_id: phone })).toBe('Ausverkauf, Zoë');
    expect(await titleOf({ external_id: 'u-42', language: 'FR-ca' })).toBe('Soldes');
    // A person without any device has the values of their profile.
    await t.server.post('/v1/users', { external_id: 'u-43', first_name: 'Bo', properties: { plan: 'free' } });
    const { body } = await render({ content, channel: 'fcm', external_id: 'u-43' });
    expect([body.screens[0].title.text, body.screens[0].body.text]).toEqual(['Sale, Bo', 'Your free offer']);
  });

  it('says why a device would get no push', async () => {
    const result = async (of: object): Promise<string> => (await render({ channel: 'webpush', ...of })).body.result;
    expect(await result({ content: { title: '{{first_name}}' } })).toBe('empty_content');
    expect(await result({ content: { title: 'a', body: 'ü'.repeat(2500) } })).toBe('payload_too_large');
    const silent = { content: { apns: { content_available: true } }, channel: 'apns' };
    expect(await result(silent)).toBe('background');
    expect(await result({ ...silent, content: { apns: { content_available: true, badge: 0 } } })).toBe('badge');
    expect(await result({ content: { title: ' \u200b{{first_name}}' } })).toBe('empty_content');
  });

  it('sends nothing, stores nothing, and refuses content as a send does', async () => {
    const before = await t.sql`SELECT (SELECT count(*) FROM messages) AS messages`;
    const pushes = t.push.requests.length;
    expect((await render({ content, channel: 'webpush', external_id: 'u-42' })).status).toBe(200);
    expect(await t.sql`SELECT (SELECT count(*) FROM messages) AS messages`).toEqual(before);
    expect(t.push.requests.length).toBe(pushes);
    const wrong = await render({ content: { title: '{{first_name' }, channel: 'webpush' });
    expect(wrong.body.issues).toMatchObject([{ path: ['content', 'title'], code: 'template_syntax' }]);
    expect((await render({ content: {}, channel: 'webpush' })).body.issues).toMatchObject([{ code: 'empty_content' }]);
    const both = await render({ content, channel: 'fcm', external_id: 'u-42', device_id: phone });
    expect(both.body.issues).toMatchObject([{ code: 'exactly_one_required' }]);
  });

  it("R-60 another app's user and device are answered like unknown ones", async () => {
    const other = await t.newApp();
    const theirs = await t.registerDevice({}, other);
    await t.clientOf(other.serverKey).post('/v1/users', { external_id: 'u-9', device_id: theirs });
    for (const [name, foreign, unknown] of [
      ['external_id', 'u-9', 'u-10'],
      ['device_id', theirs, unknownId('dev')],
      ['device_id', theirs, 'dev_short'],
    ] as const) {
      const answers = await Promise.all(
        [foreign, unknown].map((id) => render({ content, channel: 'webpush', [name]: id })),
      );
      const read = answers.map(({ status, body }, i) => [
        status,
        String(body.message).replace([foreign, unknown][i] ?? '', ''),
      ]);
      expect(read[0]).toEqual(read[1]);
      expect(read[0]?.[0]).toBe(404);
    }
  });
});

describe('a message by a person', () => {
  it('is sent once for a form that is submitted twice, and stands in the audit log without its people', async () => {
    const body = { audience: { external_ids: ['u-42'] }, content: { title: 'Once' }, name: 'Once only' };
    const submit = () =>
      t.request('POST', `/console/api${at('/messages')}`, {
        body,
        headers: {
          cookie: member.cookie,
          origin: 'https://carillon.test.example',
          'sec-fetch-site': 'same-origin',
          'idempotency-key': 'form-1',
        },
      });
    const answers = await Promise.all([submit(), submit()]);
    expect(answers.map(({ body }) => body.replayed).sort()).toEqual([false, true]);
    const [first] = answers;
    const { created_by } = (await t.server.get(`/v1/messages/${first?.body.id}`)).body;
    expect(created_by).toEqual({ type: 'person', id: null, name: member.email });
    const entries = await t.sql`
      SELECT action, actor_name, after FROM audit_entries WHERE target = ${first?.body.id}`;
    expect(entries.map((row) => ({ ...row }))).toEqual([
      {
        action: 'message.send',
        actorName: member.email,
        after: { name: 'Once only', audience: ['external_ids'], run_at: null },
      },
    ]);
  });

  it('is scheduled, and counted by a dry run that leaves nothing behind', async () => {
    const send_at = new Date(t.clock.nowMs() + 3_600_000).toISOString();
    const body = { audience: { all: true }, content: { title: 'Later' }, send_at, local_time: false };
    const dry = await member.send('POST', at('/messages'), { ...body, dry_run: true });
    expect(dry.body).toMatchObject({ dry_run: true, count: 3, by_channel: { webpush: 1, apns: 1, fcm: 1 } });
    const made = await member.send('POST', at('/messages'), body);
    expect(made.body).toMatchObject({ status: 'scheduled', run_at: send_at });
    const sends = await t.sql`
      SELECT target FROM audit_entries WHERE action = 'message.send' AND after ->> 'run_at' IS NOT NULL`;
    expect(sends.map(({ target }) => target)).toEqual([made.body.id]);
  });

  it('a message by a key has no entry in the audit log', async () => {
    const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [browser] }, content });
    expect(await t.sql`SELECT 1 FROM audit_entries WHERE target = ${body.id}`).toHaveLength(0);
  });
});

describe('test users', () => {
  it('are kept as a list that only the last reader may replace', async () => {
    const empty = (await member.send('GET', at('/test-users'))).body;
    expect(empty).toEqual({ users: [], updated_at: null });
    expect((await member.send('POST', at('/test-users/send'), { content: { title: 'T' } })).status).toBe(400);
    const users = [{ external_id: 'u-42' }, { device_id: browser }, { external_id: 'u-nobody' }];
    const first = await member.send('PUT', at('/test-users'), { users, updated_at: null });
    expect(first.body.users).toEqual([
      { external_id: 'u-42', devices: 3 },
      { external_id: 'u-nobody', devices: 0 },
      { device_id: browser, devices: 1 },
    ]);
    const late = await member.send('PUT', at('/test-users'), { users: [], updated_at: null });
    expect({ error: late.body.error, present: late.body.present }).toEqual({
      error: 'changed_meanwhile',
      present: first.body,
    });
    const foreign = await t.registerDevice({}, await t.newApp());
    const taken = { users: [{ device_id: foreign }], updated_at: first.body.updated_at };
    expect((await member.send('PUT', at('/test-users'), taken)).status).toBe(404);
    const many = { users: Array.from({ length: 21 }, (_, i) => ({ external_id: `u-${i}` })), updated_at: null };
    expect((await member.send('PUT', at('/test-users'), many)).status).toBe(400);
  });

  it('get a test on every device, once each, by the normal path', async () => {
    const before = t.push.requests.length;
    const { status, body } = await member.send('POST', at('/test-users/send'), { content: { title: 'Try' } });
    expect({ status, report: body.report }).toEqual({
      status: 200,
      report: { accepted: 3, sent: 3, failed: 0, skipped: 0 },
    });
    expect(t.push.requests.length).toBe(before + 1);
    expect((await t.server.get(`/v1/messages/${body.message_id}`)).body).toMatchObject({ name: 'Test' });
  });

  it('an erased person leaves the list', async () => {
    await t.server.post('/v1/users', { external_id: 'u-gone' });
    const { users, updated_at } = (await member.send('GET', at('/test-users'))).body;
    const named = users.map(({ devices: _devices, ...each }: { devices: number }) => each);
    await member.send('PUT', at('/test-users'), { users: [...named, { external_id: 'u-gone' }], updated_at });
    expect((await t.server.delete('/v1/users/u-gone')).status).toBe(200);
    const { users: left } = (await member.send('GET', at('/test-users'))).body;
    expect(JSON.stringify(left)).not.toContain('u-gone');
  });

  it('are looked up at once: an unknown device is named, and one that is listed twice counts once', async () => {
    const { updated_at } = (await member.send('GET', at('/test-users'))).body;
    const { body: device } = await t.server.post('/v1/devices', { platform: 'android', token: 'a-test-device' });
    const twice = [{ device_id: device.id }, { device_id: device.id }];
    const missing = { device_id: 'dev_0000000000000000000001' };
    const refused = await member.send('PUT', at('/test-users'), { users: [...twice, missing], updated_at });
    expect([refused.status, refused.body.message]).toEqual([404, expect.stringContaining(missing.device_id)]);
    const { body } = await member.send('PUT', at('/test-users'), { users: twice, updated_at });
    expect(body.users).toHaveLength(1);
  });
});
