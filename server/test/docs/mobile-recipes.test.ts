// Makes every request on the pages for app developers, in the page's order, and compares every
// answer and push with the page. A page about another API than this one fails here.
import { expect, test } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { apnsKey, bundleId, grant, keyId, projectId, serviceAccount, teamId } from '../channels/phone-bundle.ts';
import { startPushServer } from '../channels/push-server.ts';
import { setup } from '../setup.ts';
import { type FencedBlock, parseRequest, readBlocks } from './fenced-blocks.ts';

const provider = await startPushServer({ protocol: 'h2' });
const address = `https://127.0.0.1:${provider.port}`;
const t = await setup({
  environment: {
    APNS_URL: address,
    APNS_SANDBOX_URL: address,
    FCM_URL: address,
    FCM_TOKEN_URL: `${address}/token`,
  },
});
whenDone(() => provider.close());
provider.handle = (request) => {
  if (request.path === '/token') return request.answer(200, {}, grant('ya29.test'));
  const apnsId = request.headers['apns-id'];
  if (apnsId !== undefined) return request.answer(200, { 'apns-id': apnsId });
  return request.answer(200, {}, JSON.stringify({ name: `projects/${projectId}/messages/0:1` }));
};

type Json = ReturnType<typeof JSON.parse>;

/**
 * Whether a text on a page stands for the reader's own value: an id, a time, or a text cut by an
 * ellipsis.
 */
function isExample(text: string): boolean {
  return (
    text.includes('…') || /^(?:dev|usr|msg)_[0-9A-Za-z]{22}$/.test(text) || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)
  );
}

/** The form of an example, which the real value must share: its beginning, or its pattern. */
function formOf(text: string): string {
  if (text.includes('…')) return text.slice(0, text.indexOf('…')).replace(/^AgGh_8dZ$/, 'Ag');
  return text.replace(/[0-9A-Za-z]{22}$/, '').replace(/\d/g, '0');
}

/** The real value, or the example when the real value has its form. */
function asShown(shown: Json, real: Json): Json {
  if (typeof shown === 'string' && typeof real === 'string' && isExample(shown)) {
    const form = formOf(shown);
    return (shown.includes('…') ? real : formOf(real)).startsWith(form) ? shown : real;
  }
  if (typeof shown !== 'object' || shown === null || typeof real !== 'object' || real === null) return real;
  if (Array.isArray(shown)) return (real as Json[]).map((each, i) => asShown(shown[i], each));
  return Object.fromEntries(Object.entries(real).map(([name, value]) => [name, asShown(shown[name], value)]));
}

function expectAsShown(real: Json, shown: Json): void {
  const replaced = asShown(shown, real);
  expect(replaced).toEqual(shown);
  expect(Object.keys(replaced)).toEqual(Object.keys(shown));
}

async function play(blocks: readonly FencedBlock[]): Promise<string[]> {
  const app = await t.newApp();
  const apnsPublic = { keyId, teamId, bundleId, environment: 'production' };
  await t.setCredential({ channel: 'apns', public: apnsPublic, secret: apnsKey.pem }, app);
  const account = serviceAccount({ token_uri: `${address}/token` });
  const fcmPublic = { projectId, clientEmail: 'a@b.example', privateKeyId: '0a1b2c3d4e5f' };
  await t.setCredential({ channel: 'fcm', public: fcmPublic, secret: JSON.stringify(account) }, app);

  let deviceId = '';
  let pushed: Json;
  const asked: string[] = [];
  for (const [i, { info, text }] of blocks.entries()) {
    if (info === 'json arrives') expectAsShown(pushed, JSON.parse(text));
    if (info !== 'http') continue;
    const receiptToken = pushed?.carillon_token ?? pushed?.message.data.carillon_token ?? '';
    const { method, path, headers, body } = parseRequest(
      text
        .replaceAll('ck_live_…', app.clientKey)
        .replaceAll('sk_live_…', app.serverKey)
        .replaceAll('dev_…', deviceId)
        .replaceAll('AgGh_8dZ…', receiptToken),
    );
    asked.push(`${method} ${path.replace(deviceId || /$^/, 'ID')}`);
    const answer = await t.request(method, path, { key: null, headers, ...(body !== '' && { raw: body }) });
    const shown = blocks[i + 1];
    if (shown?.info !== 'json') throw new Error(`no answer is shown to ${method} ${path}`);
    expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
    expectAsShown(answer.body, JSON.parse(shown.text));
    if (path === '/v1/devices') deviceId = answer.body.id;
    if (path === '/v1/messages') pushed = JSON.parse(String(provider.seen.at(-1)?.body));
  }
  return asked;
}

const devices = 'POST /v1/devices';
const receipts = 'POST /v1/receipts';

test.each([['ios.md'], ['android.md']])('every request and answer of %s is as shown', async (page) => {
  expect(await play(readBlocks(page))).toEqual([
    devices,
    'POST /v1/users',
    'POST /v1/messages',
    receipts,
    receipts,
    devices,
    'POST /v1/identify',
    'DELETE /v1/devices/ID',
    'POST /v1/events',
  ]);
});

/** The JSON fields that code on a page writes, and the paths that it calls. */
const written = {
  'ios.md': { language: 'swift', member: /"(\w+)(?:": |"\] = )/g },
  'android.md': { language: 'kotlin', member: /\.put(?:Opt)?\("(\w+)"/g },
};

test.each(Object.entries(written))(
  'the code of %s sends only fields that the API knows',
  async (page, { language, member }) => {
    const code = readBlocks(page)
      .filter(({ info }) => info === language)
      .map(({ text }) => text)
      .join('\n');
    const { paths, components } = (await t.request('GET', '/openapi.json', { key: null })).body;
    const fieldsOf = (path: string): string[] => {
      const { schema } = paths[path].post.requestBody.content['application/json'];
      return Object.keys(components.schemas[schema.$ref.split('/').at(-1)].properties);
    };
    const known = new Set(['/v1/devices', '/v1/receipts', '/v1/identify'].flatMap(fieldsOf));
    // The fields of one event; the other form of the request is a list of events.
    for (const field of Object.keys(components.schemas.TrackedEvent.properties)) known.add(field);
    const sent = [...code.matchAll(member)].map(([, name]) => name);
    expect(sent).toEqual(expect.arrayContaining(['platform', 'token', 'device_id', 'event', 'action']));
    expect(sent.filter((name) => name === undefined || !known.has(name))).toEqual([]);
    const asked = [...code.matchAll(/"(\w+)", "(\/v1\/[^"]*)"/g)].map(([, method = '', path = '']) => [method, path]);
    expect(asked.length).toBeGreaterThanOrEqual(3);
    for (const [method = '', path = ''] of asked) {
      const template = path.replace(/\$id|\\\(id\)/, '{id}');
      expect(Object.keys(paths[template] ?? {})).toContain(method.toLowerCase());
    }
  },
);
