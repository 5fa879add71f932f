// Rows of other services' files are judged by the checks of the API. A value that does not fit is
// left out alone, and counted by its reason with the first lines that have one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { setup, type TestApp } from '../setup.ts';
import { importInto } from './import-into.ts';

const t = await setup({ workers: false });

const iosToken = (n: number): string => n.toString(16).padStart(64, '0');
const quoted = (text: unknown): string => `"${String(text ?? '').replaceAll('"', '""')}"`;
const columns = [
  ...['identifier', 'device_type', 'invalid_identifier', 'external_user_id', 'language', 'country', 'timezone_id'],
  ...['game_version', 'device_os', 'device_model', 'tags', 'created_at', 'last_active'],
];
type Row = Readonly<Record<string, unknown>>;

/** A OneSignal file; `tags` is written as JSON unless it is text. */
function oneSignal(rows: readonly Row[]): Buffer {
  const lines = rows.map((row, i) => {
    const { tags } = row;
    const text = tags === undefined || typeof tags === 'string' ? tags : JSON.stringify(tags);
    const all: Row = { identifier: iosToken(i + 1), device_type: 0, invalid_identifier: 'f', ...row, tags: text };
    return columns.map((name) => quoted(all[name])).join();
  });
  return Buffer.from([columns.join(), ...lines, ''].join('\r\n'));
}
const importRows = (app: TestApp, rows: readonly Row[]) => importInto(t, app.id, oneSignal(rows));
const numbered = (from: number, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`tag_${from + i}`, `v${from + i}`]));
const tooMany = 'At most 100 properties are stored for one user or device.';

const userOf = async (app: TestApp, externalId: string) =>
  (await t.clientOf(app.serverKey).get(`/v1/users/${externalId}`)).body;
const devicesOf = async (app: TestApp): Promise<Record<string, unknown>[]> =>
  (await t.clientOf(app.serverKey).get('/v1/devices?limit=100')).body.data;

describe('a row of another service', () => {
  it('with 101 tags is stored without the last one, for a user and for a device alone', async () => {
    const app = await t.newApp();
    const done = await importRows(app, [
      { external_user_id: 'u-1', tags: numbered(1, 101) },
      { tags: numbered(1, 103) },
      { external_user_id: 'u-2', tags: numbered(1, 100) },
    ]);
    expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 3, usersCreated: 2 } });
    expect(done.dropped).toEqual({
      [`properties.tag_101: ${tooMany}`]: { values: 2, firstLines: [2, 3] },
      [`properties.tag_102: ${tooMany}`]: { values: 1, firstLines: [3] },
      [`properties.tag_103: ${tooMany}`]: { values: 1, firstLines: [3] },
    });
    expect((await userOf(app, 'u-1')).properties).toEqual(numbered(1, 100));
    const own = (await devicesOf(app)).filter(({ external_id }) => external_id === null);
    expect(own.map(({ properties }) => properties)).toEqual([numbered(1, 100)]);
    // A key of a value that was left out is in no catalog and no sample.
    const { data } = (await t.clientOf(app.serverKey).get('/v1/properties?limit=100')).body;
    expect(data).toHaveLength(100);
  });

  it('with more misfits than the API lists at once is stored without each of them', async () => {
    const app = await t.newApp();
    const lists = Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`list_${i}`, [i]]));
    const long = { device_model: 'm'.repeat(65), timezone_id: 'Mars/Olympus' };
    const done = await importRows(app, [{ external_user_id: 'u-1', tags: { ...lists, plan: 'pro' }, ...long }]);
    expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 1, usersCreated: 1 } });
    const dropped = Object.values(done.dropped).reduce((sum, { values }) => sum + values, 0);
    // The zone is the device's and the user's.
    expect(dropped).toBe(130 + 1 + 2);
    expect((await userOf(app, 'u-1')).properties).toEqual({ plan: 'pro' });
  });

  it('loses the last of its new tags where the user has others already, and changes those', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await server.post('/v1/users', { external_id: 'u-1', properties: numbered(1, 60) });
    const done = await importRows(app, [
      { external_user_id: 'u-1', tags: { ...numbered(61, 30), tag_1: 'new' } },
      { external_user_id: 'u-1', tags: { ...numbered(91, 12), tag_2: 'new' } },
    ]);
    expect(done).toMatchObject({ rejected: 0 });
    expect(Object.keys(done.dropped)).toEqual([101, 102].map((n) => `properties.tag_${n}: ${tooMany}`));
    expect((await userOf(app, 'u-1')).properties).toEqual({ ...numbered(1, 100), tag_1: 'new', tag_2: 'new' });
  });

  it('is judged by what the rows before it leave, with and without their misfits', async () => {
    const app = await t.newApp();
    const done = await importRows(app, [
      { external_user_id: 'u-1', tags: numbered(1, 101) },
      { external_user_id: 'u-1', tags: { extra: 'x', ...numbered(1, 99), tag_100: 'new' } },
    ]);
    expect(Object.entries(done.dropped)).toEqual([
      [`properties.tag_101: ${tooMany}`, { values: 1, firstLines: [2] }],
      [`properties.extra: ${tooMany}`, { values: 1, firstLines: [3] }],
    ]);
    expect((await userOf(app, 'u-1')).properties).toEqual({ ...numbered(1, 99), tag_100: 'new' });
  });

  it('brings only the keys for which the catalog has room', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    for (let i = 0; i < 10; i++) {
      const { status } = await server.post('/v1/users', {
        external_id: `u-${i}`,
        properties: numbered(i * 100, i === 9 ? 99 : 100),
      });
      expect(status).toBe(200);
    }
    const done = await importRows(app, [
      { external_user_id: 'v-1', tags: { tag_1: 'x', room: 'r', none: 'n' } },
      { external_user_id: 'v-2', tags: { none: 'n', room: 'r' } },
    ]);
    expect(done).toMatchObject({ rejected: 0, counts: { usersCreated: 2 } });
    expect(done.dropped).toEqual({
      'properties.none: An app has at most 1000 properties.': { values: 2, firstLines: [2, 3] },
    });
    expect((await userOf(app, 'v-1')).properties).toEqual({ tag_1: 'x', room: 'r' });
    expect((await userOf(app, 'v-2')).properties).toEqual({ room: 'r' });
  });

  it.each([
    ['a key that none can have', { 'a b': 1 }, /^properties\.a b: A property key has/],
    ['a key with U+0000', '{"a\\u0000":1,"plan":"pro"}', /^properties\.a.: A property key has/],
    ['a value with U+0000', '{"bad":"\\u0000","plan":"pro"}', /^properties\.bad: A string holds U\+0000/],
    ['half a surrogate pair', '{"bad":"\\ud800","plan":"pro"}', /^properties\.bad: A string holds U\+0000/],
    ['a value of 1,025 bytes', { bad: 'é'.repeat(513) }, /^properties\.bad: A string value has at most 1024/],
    ['a list', { bad: [1] }, /^properties\.bad: A property is a string/],
    ['an object', { bad: { plan: 'x' } }, /^properties\.bad: A property is a string/],
  ])('is stored without the tag that has %s', async (_what, tags, reason) => {
    const app = await t.newApp();
    const given = typeof tags === 'string' ? tags : { ...tags, plan: 'pro' };
    const done = await importRows(app, [{ external_user_id: 'u-1', tags: given, device_model: 'x' }]);
    expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 1, usersCreated: 1 } });
    expect(Object.entries(done.dropped)).toEqual([[expect.stringMatching(reason), { values: 1, firstLines: [2] }]]);
    expect((await userOf(app, 'u-1')).properties).toEqual({ plan: 'pro' });
  });

  it.each(['{"plan":"pro"} x', '{"plan"=>"pro"}', '[1]', '"x"', '{"plan":"pro"', `${'['.repeat(100_000)}`])(
    'is stored without tags that are no object, %#',
    async (tags) => {
      const app = await t.newApp();
      const done = await importRows(app, [{ external_user_id: 'u-1', tags }]);
      expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 1, usersCreated: 1 } });
      expect(done.dropped).toEqual({ 'tags: It is not a JSON object.': { values: 1, firstLines: [2] } });
    },
  );

  it('is stored without facts, zones, locales, countries and dates that the API refuses', async () => {
    const app = await t.newApp();
    const odd = {
      external_user_id: 'u-1',
      language: 'Deutsch!',
      country: 'Germany',
      timezone_id: 'Mars/Olympus',
      game_version: '1'.repeat(65),
      device_os: 'a\u0000b',
      device_model: 'm'.repeat(64),
      created_at: '1999-12-31 23:59:59',
      last_active: '2023-02-30 00:00:00',
    };
    const done = await importRows(app, [odd, { ...odd, identifier: iosToken(9) }, { external_user_id: 'u-2' }]);
    expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 3, usersCreated: 2 } });
    const fields = Object.keys(done.dropped).map((reason) => reason.split(':')[0]);
    expect([...new Set(fields)].sort()).toEqual(
      ['app_version', 'country', 'created_at', 'language', 'last_active', 'locale', 'os_version', 'timezone'].sort(),
    );
    for (const { firstLines } of Object.values(done.dropped)) expect(firstLines).toEqual([2, 3]);
    const server = t.clientOf(app.serverKey);
    const asked = await server.post('/v1/devices', { platform: 'ios', token: iosToken(1), timezone: 'Mars/Olympus' });
    expect(Object.keys(done.dropped)).toContain(`timezone: ${asked.body.issues[0].message}`);
    expect(await userOf(app, 'u-1')).toMatchObject({ country: null, language: null, timezone: null });
    const models = (await devicesOf(app)).map(({ model }) => String(model).length);
    expect(models.sort()).toEqual([4, 64, 64]);
  });

  it('tells the first five lines of a reason, however many have it', async () => {
    const app = await t.newApp();
    const done = await importRows(
      app,
      Array.from({ length: 2_500 }, (_, i) => ({ identifier: iosToken(i), timezone_id: i % 2 ? 'Mars/Olympus' : '' })),
    );
    expect(Object.values(done.dropped)).toEqual([{ values: 1_250, firstLines: [3, 5, 7, 9, 11] }]);
    expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 2_500 } });
  });

  it('keeps digits that no number of JSON holds, in tags and in ids', async () => {
    const app = await t.newApp();
    const big = `1${'0'.repeat(400)}`;
    const tags = `{"big":${big},"id":9007199254740993,"phone":"00491234","hex":"0x10","nan":"NaN","age":31}`;
    const done = await importRows(app, [{ external_user_id: '00123', tags }]);
    expect(done).toMatchObject({ rejected: 0, dropped: {} });
    const properties = { big, id: '9007199254740993', phone: '00491234', hex: '0x10', nan: 'NaN', age: 31 };
    expect((await userOf(app, '00123')).properties).toEqual(properties);
  });

  it('is refused whole where its token or its external id does not fit', async () => {
    const app = await t.newApp();
    const directory = await mkdtemp(join(tmpdir(), 'carillon-rejects-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = oneSignal([
      { identifier: 'x', external_user_id: 'u-1' },
      { external_user_id: 'u'.repeat(257) },
      { external_user_id: 'u\u0000' },
      { external_user_id: 'u-2' },
    ]);
    const done = await importInto(t, app.id, file, { rejectsPath: join(directory, 'list.csv') });
    expect(done).toMatchObject({ rejected: 3, dropped: {}, counts: { devicesCreated: 1, usersCreated: 1 } });
  });

  it.each([1, 2])(
    'leaves what the API stores of the same values without those that it refuses, seed %i',
    async (seed) => {
      const { below } = createRandom(seed);
      const pick = <Item>(...items: Item[]): Item => items[below(items.length)] as Item;
      const rows = Array.from({ length: 60 }, (_, i) => ({
        identifier: iosToken(i + 1),
        external_user_id: `u-${i}`,
        language: pick('de', 'en-GB', 'zh-Hant', 'Deutsch!', 'x', ''),
        country: pick('DE', 'at', 'UK', 'Germany', 'ZZ', ''),
        timezone_id: pick('Europe/Vienna', 'europe/paris', 'Mars/Olympus', 'GMT+03:00', ''),
        game_version: pick('1.10', '1'.repeat(64), '1'.repeat(65), ''),
        device_model: pick('Pixel 8', 'a\u0000b', '👩'.repeat(33), ''),
        tags: {
          [pick('plan', 'a b', '1st', '__proto__x')]: pick<unknown>('pro', 'é'.repeat(513), '', null),
          [pick('note', 'k'.repeat(65))]: pick<unknown>(' x ', 'a\u0000', { x: 1 }, [1]),
        },
      }));
      const [imported, asked] = [await t.newApp(), await t.newApp()];
      const done = await importRows(imported, rows);
      expect(done).toMatchObject({ rejected: 0, counts: { devicesCreated: 60, usersCreated: 60 } });

      const server = t.clientOf(asked.serverKey);
      let refused = 0;
      // Repeats a request without the values that its 400 names.
      const ask = async (path: string, body: Record<string, unknown>): Promise<Record<string, unknown>> => {
        const answer = await server.post(path, body);
        if (answer.status === 200) return answer.body;
        const less = structuredClone(body);
        for (const { path: at } of answer.body.issues as { path: string[] }[]) {
          const owner = at.length > 1 ? (less['properties'] as Record<string, unknown>) : less;
          delete owner[at[at.length > 1 ? 1 : 0] ?? ''];
          refused++;
        }
        return ask(path, less);
      };
      for (const row of rows) {
        const { language, country, timezone_id: timezone } = row;
        const isBare = /^(de|zh-Hant|x)$/.test(language) && /^[A-Za-z]{2}$/.test(country);
        const text = { locale: isBare && language !== 'x' ? `${language}-${country}` : language, timezone };
        const facts = { app_version: row.game_version, model: row.device_model, os: 'iOS' };
        const given = Object.entries({ ...text, ...facts }).filter(([, value]) => value !== '');
        const { id } = await ask('/v1/devices', {
          platform: 'ios',
          token: row.identifier,
          ...Object.fromEntries(given),
        });
        const ofUser = Object.entries({ country, language, timezone }).filter(([, value]) => value !== '');
        const tags = Object.entries(row.tags).filter(([, value]) => value !== '' && value !== null);
        await ask('/v1/users', {
          external_id: row.external_user_id,
          ...Object.fromEntries(ofUser),
          properties: Object.fromEntries(tags),
          device_id: id,
        });
      }
      const tell = async (app: TestApp) => {
        const devices = (await devicesOf(app)).map(({ id, created_at, last_seen_at, ...device }) => device);
        const users = await Promise.all(rows.map(({ external_user_id: externalId }) => userOf(app, externalId)));
        return {
          devices: devices.sort((one, other) => (String(one['external_id']) < String(other['external_id']) ? -1 : 1)),
          users: users.map(({ id, created_at, updated_at, devices: theirs, ...user }) => user),
        };
      };
      expect(await tell(imported)).toEqual(await tell(asked));
      expect(Object.values(done.dropped).reduce((sum, { values }) => sum + values, 0)).toBe(refused);
    },
  );

  it('is a browser whose keys stand in Base64 or base64url, padded or not', async () => {
    const app = await t.newApp();
    const [credential] = await t.sql<{ id: number }[]>`
      SELECT id FROM credentials WHERE app_id = ${app.id} AND channel = 'webpush'`;
    // The point of RFC 8291, section 5, and a secret that has both letters that differ.
    const point = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';
    const secret = '--__vQgLzpMg7X4PpwTYaw';
    const toBase64 = (text: string): string => Buffer.from(text, 'base64url').toString('base64');
    const forms = [(text: string) => text, toBase64, (text: string) => toBase64(text).replace(/=+$/, '')];
    const lines = forms.map((form, i) => {
      const endpoint = `https://fcm.googleapis.com/fcm/send/${i}`;
      return [endpoint, 5, 'f', form(secret), form(point)].map(quoted).join();
    });
    expect(new Set(lines.map((line) => line.split(',')[3])).size).toBe(3);
    const header = 'identifier,device_type,invalid_identifier,web_auth,web_p256';
    const file = Buffer.from([header, ...lines, ''].join('\n'));
    const done = await importInto(t, app.id, file, { web: credential?.id ?? null });
    expect(done).toMatchObject({ rejected: 0, dropped: {}, counts: { devicesCreated: 3 } });
    const stored = await t.sql<{ token: string }[]>`SELECT token FROM devices WHERE app_id = ${app.id}`;
    for (const { token } of stored) expect(JSON.parse(token).keys).toEqual({ p256dh: point, auth: secret });
  });

  it('is one user of Firebase however its name is written, with its own time', async () => {
    const app = await t.newApp();
    const line = (id: string, name: string): string =>
      `${[id, '', 'false', '', '', name, ...Array(17).fill(''), '1700000000000', '', '', 'false', ''].join()},\n`;
    const names = ['Ada\nLovelace', '"Hopper,\nGrace"', 'x\r\n\r\ny', '"Kim', ''];
    const file = names.map((name, i) => line(`u-${i}`, name)).join('');
    const done = await importInto(t, app.id, Buffer.from(file), { pieceBytes: 11 });
    expect(done).toMatchObject({ records: 5, rejected: 0, dropped: {}, counts: { usersCreated: 5 } });
    const users = await Promise.all(names.map((_name, i) => userOf(app, `u-${i}`)));
    expect(users.map(({ first_name: name }) => name)).toEqual(['Ada', 'Hopper,', 'x', '"Kim', null]);
    for (const { created_at: createdAt } of users) expect(createdAt).toBe('2023-11-14T22:13:20.000Z');
  });
});
