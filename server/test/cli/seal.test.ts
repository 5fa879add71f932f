import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal, type Seal } from '../../src/ground/secrets/seal.ts';
import type { Uuid } from '../../src/ground/values/ids.ts';
import { createWebhook, rotateSecret } from '../../src/sending/webhooks/manage-webhooks.ts';
import { findWebhook } from '../../src/sending/webhooks/queries.ts';
import { openSecrets } from '../../src/sending/webhooks/secrets.ts';
import { createCredentials, resealCredentials, saveCredential } from '../../src/teams/apps/credentials.ts';
import { loadIdentifyRules, rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const former = Buffer.from(cli.environment['MASTER_KEY'] ?? '', 'base64');
const current = randomBytes(32);
const bothKeys = {
  MASTER_KEY: current.toString('base64'),
  MASTER_KEY_PREVIOUS: former.toString('base64'),
};
const formerSeal = createSeal(former);

interface Kept {
  readonly app: Uuid;
  readonly webhook: Uuid;
}

/** Stores one secret of every kind that is sealed. */
async function keep(name: string): Promise<Kept> {
  const { id: app } = await cli.newApp(name);
  const deps = { ...cli, seal: formerSeal };
  // The first one is no longer the current credential of its channel.
  for (const secret of ['vapid-1', 'vapid-2']) {
    await saveCredential(deps, { appId: app, channel: 'webpush', public: {}, secret });
  }
  await saveCredential(deps, { appId: app, channel: 'apns', public: {}, secret: 'p8' });
  for (let i = 0; i < 2; i++) await rotateIdentifySecret(deps, app);
  const rules = { exceptions: noExceptions, ownHosts: [] };
  const endpoint = 'https://hooks.shop.example/push';
  const { id: webhook } = await createWebhook(deps, rules, { appId: app, endpoint, events: [] });
  const found = await findWebhook(cli.sql, webhook);
  if (found) await rotateSecret(deps, found, { finishAt: null, isDual: false });
  return { app, webhook };
}

/** Opens everything that is sealed. */
async function open({ app, webhook }: Kept, seal: Seal) {
  const found = await findWebhook(cli.sql, webhook);
  const credentials = await createCredentials({ sql: cli.sql, seal }).open(app);
  return {
    receiptKeys: (await loadInstance(cli.sql, seal)).receiptKeys.map((key) => key.toString('hex')),
    credentials: [...credentials.values()].map(({ secret }) => secret),
    identify: (await loadIdentifyRules({ sql: cli.sql, seal }, app)).secrets,
    webhook: found && openSecrets(seal, found),
  };
}

/** The number of records under each key, in all places. */
async function recordsByKey(): Promise<Record<string, number>> {
  const rows = await cli.sql<{ record: string }[]>`
    SELECT unnest(receipt_keys) AS record FROM instance UNION ALL SELECT secret FROM credentials
    UNION ALL SELECT identify_secret FROM apps WHERE identify_secret IS NOT NULL
    UNION ALL SELECT identify_secret_next FROM apps WHERE identify_secret_next IS NOT NULL
    UNION ALL SELECT secret FROM webhooks UNION ALL SELECT pending_secret FROM webhooks WHERE pending_secret IS NOT NULL`;
  const counts: Record<string, number> = {};
  for (const { record } of rows) {
    const [, key = ''] = record.split('.');
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const sealedEach = 3 + 2 + 2;
const currentKey = createSeal(current).keyId;

describe('R-45 seal rotate', () => {
  it('seals every secret with the new key, also after an interruption; then the former key opens nothing and is not needed', async () => {
    await loadInstance(cli.sql, formerSeal);
    const kept = [await keep('One'), await keep('Two')];
    const before = await Promise.all(kept.map((each) => open(each, formerSeal)));
    const all = 1 + kept.length * sealedEach;
    expect(await recordsByKey()).toEqual({ [formerSeal.keyId]: all });

    // Interrupted in the middle.
    let passed = 0;
    const disarm = armFailpoints((name) => {
      if (name === 'reseal.mid' && ++passed === 3) throw new Error('broken off');
    });
    onTestFinished(disarm);
    const both = { sql: cli.sql, seal: createSeal(current, former) };
    await expect(resealCredentials(both)).rejects.toThrow('broken off');
    disarm();
    const halfway = await recordsByKey();
    expect(halfway).toEqual({ [currentKey]: 3, [formerSeal.keyId]: all - 3 });

    const rotated = await cli.runWith(bothKeys, 'seal', 'rotate', '--json');
    expect(rotated).toMatchObject({ status: 0, json: { key_id: currentKey, unreadable: [] } });
    expect(await recordsByKey()).toEqual({ [currentKey]: all });
    // The new key alone opens every secret, unchanged.
    const newSeal = createSeal(current);
    expect(await Promise.all(kept.map((each) => open(each, newSeal)))).toEqual(before);
    for (const each of kept) await expect(open(each, formerSeal)).rejects.toThrow(/neither MASTER_KEY nor/);
    const again = await cli.runWith({ MASTER_KEY: bothKeys.MASTER_KEY }, 'seal', 'rotate');
    expect(again).toMatchObject({
      status: 0,
      stdout: 'Every secret is sealed with the master key already.\n',
    });
  });

  it('names secrets that neither key opens, leaves them, and ends with 1', async () => {
    const { app } = await keep('Three');
    const stranger = createSeal(randomBytes(32));
    const place = { table: 'credentials', column: 'secret', rowId: '2', appId: app };
    const lost = stranger.seal('vapid-2', place);
    await cli.sql`UPDATE credentials SET secret = ${lost} WHERE app_id = ${app} AND id = 2`;
    const { status, stdout, stderr } = await cli.runWith(bothKeys, 'seal', 'rotate');
    expect(status).toBe(1);
    expect(stdout).toMatch(/^Sealed with the master key: /);
    expect(stdout).not.toContain('can be removed');
    expect(stderr).toMatch(/Neither MASTER_KEY nor MASTER_KEY_PREVIOUS opens credential 2 of app_\w{22}\.\n$/);
    expect(await recordsByKey()).toMatchObject({ [stranger.keyId]: 1 });
  });
});
