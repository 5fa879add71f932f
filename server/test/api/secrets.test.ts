import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { receiptTokensOf } from '../../src/sending/delivery/receipt-token.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { revokeKey, rotateKey } from '../../src/teams/apps/manage-keys.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { signHash, signToken } from '../fixtures/sign-proof.ts';
import { type RequestOptions, type Response, setup } from '../setup.ts';

const lines: string[] = [];
/** The receipt token of a delivery of the send below, as the push carried it. */
let receiptToken = '';
let metrics = '';
const metricsToken = `metrics-${randomBytes(18).toString('hex')}`;
const t = await setup({
  environment: { LOG_LEVEL: 'trace', METRICS_TOKEN: metricsToken },
  logTo: { write: (line) => void lines.push(line) },
});
const app = await t.newApp({ name: 'Canaries' });
const sealing = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const { secret: identifySecret } = await rotateIdentifySecret(sealing, app.id, { form: 'hash' });
const { secret: nextIdentifySecret } = await rotateIdentifySecret(sealing, app.id, { form: 'token' });
const identityTokens = [nextIdentifySecret, identifySecret].map((secret) =>
  signToken(secret, { sub: 'ada', exp: Math.floor(t.clock.nowMs() / 1000) + 3600 }),
);
const [identityToken = '', foreignToken = ''] = identityTokens;

/** A word that occurs nowhere else. */
const word = (name: string): string => `${name}-${randomBytes(9).toString('hex')}`;
const subscription = t.pushSubscription(word('endpoint'));
const deadSubscription = t.pushSubscription(word('dead'));
const busySubscription = t.pushSubscription(word('busy'));
const refusedSubscription = t.pushSubscription(word('refused'));
const tokenOf = ({ endpoint }: { endpoint: string }): string => endpoint.slice(endpoint.lastIndexOf('/') + 1);
const iosToken = randomBytes(32).toString('hex');
const androidToken = word('android');
const propertyValue = word('property');
const deviceValue = word('of-the-device');
const firstName = word('name');

/**
 * Secrets that must not be stored or logged in clear text: keys, and everything that gives access.
 */
const secrets: Readonly<Record<string, string>> = {
  'server key': app.serverKey,
  'client key': app.clientKey,
  'VAPID private key': app.vapidPrivateKey,
  'master key': t.masterKey.toString('base64'),
  'master key, hex': t.masterKey.toString('hex'),
  'identify secret': identifySecret,
  'identify secret of a rotation': nextIdentifySecret,
  'identity token': identityToken,
  'identity token that was refused': foreignToken,
  'metrics token': metricsToken,
  'receipt key': t.receiptKey.toString('base64'),
  'receipt key, hex': t.receiptKey.toString('hex'),
};
/** Personal texts with the only columns that may contain them. */
const personal: Readonly<Record<string, { readonly text: string; readonly columns: readonly string[] }>> = {
  'push endpoint': { text: tokenOf(subscription), columns: ['devices.token'] },
  'push auth secret': { text: subscription.keys.auth, columns: ['devices.token'] },
  'push public key': { text: subscription.keys.p256dh, columns: ['devices.token'] },
  'dead endpoint': { text: tokenOf(deadSubscription), columns: ['devices.token'] },
  'busy endpoint': { text: tokenOf(busySubscription), columns: ['devices.token'] },
  'refused endpoint': { text: tokenOf(refusedSubscription), columns: [] },
  'iOS token': { text: iosToken, columns: ['devices.token'] },
  'Android token': { text: androidToken, columns: ['devices.token'] },
  'property value': {
    text: propertyValue,
    columns: ['audience.text_01', 'properties.samples', 'segments.filter', 'users.properties'],
  },
  "a device's own property": {
    text: deviceValue,
    columns: ['audience.text_02', 'devices.properties', 'properties.samples'],
  },
  'first name': { text: firstName, columns: ['audience.first_name', 'users.first_name'] },
};

const answers: { readonly asked: string; readonly text: string; readonly status: number }[] = [];
async function ask(key: string | null, method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const answer = await t.request(method, path, { key, ...options });
  const text = JSON.stringify([Object.fromEntries(answer.headers), answer.body]);
  answers.push({ asked: `${method} ${path}`, text, status: answer.status });
  return answer;
}

/**
 * A day in the life of an app: successes, callers' mistakes, refusals of providers, and our own
 * faults.
 */
async function live(): Promise<void> {
  const quiet = (status: number, headers: Record<string, string> = {}) =>
    ((_request, response) => {
      response.writeHead(status, headers);
      response.end();
    }) satisfies Parameters<typeof t.push.script>[1];
  // The receiver's default answer has the token in its Location header. That would be stored
  // verbatim as the provider's answer.
  t.push.scriptAll(quiet(201, { location: 'https://push.test.example/m/1' }));
  t.push.script(tokenOf(deadSubscription), quiet(410));
  t.push.script(tokenOf(busySubscription), quiet(429, { 'retry-after': '3600' }));

  const { serverKey, clientKey } = app;
  const register = (key: string, fields: object) => ask(key, 'POST', '/v1/devices', { body: fields });
  await register(clientKey, { platform: 'web', token: JSON.stringify(subscription) });
  await register(clientKey, { platform: 'web', token: deadSubscription });
  await register(clientKey, { platform: 'web', token: busySubscription });
  await register(clientKey, { platform: 'ios', token: iosToken });
  const { body: device } = await register(serverKey, { platform: 'android', token: androidToken });
  const profile = { external_id: 'ada', first_name: firstName, properties: { plan: propertyValue, age: 1 } };
  await ask(serverKey, 'POST', '/v1/users', { body: { ...profile, device_id: device.id } });
  await ask(serverKey, 'POST', '/v1/users', { body: { ...profile, properties: { age: propertyValue } } });
  await register(serverKey, { platform: 'android', token: androidToken, properties: { topic: deviceValue } });

  // Callers that make mistakes, with everything in the wrong place.
  for (const token of [{ ...refusedSubscription, extra: 1 }, { ...refusedSubscription, keys: {} }, 'nonsense']) {
    await register(clientKey, { platform: 'web', token });
  }
  await register(clientKey, { platform: 'ios', token: `${iosToken}zz` });
  await register(clientKey, { platform: 'web', token: refusedSubscription, device_id: 'dev_none' });
  await register(clientKey, { platform: 'web', token: refusedSubscription, properties: { unknown: deviceValue } });
  await ask(`${serverKey}x`, 'GET', '/v1/messages');
  await ask(`${serverKey.slice(0, -1)}!`, 'GET', `/v1/messages?key=${serverKey}`);
  await ask(clientKey, 'GET', '/v1/messages');
  await ask(serverKey, 'GET', `/v1/messages?key=${serverKey}`, { headers: { cookie: `key=${serverKey}` } });
  await ask(serverKey, 'POST', '/v1/users', { raw: `{"external_id":"${propertyValue}` });
  await ask(null, 'POST', '/v1/receipts', { body: { token: refusedSubscription.endpoint, event: 'clicked' } });
  await ask(null, 'GET', `/v1/r/${tokenOf(refusedSubscription)}`);

  // Proofs, right and wrong, and a secret in the place of a proof.
  const identify = { device_id: device.id, external_id: 'ada' };
  for (const user_hash of [signHash(identifySecret, 'ada'), identifySecret, signHash(serverKey, 'ada')]) {
    await ask(clientKey, 'POST', '/v1/identify', { body: { ...identify, user_hash } });
  }
  for (const user_token of [...identityTokens, nextIdentifySecret]) {
    await ask(clientKey, 'POST', '/v1/identify', { body: { ...identify, user_token } });
  }

  // Sends to devices that accept, are gone, or must be tried again.
  const content = { title: 'Hi {{first_name}}', body: '{{properties.plan}} {{properties.topic}}' };
  const request = { audience: { all: true }, content };
  const { body: sent } = await ask(serverKey, 'POST', '/v1/messages', { body: request });
  await ask(serverKey, 'POST', '/v1/messages', { body: { ...request, dry_run: true } });
  for (const path of [
    `/v1/messages/${sent.id}`,
    `/v1/messages/${sent.id}/deliveries`,
    '/v1/messages',
    '/v1/devices',
    '/v1/properties',
    '/v1/users/ada',
    '/v1/config',
    '/healthz',
    '/readyz',
  ]) {
    await ask(serverKey, 'GET', path);
  }

  // Changes that the audit log records.
  const filter = { field: 'properties.plan', op: 'eq', value: propertyValue };
  const { body: segment } = await ask(serverKey, 'POST', '/v1/segments', { body: { name: 'Of one plan', filter } });
  await ask(serverKey, 'PUT', `/v1/segments/${segment.id}`, { body: { name: 'Of a plan', filter } });
  await ask(serverKey, 'POST', '/v1/users', { body: { external_id: 'eve@shop.example', first_name: 'Eve' } });
  await ask(serverKey, 'DELETE', '/v1/users/eve%40shop.example');

  // The texts of a notification at places that strangers see: in a body and in an address.
  const [batch] = await t.sql<{ id: string }[]>`SELECT id FROM batches LIMIT 1`;
  receiptToken = receiptTokensOf(t.receiptKey, batch?.id ?? '')(0);
  await ask(null, 'POST', '/v1/receipts', { body: { token: receiptToken, event: 'displayed' } });
  await ask(null, 'GET', `/v1/r/${receiptToken}`);
  metrics = String((await ask(metricsToken, 'GET', '/metrics')).body);

  // Our own faults: the database quotes the row that it refuses.
  await t.sql`ALTER TABLE devices ADD CONSTRAINT never CHECK (platform <> 'web') NOT VALID`;
  await t.sql`ALTER TABLE users ADD CONSTRAINT never CHECK (external_id <> 'bob') NOT VALID`;
  await register(clientKey, { platform: 'web', token: refusedSubscription });
  await ask(serverKey, 'POST', '/v1/users', { body: { ...profile, external_id: 'bob' } });
  await t.sql`ALTER TABLE devices DROP CONSTRAINT never`;
  await t.sql`ALTER TABLE users DROP CONSTRAINT never`;

  // The end of the keys and of the app.
  const deps = { sql: t.sql, clock: t.clock, by: t.by };
  const [stored] = await t.sql`SELECT id FROM keys WHERE app_id = ${app.id} AND scope = 'server'`;
  await rotateKey(deps, { id: String(stored?.['id']), overlapHours: 0 });
  await revokeKey(deps, String(stored?.['id']));
  t.clock.advance(2000);
  await ask(serverKey, 'GET', '/v1/messages');
  await updateAppSuspension(t.sql, t.clock, app.id, true);
  t.clock.advance(2000);
  await ask(clientKey, 'GET', '/v1/config');
}
await live();

/**
 * Every column of every table that contains a text, its bytes, or the hexadecimal form of either.
 */
async function columnsWith(text: string): Promise<string[]> {
  const columns = await t.sql<{ tableName: string; columnName: string; dataType: string }[]>`
    SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND table_type = 'BASE TABLE'
      AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = format('%I', c.table_name)::regclass)`;
  const found: string[] = [];
  for (const { tableName, columnName, dataType } of columns) {
    const column = t.sql(columnName);
    const asText = dataType === 'bytea' ? t.sql`encode(${column}, 'escape')` : t.sql`${column}::text`;
    const [row] = await t.sql`
      SELECT count(*) AS count FROM ${t.sql(tableName)}
      WHERE strpos(${asText}, ${text}) > 0 OR strpos(${column}::text, ${Buffer.from(text).toString('hex')}) > 0`;
    if (row?.['count'] > 0) found.push(`${tableName}.${columnName}`);
  }
  return found.sort();
}

describe('R-80 secret and personal texts', () => {
  const everything = {
    ...secrets,
    ...Object.fromEntries(Object.entries(personal).map(([name, { text }]) => [name, text])),
  };

  it('were used: the run had every kind of answer', () => {
    const statuses = new Set(answers.map(({ status }) => status));
    for (const status of [200, 400, 401, 403, 404, 500]) expect(statuses).toContain(status);
    expect(t.push.requestsOf(tokenOf(subscription))).toHaveLength(1);
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toHaveLength(2);
  });

  it.each(Object.entries(everything))('the log at its most detailed level contains no %s', (_name, text) => {
    expect(lines.filter((line) => line.includes(text) || line.includes(Buffer.from(text).toString('base64')))).toEqual(
      [],
    );
  });

  it('the log contains no receipt token, although the token is a credential in an address', () => {
    expect(receiptToken).toHaveLength(47);
    expect(answers.filter(({ asked, status }) => asked.includes(receiptToken) && status < 500)).toHaveLength(1);
    expect(lines.filter((line) => line.includes(receiptToken))).toEqual([]);
  });

  it('metrics contain no secret, no token and no person', () => {
    expect(metrics).toMatch(/^carillon_/m);
    expect(Object.entries(everything).filter(([, text]) => metrics.includes(text))).toEqual([]);
    for (const text of [receiptToken, 'eve@', app.id]) expect(metrics).not.toContain(text);
  });

  it('the audit log records keys, credentials, secrets, segments and erasures, and contains none of their texts', async () => {
    const rows = await t.sql<{ action: string; text: string }[]>`SELECT action, a::text AS text FROM audit_entries a`;
    expect([...new Set(rows.map(({ action }) => action))].sort()).toEqual([
      ...['app.create', 'channel.set', 'identify_secret.rotate', 'key.create', 'key.revoke', 'key.rotate'],
      ...['segment.create', 'segment.replace', 'user.erase'],
    ]);
    const all = rows.map(({ text }) => text).join('\n');
    expect(Object.entries(everything).filter(([, text]) => all.includes(text))).toEqual([]);
    expect(all).not.toContain('eve@');
  });

  it.each(Object.entries(secrets))('no table contains the %s', async (_name, text) => {
    expect(await columnsWith(text)).toEqual([]);
  });

  it.each(Object.entries(personal))(
    'the %s is in its own columns and nowhere else',
    async (_name, { text, columns }) => {
      expect(await columnsWith(text)).toEqual(columns);
    },
  );

  it('a key is stored as its hash', async () => {
    const hash = createHash('sha256').update(app.serverKey).digest('hex');
    expect(await t.sql`SELECT scope FROM keys WHERE encode(hash, 'hex') = ${hash}`).toHaveLength(1);
  });

  it('an opted-out device keeps no token', async () => {
    const own = await t.newApp();
    const token = word('leaving');
    const device = await t.registerDevice({ platform: 'android', token }, own);
    expect(await columnsWith(token)).toEqual(['devices.token']);
    await t.clientOf(own.clientKey).delete(`/v1/devices/${device}`);
    expect(await columnsWith(token)).toEqual([]);
  });

  const hidden = Object.entries(everything).filter(([name]) => !/property|name/.test(name));
  it.each(hidden)('no answer returns the %s', (_name, text) => {
    expect(answers.filter((answer) => answer.text.includes(text)).map(({ asked }) => asked)).toEqual([]);
  });

  it('no error contains personal data', () => {
    const errors = answers.filter(({ status }) => status !== 200);
    for (const text of Object.values(everything)) {
      expect(errors.filter((answer) => answer.text.includes(text)).map(({ asked }) => asked)).toEqual([]);
    }
  });
});
