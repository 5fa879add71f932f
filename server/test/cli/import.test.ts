import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Uuid } from '../../src/ground/values/ids.ts';
import { copyProfile, type Profile } from '../../src/people/audience/profile-copy.ts';
import type { StoredProperties } from '../../src/people/properties/property.ts';
import { listSlottedAndNumbered } from '../../src/people/properties/queries.ts';
import { generateVapidKeys } from '../../src/sending/channels/webpush/vapid.ts';
import { programArguments, refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

const webSentence = 'Web subscriptions need their own keys and the VAPID keys they were made with.';
// A point on the curve and an auth secret, from RFC 8291 section 5.
const keys = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};
const vapid = generateVapidKeys();
const vapidFile = write('vapid.json', JSON.stringify(vapid));

function write(name: string, content: string | Buffer): string {
  const path = join(cli.directory, name);
  writeFileSync(path, content);
  return path;
}
const iosToken = (n: number): string => n.toString(16).padStart(64, '0');
const endpoint = (n: number): string => `https://fcm.googleapis.com/fcm/send/${n}`;
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/imports/${name}`, import.meta.url));

/** Runs an import that rejects some lines, and returns its document. */
async function importSome(...parameters: string[]) {
  const done = await cli.run('import', ...parameters, '--json');
  return { ...done, document: JSON.parse(done.stdout) };
}

interface StoredDevice {
  readonly platform: string;
  readonly token: string;
  readonly status: string;
  readonly externalId: string | null;
  readonly credentialId: number | null;
  readonly [column: string]: unknown;
}

const devicesOf = async (appId: Uuid): Promise<StoredDevice[]> => [
  ...(await cli.sql<StoredDevice[]>`
    SELECT d.platform, d.token, d.status, d.environment, d.credential_id, a.locale, a.timezone, a.app_version, a.os,
      a.os_version, a.model, a.external_id, a.created_at, a.last_seen_at,
      (SELECT json_object_agg(p.key, v.value) FROM jsonb_each(d.properties) v
        JOIN properties p ON p.app_id = d.app_id AND p.id::text = v.key) AS properties
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} ORDER BY d.platform, d.token`),
];

const usersOf = async (appId: Uuid): Promise<Record<string, unknown>[]> => [
  ...(await cli.sql`
    SELECT u.external_id, u.first_name, u.country, u.language, u.timezone, u.created_at,
      (SELECT json_object_agg(p.key, v.value) FROM jsonb_each(u.properties) v
        JOIN properties p ON p.app_id = u.app_id AND p.id::text = v.key) AS properties
    FROM users u WHERE u.app_id = ${appId} ORDER BY u.external_id`),
];

/** Expects that every copy of a profile equals the values of its user and its device. */
async function expectInStep(appId: Uuid): Promise<void> {
  const slotted = await listSlottedAndNumbered(cli.sql, appId, []);
  const rows = await cli.sql<(Record<string, unknown> & { own: StoredProperties; profile: Profile | null })[]>`
    SELECT a.*, d.properties AS own, CASE WHEN u.id IS NULL THEN NULL ELSE json_build_object(
      'userId', u.id, 'externalId', u.external_id, 'createdAt', u.created_at, 'firstName', u.first_name,
      'country', u.country, 'language', u.language, 'timezone', u.timezone, 'properties', u.properties) END AS profile
    FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    LEFT JOIN users u ON u.app_id = a.app_id AND u.external_id = a.external_id WHERE a.app_id = ${appId}`;
  expect(rows.length).toBeGreaterThan(0);
  const toCamel = (column: string): string => column.replaceAll(/_(\w)/g, (_all, next: string) => next.toUpperCase());
  for (const row of rows) {
    const profile = row.profile && { ...row.profile, createdAt: new Date(row.profile.createdAt) };
    const { columns, overflow } = copyProfile(profile, row.own, slotted);
    const stored = Object.fromEntries(Object.keys(columns).map((column) => [column, row[toCamel(column)] ?? null]));
    expect({ ...stored, overflow: row['overflow'] }).toEqual({ ...columns, overflow });
  }
}

describe('import', () => {
  it('imports devices with their users from a CSV', async () => {
    const { id } = await cli.newApp('Devices');
    const file = write(
      'devices.csv',
      [
        'platform,token,locale,app_version,external_id,user.first_name,user.country,properties.topic,user.properties.age,created_at,last_seen_at',
        `ios,${iosToken(1).toUpperCase()},de-de,4.2.0,u-1,Ada,de,sport,31,2024-01-02T03:04:05Z,2025-06-07T08:09:10+02:00`,
        'android,fcm:1,,,u-1,,,,,,',
        'android,fcm:2,en-US,,,,,news,,,',
      ].join('\n'),
    );
    expect(await cli.json('import', 'Devices', file)).toMatchObject({
      format: 'Carillon devices',
      lines: 3,
      devices: { created: 3, updated: 0, unchanged: 0, opted_out: 0 },
      users: { created: 1, updated: 0, unchanged: 0 },
      rejected: 0,
      rejected_file: null,
    });
    const [one, two, three] = await devicesOf(id);
    expect(three).toMatchObject({
      token: iosToken(1),
      locale: 'de-DE',
      appVersion: '4.2.0',
      externalId: 'u-1',
      properties: { topic: 'sport' },
      createdAt: new Date('2024-01-02T03:04:05Z'),
      lastSeenAt: new Date('2025-06-07T06:09:10Z'),
    });
    expect(one).toMatchObject({ token: 'fcm:1', locale: null, externalId: 'u-1', properties: null });
    expect(two).toMatchObject({ token: 'fcm:2', externalId: null, properties: { topic: 'news' } });
    expect(await usersOf(id)).toMatchObject([
      { externalId: 'u-1', firstName: 'Ada', country: 'DE', properties: { age: 31 } },
    ]);
    await expectInStep(id);
  });

  it('imports users and devices from NDJSON, each line as the API would', async () => {
    const { id } = await cli.newApp('Lines');
    const lines = [
      { external_id: 'u-1', first_name: 'Ada', properties: { plan: 'pro', age: 31, vip: true } },
      { platform: 'ios', token: iosToken(1), environment: 'sandbox', external_id: 'u-1', user: { country: 'AT' } },
      { external_id: 'u-1', first_name: null, properties: { age: null, plan: 'team' } },
    ];
    const file = write('lines.ndjson', lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(await cli.json('import', 'Lines', file)).toMatchObject({ format: 'Carillon NDJSON', lines: 3, rejected: 0 });
    expect(await usersOf(id)).toMatchObject([
      { externalId: 'u-1', firstName: null, country: 'AT', properties: { plan: 'team', vip: true } },
    ]);
    expect(await devicesOf(id)).toMatchObject([{ environment: 'sandbox', externalId: 'u-1' }]);
    await expectInStep(id);
  });

  it('changes existing rows as an upsert does, and reactivates no device that opted out', async () => {
    const { id } = await cli.newApp('Again');
    const header = 'platform,token,locale,external_id,user.properties.plan';
    const first = write('first.csv', `${header}\nios,${iosToken(1)},de,u-1,pro\nios,${iosToken(2)},de,u-2,pro\n`);
    await cli.json('import', 'Again', first);
    expect(await cli.json('import', 'Again', first)).toMatchObject({
      devices: { created: 0, updated: 0, unchanged: 2 },
      users: { created: 0, updated: 0, unchanged: 2 },
    });
    await cli.sql`
      UPDATE devices SET status = 'unsubscribed', token = NULL, token_hint = NULL
      WHERE app_id = ${id} AND token = ${iosToken(2)}`;
    await cli.sql`
      UPDATE audience SET active = false
      WHERE app_id = ${id} AND device_id IN (SELECT id FROM devices WHERE app_id = ${id} AND status = 'unsubscribed')`;
    const second = write('second.csv', `${header}\nios,${iosToken(1)},fr,u-3,free\nios,${iosToken(2)},fr,u-1,team\n`);
    expect(await cli.json('import', 'Again', second)).toMatchObject({
      devices: { created: 0, updated: 1, unchanged: 0, opted_out: 1 },
      users: { created: 1, updated: 1, unchanged: 0 },
    });
    expect(await devicesOf(id)).toMatchObject([
      { token: iosToken(1), status: 'active', locale: 'fr', externalId: 'u-3' },
      { token: null, status: 'unsubscribed', locale: 'de', externalId: 'u-2' },
    ]);
    expect((await usersOf(id)).map((user) => user['properties'])).toEqual([
      { plan: 'team' },
      { plan: 'pro' },
      { plan: 'free' },
    ]);
    await expectInStep(id);
  });

  it('imports only browsers with the VAPID keys that they subscribed with', async () => {
    const { id } = await cli.newApp('Browsers');
    const other = generateVapidKeys();
    const twoFile = write('two.json', JSON.stringify([vapid, { ...other, subject: 'mailto:ops@example.com' }]));
    const subscription = (n: number): string => JSON.stringify({ endpoint: endpoint(n), keys });
    const lines = [
      { platform: 'web', token: subscription(1), vapid_public_key: vapid.publicKey },
      { platform: 'web', token: { endpoint: endpoint(2), keys }, vapid_public_key: `${other.publicKey}=` },
      { platform: 'web', token: subscription(3) },
      { platform: 'web', token: subscription(4), vapid_public_key: generateVapidKeys().publicKey },
      { platform: 'web', token: { endpoint: endpoint(5) }, vapid_public_key: vapid.publicKey },
      { platform: 'web', token: endpoint(6), vapid_public_key: vapid.publicKey },
    ];
    const file = write('web.ndjson', lines.map((line) => JSON.stringify(line)).join('\n'));
    const { status, stderr, document } = await importSome('Browsers', file, '--vapid-file', twoFile);
    expect(status).toBe(1);
    expect(stderr).toContain('4 of 6 lines were rejected');
    expect(document).toMatchObject({ devices: { created: 2 }, reasons: [{ reason: webSentence, lines: 4 }] });
    const credentials = await cli.sql<{ id: number; publicKey: string; isFormer: boolean }[]>`
      SELECT id, public ->> 'publicKey' AS public_key, replaced_at IS NOT NULL AS is_former
      FROM credentials WHERE app_id = ${id} ORDER BY id`;
    expect(credentials).toMatchObject([
      { publicKey: vapid.publicKey, isFormer: true },
      { publicKey: other.publicKey, isFormer: true },
    ]);
    const stored = await devicesOf(id);
    expect(stored.map((device) => [JSON.parse(device.token).endpoint, device.credentialId])).toEqual([
      [endpoint(1), 1],
      [endpoint(2), 2],
    ]);

    // A file with one key pair uses it for all rows. A pair that the app already has is not added
    // again.
    const csv = write('web.csv', `platform,endpoint,p256dh,auth\nweb,${endpoint(7)},${keys.p256dh},${keys.auth}\n`);
    expect(await cli.json('import', 'Browsers', csv, '--vapid-file', vapidFile)).toMatchObject({
      devices: { created: 1 },
    });
    expect((await cli.sql`SELECT 1 FROM credentials WHERE app_id = ${id}`).length).toBe(2);
  });

  it('lists rejected rows with line and reason, in a file that can be imported again', async () => {
    const { id } = await cli.newApp('Rejects');
    const lines = [
      'platform,token,locale,properties.topic',
      `ios,${iosToken(1)},de,"a\nb"`,
      'ios,short,de,',
      `ios,${iosToken(2)},Deutsch,`,
      `fridge,${iosToken(3)},de,`,
      `ios,${iosToken(4)},de`,
      `ios,${iosToken(5)},de,${'x'.repeat(1025)}`,
      `ios,${iosToken(6)},de,"x"y`,
    ];
    const file = write('rejects.csv', lines.join('\r\n'));
    const { document } = await importSome('Rejects', file);
    expect(document).toMatchObject({ lines: 7, rejected: 6, rejected_file: `${file}.rejected.csv` });
    const listed = readFileSync(`${file}.rejected.csv`, 'utf8').split('\n');
    expect(listed[0]).toBe('line,reason,platform,token,locale,properties.topic');
    expect(listed.slice(1, -1).map((line) => Number(line.split(',')[0]))).toEqual([4, 5, 6, 7, 8, 9]);
    expect(listed.join('\n')).toContain('The header has 4 columns and this line 3.');
    expect(listed[2]).toContain(`ios,${iosToken(2)},Deutsch,`);

    writeFileSync(`${file}.rejected.csv`, listed.slice(0, 3).join('\n').replace('Deutsch', 'de'));
    const again = await importSome('Rejects', `${file}.rejected.csv`);
    expect(again.document).toMatchObject({ devices: { created: 1 }, rejected: 1 });
    expect(await devicesOf(id)).toHaveLength(2);
  });

  it('reads text by the type in the catalog, and leaves out values that do not fit', async () => {
    const { id } = await cli.newApp('Types');
    await cli.json('property', 'declare', 'Types', 'age', 'number');
    const header = 'external_id,properties.age,properties.zip:string,properties.vip,properties.plan';
    const file = write('types.csv', `${header}\nu-1,31,10115,true,1\nu-2,old,01234,false,x\n`);
    const done = await cli.run('import', 'Types', file);
    expect(done.status).toBe(0);
    expect(done.stdout).toContain('1 values were left out');
    expect((await usersOf(id)).map((user) => user['properties'])).toEqual([
      { age: 31, zip: '10115', vip: true, plan: '1' },
      { zip: '01234', vip: false, plan: 'x' },
    ]);
  });

  it('R-72 keeps the limits of the catalog and of a user', async () => {
    const { id } = await cli.newApp('Limits');
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`key_${from + i}`, 1]));
    const lines = [
      ...Array.from({ length: 10 }, (_, i) => ({ external_id: `u-${i}`, properties: many(i * 100, 100) })),
      { external_id: 'too-many-for-the-app', properties: { one_more: 1 } },
      { external_id: 'u-0', properties: many(100, 1) },
      { external_id: 'u-1', properties: { key_100: 2 } },
    ];
    const file = write('limits.ndjson', lines.map((line) => JSON.stringify(line)).join('\n'));
    const { document } = await importSome('Limits', file);
    expect(document).toMatchObject({ users: { created: 10 }, rejected: 2 });
    const listed = readFileSync(document.rejected_file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(listed).toMatchObject([
      { line: 11, reason: expect.stringContaining('An app has at most 1000 properties'), row: lines[10] },
      { line: 12, reason: expect.stringContaining('At most 100 properties are stored') },
    ]);
    expect((await usersOf(id))[1]?.['properties']).toMatchObject({ key_100: 2 });
    const [catalog] = await cli.sql<{ keys: number }[]>`SELECT count(*) AS keys FROM properties WHERE app_id = ${id}`;
    expect(catalog?.keys).toBe(1000);
  });

  it('treats the contents of a file as data and never as instructions', async () => {
    const { id } = await cli.newApp('Hostile');
    const stranger = await cli.newApp('Stranger');
    const lines = [
      '{"external_id":"u-1","properties":{"__proto__":"x","constructor":"y"}}',
      '{"external_id":"u-2","first_name":"=cmd|\'/C calc\'!A0"}',
      '{"external_id":"u-3\'; DROP TABLE users; --"}',
      '{"external_id":"u-4","first_name":"a\\u0000b"}',
      '{"external_id":"u-5","device_id":"dev_4r4tgBwaHmRyQNukgzmqsi"}',
      `{"external_id":"u-6","app_id":"${stranger.publicId}"}`,
      '{"platform":"__proto__","token":"x"}',
      `${'['.repeat(100)}${']'.repeat(100)}`,
      '{"external_id":"u-7"',
      '"u-8"',
      '{"external_id":"u-9\\ud800"}',
      '{"external_id":"tab\\tback\\\\slash\\nline"}',
      `{"external_id":"u-10","${'👩'.repeat(10_000)}":1}`,
    ];
    const file = write('hostile.ndjson', lines.join('\n'));
    const { document } = await importSome('Hostile', file);
    expect(document).toMatchObject({ lines: 13, rejected: 9 });
    for (const { reason } of document.reasons) expect(reason.length).toBeLessThan(510);
    const reasons = document.reasons.map(({ reason }: { reason: string }) => reason);
    expect(reasons).toContain('It is not valid JSON: it ends too early, at column 21.');
    expect(reasons.join()).not.toContain('body');
    const users = await usersOf(id);
    expect(users.map((user) => user['externalId'])).toEqual([
      'tab\tback\\slash\nline',
      'u-1',
      'u-2',
      "u-3'; DROP TABLE users; --",
    ]);
    expect(Object.entries(users[1]?.['properties'] ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(users[2]).toMatchObject({ firstName: "=cmd|'/C calc'!A0" });
    expect(await usersOf(stranger.id)).toEqual([]);
  });

  it('reads CSV as programs write it, and rejects lines instead of files', async () => {
    const { id } = await cli.newApp('Dialect');
    const big = Buffer.alloc(10_000_000, 'x');
    const file = write(
      'dialect.csv',
      Buffer.concat([
        Buffer.from('\ufeffexternal_id;first_name;note\r\n'),
        Buffer.from('u-1;"Ada; ""the"" first\r\nof all";\r\n\r\n'),
        Buffer.from('u-2;J\u00fcrgen;\r\n', 'latin1'),
        Buffer.from('u-3;"'),
        big,
        Buffer.from('";\r\nu-4;a\u0000b;\r\nu-5;\u8475;\r\nu-6;"open;\r\nu-7;x;\r\n'),
      ]),
    );
    const { document, stderr } = await importSome('Dialect', file);
    expect(document).toMatchObject({ lines: 6, users: { created: 2 }, rejected: 4, ignored_columns: ['note'] });
    expect(stderr).toContain('note');
    expect((await usersOf(id)).map((user) => [user['externalId'], user['firstName']])).toEqual([
      ['u-1', 'Ada; "the" first\r\nof all'],
      ['u-5', '葵'],
    ]);
    const listed = readFileSync(`${file}.rejected.csv`);
    expect(listed.length).toBeLessThan(10_000);
    expect(listed.toString()).toMatch(/^line;reason;external_id;first_name;note\n5;It is not UTF-8\.;u-2;/);
    expect(listed.toString()).toMatch(/never closed/);
  });

  /** Imports an export of another service with the keys of its browsers. */
  async function importExport(app: string, name: string) {
    const { id } = await cli.newApp(app);
    const file = write(name, readFileSync(fixture(name)));
    const { document } = await importSome(app, file, '--vapid-file', vapidFile);
    return { document, devices: await devicesOf(id), users: await usersOf(id) };
  }

  it('understands the CSV that OneSignal exports', async () => {
    const { document, devices, users } = await importExport('OneSignal', 'onesignal.csv');
    expect(document).toMatchObject({ format: 'OneSignal CSV', lines: 6, rejected: 3 });
    expect(document.reasons.map(({ reason }: { reason: string }) => reason).sort()).toEqual([
      "Carillon has no channel for OneSignal's device type '11'.",
      'OneSignal calls its identifier invalid.',
      webSentence,
    ]);
    const [android, ios, web] = devices;
    expect(android).toMatchObject({
      token: expect.stringMatching(/^APA91b/),
      locale: 'en-US',
      timezone: 'America/Los_Angeles',
      appVersion: '3.1.9',
      os: 'Android',
      osVersion: '14',
      model: 'Pixel 8',
      externalId: null,
      createdAt: new Date('2024-01-10T06:30:00Z'),
      lastSeenAt: new Date('2025-09-02T08:00:00Z'),
    });
    expect(ios).toMatchObject({ externalId: 'user_42', model: 'iPhone15,2', lastSeenAt: new Date(1756800000_000) });
    expect(JSON.parse(web?.token ?? '')).toEqual({ endpoint: endpoint(0).replace(/0$/, 'onesignal-chrome-1'), keys });
    expect(web).toMatchObject({ externalId: 'user_43', credentialId: 1 });
    expect(users).toMatchObject([
      { externalId: 'user_42', country: 'DE', language: 'de', properties: { plan: 'pro', level: 4 } },
      { externalId: 'user_43', country: 'FR', timezone: 'Europe/Paris', properties: { topic: 'news' } },
    ]);
  });

  // A key in every form: base64url and Base64, padded or not.
  const formsOf = (key: string): string[] =>
    (['base64url', 'base64'] as const).flatMap((form) => {
      const bare = Buffer.from(key, 'base64url').toString(form).replaceAll('=', '');
      return [bare, bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')];
    });

  it('imports browsers whose keys are in base64url or Base64, padded or not, from every format', async () => {
    const { id } = await cli.newApp('Base64');
    const [points, secrets, owners] = [formsOf(keys.p256dh), formsOf(keys.auth), formsOf(vapid.publicKey)];
    expect(new Set(points).size).toBe(4);
    const lines = readFileSync(fixture('onesignal.csv'), 'utf8').split('\n');
    const chrome = lines.find((line) => line.includes('onesignal-chrome-1')) ?? '';
    const rows = points.map((point, i) =>
      chrome
        .replace('onesignal-chrome-1', `csv-${i}`)
        .replace(keys.p256dh, point)
        .replace(keys.auth, secrets[i] ?? ''),
    );
    const csv = write('base64.csv', [lines[0], ...rows, ''].join('\n'));
    const own = points.map((p256dh, i) => {
      const token = { endpoint: endpoint(i), keys: { p256dh, auth: secrets[i] } };
      return JSON.stringify({ platform: 'web', token, vapid_public_key: owners[i] });
    });
    for (const file of [csv, write('base64.ndjson', own.join('\n'))]) {
      const { document } = await importSome('Base64', file, '--vapid-file', vapidFile);
      expect(document).toMatchObject({ devices: { created: 4 }, rejected: 0 });
    }
    const stored = await devicesOf(id);
    expect(stored.map(({ token, credentialId }) => [JSON.parse(token).keys, credentialId])).toEqual(
      Array.from({ length: 8 }, () => [keys, 1]),
    );
  });

  it("leaves out devices that OneSignal may not push to, by its SDKs' numbers", async () => {
    await cli.newApp('Permitted');
    const [head = '', ios = ''] = readFileSync(fixture('onesignal.csv'), 'utf8').split('\n');
    const types = ['0', '-2', '-19', '1', '31', ''];
    const lines = types.map((type, i) => ios.replace(/[0-9a-f]{64}/, iosToken(i)).replace(/,1,,$/, `,${type},,`));
    expect(new Set(lines).size).toBe(types.length);
    const { document } = await importSome('Permitted', write('permitted.csv', [head, ...lines, ''].join('\n')));
    expect(document).toMatchObject({ devices: { created: 3 }, rejected: 3 });
    expect(document.reasons).toEqual([{ reason: 'This device has opted out.', lines: 3 }]);
  });

  it('imports lines of other services without the invalid tags and claims', async () => {
    const { id } = await cli.newApp('Tags');
    const [head = '', ios = ''] = readFileSync(fixture('onesignal.csv'), 'utf8').split('\n');
    const lines = ['{""plan""=>""pro""}', '{""plan""', '[1]', '{""a b"":1,""plan"":""pro""}'].map((tags, i) =>
      ios.replace(/[0-9a-f]{64}/, iosToken(i)).replace(/"\{.*\}"/, `"${tags}"`),
    );
    const { document } = await importSome('Tags', write('tags.csv', [head, ...lines, ''].join('\n')));
    expect(document).toMatchObject({ devices: { created: 4 }, rejected: 0 });
    const account = { localId: 'claims', customAttributes: '{"bad":"\\u0000","plan":"free"}' };
    const accounts = write('claims.json', JSON.stringify({ users: [account] }));
    expect(await cli.json('import', 'Tags', accounts)).toMatchObject({ users: { created: 1 }, rejected: 0 });
    expect(await usersOf(id)).toMatchObject([
      { externalId: 'claims', properties: { plan: 'free' } },
      { externalId: 'user_42', properties: { plan: 'pro' } },
    ]);
  });

  it('imports lines of other services without the invalid dates', async () => {
    const { id } = await cli.newApp('Dates');
    const [head = '', ios = ''] = readFileSync(fixture('onesignal.csv'), 'utf8').split('\n');
    const odd = ios.replaceAll(/1700000000|1756800000/g, '1901-01-01 00:00:00');
    expect(odd).not.toBe(ios);
    const { document } = await importSome('Dates', write('dates.csv', `${head}\n${odd}\n`));
    expect(document).toMatchObject({ devices: { created: 1 }, rejected: 0 });
    const channel = { channel_id: 'x', device_type: 'ios', push_address: iosToken(1), installed: true, opt_in: true };
    const dated = { ...channel, created: '0001-01-01T00:00:00', last_registration: '2286-11-20T17:46:40' };
    expect(await cli.json('import', 'Dates', write('dates.json', `${JSON.stringify(dated)}\n`))).toMatchObject({
      devices: { created: 1 },
    });
    expect(await devicesOf(id)).toHaveLength(2);
  });

  it('counts and lists a line once, however many of its devices are rejected, and imports the other devices', async () => {
    const { id } = await cli.newApp('Parts');
    const channel = (token: string) => ({ device_type: 'ios', push_address: token, installed: true, opt_in: true });
    const channels = ['broken', 'worse', 'no token', iosToken(9)].map(channel);
    const file = write(
      'parts.json',
      `${JSON.stringify({ ok: true, named_users: [{ named_user_id: 'u-1', channels }] })}\n`,
    );
    const { document, stderr } = await importSome('Parts', file);
    expect(document).toMatchObject({ lines: 1, rejected: 1, users: { created: 1 }, devices: { created: 1 } });
    expect(document.reasons.every(({ lines }: { lines: number }) => lines === 1)).toBe(true);
    expect(stderr).toContain('1 of 1 lines were rejected');
    expect(readFileSync(document.rejected_file, 'utf8').trim().split('\n')).toHaveLength(1);
    expect(await devicesOf(id)).toMatchObject([{ token: iosToken(9), externalId: 'u-1' }]);
  });

  it('understands the channels that Airship lists', async () => {
    const { document, devices, users } = await importExport('Airship', 'airship-channels.json');
    expect(document).toMatchObject({ format: 'Airship channels', lines: 5, rejected: 2 });
    const [android, ios, web] = devices;
    expect(android).toMatchObject({ externalId: null, createdAt: new Date('2021-02-03T04:05:06Z') });
    expect(ios).toMatchObject({
      token: 'fe66489f304dc75b8d6e8200dff8a456e8daeacec428b427e9518741c92c6660',
      locale: 'en-US',
      timezone: 'America/Los_Angeles',
      appVersion: '4.2.0',
      externalId: 'some_id_that_maps_to_your_systems',
      properties: { favorite: 'shoes', visits: 7 },
      lastSeenAt: new Date('2020-10-07T21:28:35Z'),
    });
    expect(JSON.parse(web?.token ?? '')).toMatchObject({ keys });
    expect(users).toMatchObject([{ externalId: 'some_id_that_maps_to_your_systems' }]);
  });

  // Made once for all tests, because they run in parallel.
  beforeAll(() => {
    for (const [name, content] of Object.entries({
      'users-of-nobody.csv': 'external_id\nu-1\n',
      'unknown.csv': 'a,b\n1,2\n',
      'twice.csv': 'platform,token,token\nios,a,b\n',
      'half.csv': 'platform,external_id\nios,u-1\n',
      'key.csv': 'external_id,properties.a b\nu-1,2\n',
      'type.csv': 'external_id,properties.born:date\nu-1,2\n',
      'empty.csv': '',
      'utf16.csv': Buffer.from('\ufeffexternal_id\nu-1\n', 'utf16le'),
    })) {
      write(name, content);
    }
  });

  it.each([
    ['JSON', 'firebase-auth.json', { plan: 'pro' }],
    ['CSV', 'firebase-auth.csv', null],
  ])('understands the accounts that Firebase exports as %s', async (kind, name, properties) => {
    const { document, devices, users } = await importExport(`Firebase ${kind}`, name);
    expect(document).toMatchObject({ format: `Firebase Authentication ${kind}`, lines: 2, rejected: 0 });
    expect(devices).toEqual([]);
    expect(users).toMatchObject([
      { externalId: 'MiWUR0hCz3NQGd2lSpfQ9Lh4Q6i1', firstName: 'Ada', createdAt: new Date(1700000000_000), properties },
      { externalId: 'Zk4rP1wTqfQ9Lh4Q6i1MiWUR0hC', firstName: null, createdAt: new Date(1710000000_000) },
    ]);
    expect(JSON.stringify(users)).not.toMatch(/example\.com|5550100|c2VjcmV0/);
  });

  it('merges no other lines into a name whose quotes Firebase did not double', async () => {
    const { id } = await cli.newApp('Quotes');
    const [ada = '', grace = ''] = readFileSync(fixture('firebase-auth.csv'), 'utf8').split('\n');
    const odd = ada.replace('MiWU', 'Odd1').replace('Ada Lovelace', '"Ada');
    const { document } = await importSome('Quotes', write('quotes.csv', [ada, odd, grace, ''].join('\n')));
    expect(document).toMatchObject({ format: 'Firebase Authentication CSV', lines: 3, users: { created: 3 } });
    expect((await usersOf(id)).map(({ externalId, firstName }) => [String(externalId).slice(0, 4), firstName])).toEqual(
      [
        ['MiWU', 'Ada'],
        ['Odd1', '"Ada'],
        ['Zk4r', null],
      ],
    );
  });

  it('names the values that it left out, how often, why and where', async () => {
    const { id } = await cli.newApp('Left out');
    const [head = '', ios = ''] = readFileSync(fixture('onesignal.csv'), 'utf8').split('\n');
    const tags = JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`tag_${i}`, 'x'])));
    const many = ios.replace(/"\{.*\}"/, `"${tags.replaceAll('"', '""')}"`);
    const odd = ios
      .replace(/[0-9a-f]{64}/, iosToken(2))
      .replace('user_42', 'user_1')
      .replace('Europe/Berlin', 'Mars/Olympus');
    const file = write('left-out.csv', [head, many, odd, ''].join('\n'));
    const expected = {
      rejected: 0,
      devices: { created: 2 },
      dropped: [
        { reason: expect.stringMatching(/^timezone: /), values: 2, first_lines: [3] },
        { reason: expect.stringMatching(/^properties\.tag_100: At most 100 properties/), values: 1, first_lines: [2] },
      ],
    };
    expect(await cli.json('import', 'Left out', file)).toMatchObject(expected);
    const again = await cli.run('import', 'Left out', file);
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(/3 values were left out/);
    expect(again.stdout).toMatch(/^1 +properties\.tag_100: At most .* 2$/m);
    expect((await usersOf(id)).map((user) => user['timezone'])).toEqual([null, 'Europe/Berlin']);
  });

  it('refuses a file whose lines end with CR alone, because it would import nothing', async () => {
    await cli.newApp('Returns');
    const file = write('returns.csv', 'external_id,first_name\ru-1,Ada\ru-2,Grace\r');
    expect(await cli.run('import', 'Returns', file)).toMatchObject(refusal(/lines end with CR alone/));
  });

  it('reads compressed files, and standard input', async () => {
    const { id } = await cli.newApp('Ways');
    const lines = (from: number): string =>
      `external_id\n${Array.from({ length: 3 }, (_, i) => `u-${from + i}`).join('\n')}`;
    const packed = write('users.csv.gz', gzipSync(lines(1)));
    expect(await cli.json('import', 'Ways', packed)).toMatchObject({ users: { created: 3 } });
    const child = spawn(process.execPath, programArguments('import', 'Ways', '-', '--json'), {
      cwd: cli.directory,
      env: cli.environment,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(lines(4));
    let output = '';
    for await (const piece of child.stdout) output += piece;
    expect(JSON.parse(output)).toMatchObject({ users: { created: 3 } });
    expect(await usersOf(id)).toHaveLength(6);
    const broken = write('broken.csv.gz', gzipSync(lines(7)).subarray(0, -12));
    expect(await cli.run('import', 'Ways', broken)).toMatchObject(refusal(/cannot be read further \(Z_BUF_ERROR\)/));
  });

  it('continues after a kill -9 with the same result', async () => {
    const { id } = await cli.newApp('Killed');
    const count = 7_000;
    const lines = Array.from({ length: count }, (_, i) =>
      i % 100 === 50 ? `ios,broken-${i},,` : `ios,${iosToken(i)},u-${i % 4000},${i}`,
    );
    const file = write('killed.csv', `platform,token,external_id,user.properties.number\n${lines.join('\n')}\n`);
    const whole = await importSome((await cli.newApp('Whole')).publicId, file);
    const listed = readFileSync(`${file}.rejected.csv`, 'utf8');
    writeFileSync(`${file}.rejected.csv`, '');

    // Killed when it has just begun, and after its first transaction.
    for (const least of [1, 100]) {
      const child = spawn(process.execPath, programArguments('import', 'Killed', file), {
        cwd: cli.directory,
        env: cli.environment,
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      for (let position = 0; position < least; await sleep(2)) {
        const [row] = await cli.sql<{ position: number }[]>`SELECT position FROM imports WHERE app_id = ${id}`;
        position = row?.position ?? 0;
        expect(child.exitCode).toBeNull();
      }
      child.kill('SIGKILL');
      await ended;
    }
    expect(await cli.sql`SELECT 1 FROM imports WHERE app_id = ${id}`).toHaveLength(1);
    const { document } = await importSome('Killed', file);
    const { app: _ofWhole, seconds: _ofIt, ...expected } = whole.document;
    const { app: _app, seconds: _seconds, ...found } = document;
    expect({ ...found, users: { created: found.users.created } }).toEqual({
      ...expected,
      users: { created: expected.users.created },
    });
    expect(readFileSync(`${file}.rejected.csv`, 'utf8')).toBe(listed);
    expect(await devicesOf(id)).toHaveLength(count - count / 100);
    expect(await usersOf(id)).toHaveLength(whole.document.users.created);
    await expectInStep(id);
    expect(await cli.sql`SELECT 1 FROM imports WHERE app_id = ${id}`).toHaveLength(0);
  });

  it.concurrent.each([
    ['a file that is not there', ['import', 'Bare', 'none.csv'], /none\.csv cannot be read \(ENOENT\)/],
    ['a directory', ['import', 'Bare', '.'], /is a directory/],
    ['an unknown app', ['import', 'Nobody', 'users-of-nobody.csv'], /No app has/],
    ['columns that nobody knows', ['import', 'Bare', 'unknown.csv'], /No known format has these columns: 'a', 'b'/],
    ['a column twice', ['import', 'Bare', 'twice.csv'], /Two columns are named 'token'/],
    ['devices without a token', ['import', 'Bare', 'half.csv'], /has the columns platform and token/],
    ['a key that can be none', ['import', 'Bare', 'key.csv'], /'a b' cannot be the key of a property/],
    ['a type that there is not', ['import', 'Bare', 'type.csv'], /not a 'date'/],
    ['an empty file', ['import', 'Bare', 'empty.csv'], /The file is empty/],
    ['UTF-16', ['import', 'Bare', 'utf16.csv'], /save it as UTF-8/],
    ['keys that are none', ['import', 'Bare', 'users-of-nobody.csv', '--vapid-file', 'half.csv'], /is not JSON/],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });

  it('does not follow a symbolic link when it writes the rejected lines', async () => {
    await cli.newApp('Link');
    const file = write('link.csv', 'platform,token\nios,broken\n');
    mkdirSync(`${file}.rejected.csv`);
    expect(await cli.run('import', 'Link', file)).toMatchObject(refusal(/rejected\.csv cannot be written/));
  });
});
