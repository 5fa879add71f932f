// Secrets of webhooks and of phones' credentials, in addition to secrets.test.ts: places where they
// must not appear after a send that used each of them.
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { rotateSecret } from '../../src/sending/webhooks/manage-webhooks.ts';
import { apnsKey, bundleId, grant, keyId, projectId, serviceAccount, teamId } from '../channels/phone-bundle.ts';
import { startPushServer } from '../channels/push-server.ts';
import { setup } from '../setup.ts';
import { openShop } from '../workers/webhook-shop.ts';

const [apple, google] = await Promise.all([0, 1].map(() => startPushServer({ protocol: 'h2' as const })));
if (!apple || !google) throw new Error('no servers');
whenDone(() => Promise.all([apple.close(), google.close()]));
const addressOf = ({ port }: { port: number }): string => `https://127.0.0.1:${port}`;
const tokenUrl = `${addressOf(google)}/token`;
const accessToken = 'ya29.canary-of-the-access-token';
let assertion = '';
let providerToken = '';
apple.handle = (request) => {
  providerToken = String(request.headers['authorization']).replace(/^bearer /i, '');
  request.answer(403, {}, JSON.stringify({ reason: 'InvalidProviderToken' }));
};
google.handle = (request) => {
  if (request.path !== '/token') return request.answer(401, {}, '{"error":{"status":"UNAUTHENTICATED"}}');
  assertion = new URLSearchParams(request.body.toString()).get('assertion') ?? '';
  return request.answer(200, {}, grant(accessToken));
};

const lines: string[] = [];
const t = await setup({
  environment: {
    LOG_LEVEL: 'trace',
    OUTBOUND_ALLOW_PORTS: '1024-65535',
    WEBHOOK_FAILURE_PAUSE_MAX_MS: '0',
    APNS_URL: addressOf(apple),
    APNS_SANDBOX_URL: addressOf(apple),
    FCM_URL: addressOf(google),
    FCM_TOKEN_URL: tokenUrl,
  },
  logTo: { write: (line) => void lines.push(line) },
});
const account = serviceAccount({ token_uri: tokenUrl });
await t.setCredential({
  channel: 'apns',
  public: { keyId, teamId, bundleId, environment: 'production' },
  secret: apnsKey.pem,
});
await t.setCredential({
  channel: 'fcm',
  public: { projectId, clientEmail: String(account['client_email']), privateKeyId: '0a1b2c3d4e5f' },
  secret: JSON.stringify(account),
});

// Every request that can be refused is refused, because logs and answers say the most then.
const shop = await openShop(t, [], t.app);
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const pending = await rotateSecret(deps, await shop.hook(), { finishAt: null, isDual: true });
shop.receiver.answer = (request, response) =>
  response.writeHead(500, { 'x-echo': String(request.headers['service-signature']) }).end(shop.secret);
const devices = [
  await t.registerDevice({ platform: 'ios', token: 'e'.repeat(64) }),
  await t.registerDevice({ platform: 'android', token: 'android-1' }),
];
const { body: sent } = await t.server.post('/v1/messages', {
  audience: { device_ids: devices },
  content: { title: 'Sale' },
});
await shop.receiver.count(2);
await t.workers.idle();
const answers = await Promise.all(
  ['', '/deliveries'].map(async (path) => JSON.stringify((await t.server.get(`/v1/messages/${sent.id}${path}`)).body)),
);

/** The letters of a PEM without its frame, which identify it on one line or on many. */
const lettersOf = (pem: string): string =>
  pem
    .replace(/-----[^-]+-----/g, '')
    .replace(/\s+/g, '')
    .slice(20, 60);
const [signature = ''] = shop.receiver.received.map(({ headers }) => String(headers['service-signature']));

const secrets: readonly (readonly [string, string])[] = [
  ['signing secret', shop.secret],
  ['pending signing secret', pending],
  ['APNs key', lettersOf(apnsKey.pem)],
  ['key of the service account', lettersOf(String(account['private_key']))],
  ['provider token', providerToken],
  ['assertion', assertion],
  ['access token', accessToken],
  ['signature of a webhook', signature.slice(signature.indexOf('v1='))],
];

async function tablesWith(text: string): Promise<string[]> {
  const columns = await t.sql<{ tableName: string; columnName: string }[]>`
    SELECT c.table_name, c.column_name FROM information_schema.columns c
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const found: string[] = [];
  for (const { tableName, columnName } of columns) {
    const [row] = await t.sql`
      SELECT FROM ${t.sql(tableName)} WHERE strpos(${t.sql(columnName)}::text, ${text}) > 0
        OR strpos(${t.sql(columnName)}::text, ${Buffer.from(text).toString('hex')}) > 0 LIMIT 1`;
    if (row) found.push(`${tableName}.${columnName}`);
  }
  return found;
}

describe('R-80 each secret of webhooks and phones', () => {
  it('was used: each endpoint was called, and refused', () => {
    expect(sent.report).toEqual({ accepted: 2, sent: 0, failed: 2, skipped: 0 });
    expect(shop.receiver.received).toHaveLength(2);
    const [one] = shop.receiver.received;
    const t0 = /^t=(\d+)/.exec(signature)?.[1];
    const mac = createHmac('sha256', shop.secret)
      .update(`${t0}.`)
      .update(one?.raw ?? '')
      .digest('hex');
    expect(signature).toContain(mac);
    for (const [, text] of secrets) expect(text.length).toBeGreaterThan(20);
  });

  it.each(secrets)('the %s is in no line of the log at its most detailed level', (_name, text) => {
    expect(lines.filter((line) => line.replaceAll('\\n', '').includes(text))).toEqual([]);
  });

  it.each(secrets)('the %s is in no table', async (_name, text) => {
    expect(await tablesWith(text)).toEqual([]);
  });

  it.each(secrets)('the %s is in no answer', (_name, text) => {
    expect(answers.filter((answer) => answer.replaceAll('\\n', '').includes(text))).toEqual([]);
  });
});
