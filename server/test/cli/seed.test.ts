import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { loadTimeZones } from '../../src/ground/database/load-time-zones.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal, parseMasterKey } from '../../src/ground/secrets/seal.ts';
import { decodeId, type Uuid } from '../../src/ground/values/ids.ts';
import { timeZoneField } from '../../src/ground/values/time-zones.ts';
import { listEventCatalog } from '../../src/insight/events/event-catalog.ts';
import { personAt } from '../../src/operation/seed/population.ts';
import { regions } from '../../src/operation/seed/regions.ts';
import { makeToken } from '../../src/operation/seed/tokens.ts';
import { copyProfile, type Profile } from '../../src/people/audience/profile-copy.ts';
import { parseToken } from '../../src/people/devices/token.ts';
import type { StoredProperties } from '../../src/people/properties/property.ts';
import { listSlottedAndNumbered } from '../../src/people/properties/queries.ts';
import { localeField } from '../../src/sending/content/locales.ts';
import { createCredentials } from '../../src/teams/apps/credentials.ts';
import { apnsKey } from '../channels/phone-bundle.ts';
import { programArguments, refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

const count = async (table: string, appId: Uuid): Promise<number> => {
  const [row] = await cli.sql<{ count: number }[]>`SELECT count(*) FROM ${cli.sql(table)} WHERE app_id = ${appId}`;
  return row?.count ?? 0;
};
const idOf = (app: { id: string }): Uuid => decodeId('app', app.id) ?? '';

describe('seed', () => {
  it('fills a new app on the plan unlimited and prints its keys', async () => {
    const seeded = await cli.json('seed', '--devices', '3000');
    expect(seeded).toMatchObject({
      app: { plan: 'unlimited' },
      server_key: expect.stringMatching(/^sk_live_/),
      client_key: expect.stringMatching(/^ck_live_/),
      devices: 3000,
      known_devices: 0,
    });
    const appId = idOf(seeded.app);
    for (const table of ['devices', 'audience', 'device_tokens', 'device_changes']) {
      expect([table, await count(table, appId)]).toEqual([table, 3000]);
    }
    expect(await count('users', appId)).toBe(seeded.users);
    expect(await count('people', appId)).toBe(seeded.users);
    const platforms = await cli.sql<{ platform: string; share: number }[]>`
      SELECT platform, count(*)::float8 / 3000 AS share FROM audience WHERE app_id = ${appId} AND active GROUP BY 1 ORDER BY 1`;
    expect(platforms.map((row) => row.platform)).toEqual(['android', 'ios', 'web']);
    for (const { share } of platforms) expect(share).toBeGreaterThan(0.1);
  });

  it('leaves every audience row consistent with its user and its device', async () => {
    const { publicId, id } = await cli.newApp('In step');
    await cli.json('seed', publicId, '--devices', '400');
    const slotted = await listSlottedAndNumbered(cli.sql, id, []);
    const rows = await cli.sql<(Record<string, unknown> & { own: StoredProperties; profile: Profile | null })[]>`
      SELECT a.*, d.properties AS own, CASE WHEN u.id IS NULL THEN NULL ELSE json_build_object(
        'userId', u.id, 'externalId', u.external_id, 'createdAt', u.created_at, 'firstName', u.first_name,
        'country', u.country, 'language', u.language, 'timezone', u.timezone, 'properties', u.properties) END AS profile
      FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
      LEFT JOIN users u ON u.app_id = a.app_id AND u.external_id = a.external_id
      WHERE a.app_id = ${id}`;
    expect(rows).toHaveLength(400);
    const toCamel = (column: string): string => column.replaceAll(/_(\w)/g, (_all, next: string) => next.toUpperCase());
    for (const row of rows) {
      const profile = row.profile && { ...row.profile, createdAt: new Date(row.profile.createdAt) };
      const { columns, overflow } = copyProfile(profile, row.own, slotted);
      const stored = Object.fromEntries(Object.keys(columns).map((column) => [column, row[toCamel(column)] ?? null]));
      expect({ ...stored, overflow: row['overflow'] }).toEqual({ ...columns, overflow });
    }
    expect(new Set(rows.map((row) => row.profile === null)).size).toBe(2);
    expect(rows.some((row) => Object.keys(row.own).length > 0)).toBe(true);
  });

  it('adds events: each counted by day, in the sums and in the catalog, and none outside its time', async () => {
    const { publicId, id } = await cli.newApp('Busy');
    const seeded = await cli.json('seed', publicId, '--devices', '400');
    expect(seeded.events).toBeGreaterThan(400);
    expect(await count('events', id)).toBe(seeded.events);
    const sums = await cli.sql<{ name: string; count: number; amount: string }[]>`
      SELECT name, sum(count)::int AS count, sum(amount)::text AS amount FROM rollup_deltas WHERE app_id = ${id} GROUP BY 1 ORDER BY 1`;
    const direct = await cli.sql`
      SELECT name, count(*)::int AS count, coalesce(sum(amount), 0)::text AS amount FROM events WHERE app_id = ${id} GROUP BY 1 ORDER BY 1`;
    expect([...sums]).toEqual([...direct]);
    expect(sums.map(({ name }) => name)).toEqual([
      ...['article_read', 'install', 'product_viewed', 'purchase', 'session_start'],
    ]);
    const [days] = await cli.sql`SELECT sum(count)::int AS count FROM subject_events WHERE app_id = ${id}`;
    expect(days).toEqual({ count: seeded.events });
    const odd = await cli.sql`
      SELECT e.name FROM events e LEFT JOIN audience a ON a.app_id = e.app_id AND a.device_id = e.device_id
      WHERE e.app_id = ${id} AND (a.device_id IS NULL OR e.subject_id <> coalesce(a.user_id, a.device_id) OR e.at > now()
        OR e.external_id IS DISTINCT FROM a.external_id OR e.at < a.created_at)`;
    expect([...odd]).toEqual([]);
    const catalog = await listEventCatalog(cli.sql, id, null, 10);
    expect(
      catalog.find(({ name }) => name === 'purchase')?.properties.map(({ key, type }) => `${key} ${type}`),
    ).toEqual([...['amount number', 'category string', 'coupon boolean', 'currency string', 'product string']]);
  });

  it('makes the same people from the same seed, and adds only missing ones', async () => {
    const [one, two] = [await cli.newApp('One'), await cli.newApp('Two')];
    await cli.json('seed', 'One', '--devices', '300', '--seed', 'same');
    await cli.json('seed', 'Two', '--devices', '300', '--seed', 'same');
    const peopleOf = async (appId: Uuid) =>
      cli.sql`SELECT u.external_id, u.first_name, u.country, u.language, d.token, a.locale, a.model
        FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
        LEFT JOIN users u ON u.app_id = a.app_id AND u.external_id = a.external_id
        WHERE a.app_id = ${appId} ORDER BY d.token`;
    expect([...(await peopleOf(one.id))]).toEqual([...(await peopleOf(two.id))]);

    const again = await cli.json('seed', 'One', '--devices', '300', '--seed', 'same');
    expect(again).toMatchObject({ devices: 0, users: 0, known_devices: 300 });
    expect(await cli.json('seed', 'One', '--devices', '310', '--seed', 'same')).toMatchObject({ known_devices: 300 });
    const other = await cli.json('seed', 'One', '--devices', '10', '--seed', 'another');
    expect(other).toMatchObject({ devices: 10, known_devices: 0 });
  });

  it('leaves out values that the catalog knows under another type', async () => {
    const { id } = await cli.newApp('Conflict');
    await cli.sql`INSERT INTO property_catalogs (app_id, next_property_id) VALUES (${id}, 2)`;
    await cli.sql`INSERT INTO properties (app_id, id, key, type, slot) VALUES (${id}, 1, 'plan', 'number', 1)`;
    await cli.json('seed', 'Conflict', '--devices', '50');
    const [stored] = await cli.sql<{ plans: number; others: number }[]>`
      SELECT count(*) FILTER (WHERE properties ? '1') AS plans, count(*) FILTER (WHERE properties <> '{}') AS others
      FROM users WHERE app_id = ${id}`;
    expect(stored?.plans).toBe(0);
    expect(stored?.others).toBeGreaterThan(0);
  });

  it.concurrent.each([
    ['no number', ['seed'], /required option '--devices <N>'/],
    ['no devices', ['seed', '--devices', '0'], /--devices is a whole number from 1/],
    ['half a device', ['seed', '--devices', '1.5'], /--devices is a whole number/],
    ['an unknown app', ['seed', 'Nobody', '--devices', '1'], /No app has/],
    ['a sandbox that is no address', ['seed', '--devices', '1', '--sandbox', 'here'], /--sandbox is the address/],
    [
      'a sandbox that does not answer',
      ['seed', '--devices', '1', '--sandbox', 'http://127.0.0.1:9'],
      /No sandbox answers/,
    ],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });
});

describe('the population', () => {
  it('uses locales and time zones that a registration accepts', async () => {
    const timeZone = timeZoneField(await loadTimeZones(cli.sql));
    for (const { locale, zones } of regions) {
      expect(localeField.parse(locale)).toBe(locale);
      for (const zone of zones) expect(timeZone.parse(zone)).toBe(zone);
    }
  });

  it('has distinct tokens that a registration accepts and would store in the same form', () => {
    const rules = { pushHosts: [], exceptions: noExceptions, ownHosts: [] };
    const devices = Array.from({ length: 3_000 }, (_, i) => personAt('tokens', i)).flatMap((person) => person.devices);
    const hashes = devices.map((device) => {
      const token = makeToken(device);
      expect(parseToken(device.platform, token.text, rules)).toEqual({ token });
      return token.hash.toString('hex');
    });
    expect(new Set(hashes).size).toBe(devices.length);
  });
});

describe('sandbox, and seed with it', () => {
  it('runs as a process of its own, whose browsers and phones are seeded and known to it', async () => {
    const parameters = ['sandbox', '--port', '0', '--json'];
    const child = spawn(process.execPath, programArguments(...parameters), {
      cwd: cli.directory,
      // The only setting of the service that the sandbox needs is the directory of its files.
      env: { ...cli.environment, DATA_DIR: join(cli.directory, 'data') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    whenDone(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, 'line')) as [string];
    const { inbox, environment } = JSON.parse(line);

    const { app } = await cli.json('seed', '--devices', '200', '--sandbox', inbox);
    const tokens = await cli.sql<{ token: string; credentialId: number | null }[]>`
      SELECT token, credential_id FROM devices WHERE app_id = ${idOf(app)} AND platform = 'web'`;
    const hosts = new Set(tokens.map(({ token }) => new URL(JSON.parse(token).endpoint).hostname));
    expect([...hosts]).toEqual([environment.PUSH_HOSTS]);
    expect(new Set(tokens.map((row) => row.credentialId))).toEqual(new Set([1]));

    // A browser's owner may end the subscription, so the sandbox must know it.
    const [first] = tokens;
    const name = new URL(JSON.parse(first?.token ?? '').endpoint);
    const known = name.searchParams.get('token') ?? name.pathname.split('/').at(-1);
    const gone = await fetch(`${inbox}/subscriptions/${known}`, { method: 'DELETE' });
    expect(gone.ok).toBe(true);

    // The browsers subscribed with the app's own key.
    const seal = createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY'));
    const opened = await createCredentials({ sql: cli.sql, seal }).open(idOf(app));
    const credential = [...opened.values()].find(({ channel }) => channel === 'webpush');
    const { pools } = (await (await fetch(`${inbox}/addresses`)).json()) as { pools: { vapid_key: string }[] };
    expect(pools.map((pool) => pool.vapid_key)).toContain(credential?.public['publicKey']);

    // Phones have the app of the credentials, which the sandbox issued.
    const phones = await cli.sql<{ platform: string; token: string; credentialId: number | null }[]>`
      SELECT platform, token, credential_id FROM devices WHERE app_id = ${idOf(app)} AND platform <> 'web'`;
    expect(new Set(phones.map((row) => row.credentialId))).toEqual(new Set([2, 3]));
    for (const platform of ['ios', 'android']) {
      const { token = '' } = phones.find((phone) => phone.platform === platform) ?? {};
      const uninstalled = await fetch(`${inbox}/devices/${encodeURIComponent(token)}`, { method: 'DELETE' });
      expect([platform, uninstalled.status]).toEqual([platform, 204]);
    }
    const { data: channels } = await cli.json('channel', 'list', app.id);
    const { apns_keys: keys, service_accounts: accounts } = (await (await fetch(`${inbox}/credentials`)).json()) as {
      apns_keys: { key_id: string }[];
      service_accounts: { client_email: string }[];
    };
    expect(channels).toMatchObject([
      { channel: 'fcm', public: { client_email: accounts[0]?.client_email } },
      { channel: 'apns', public: { key_id: keys[0]?.key_id } },
      { channel: 'webpush' },
    ]);

    // When the app has a credential of its own, its phones have that app.
    await cli.newApp('Own');
    const p8 = join(cli.directory, 'own.p8');
    writeFileSync(p8, apnsKey.pem);
    const own = ['--key-id', 'KEY1234567', '--team-id', 'TEAM123456', '--bundle-id', 'com.example.own'];
    await cli.json('channel', 'set', 'Own', 'apns', '--key-file', p8, ...own, '--environment', 'sandbox');
    await cli.json('channel', 'set', 'Own', 'webpush');
    await cli.json('seed', 'Own', '--devices', '30', '--sandbox', inbox);
    const { phone_pools: phonePools } = (await (await fetch(`${inbox}/addresses`)).json()) as {
      phone_pools: unknown[];
    };
    expect(phonePools).toContainEqual(
      expect.objectContaining({ platform: 'ios', bundle_id: 'com.example.own', environment: 'sandbox' }),
    );
    // While the same sandbox answers, the same devices come again.
    expect(await cli.json('seed', 'Own', '--devices', '30', '--sandbox', inbox)).toMatchObject({ known_devices: 30 });

    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
