import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { openTable, type TableName, tableNames } from '../../src/operation/cli/export-tables.ts';
import { writeTable } from '../../src/operation/cli/part-file.ts';
import { type FormatName, formatNames, rowFormat } from '../../src/operation/cli/row-format.ts';
import { setup, type TestApp } from '../setup.ts';
import { programArguments, refusal } from './run-carillon.ts';

const t = await setup();

/** Starts the command line on the database of the running service. */
function start(...parameters: string[]): ChildProcessWithoutNullStreams {
  const env = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: t.databaseUrl,
    LOG_LEVEL: 'silent',
    PUSH_HOSTS: '*',
    MASTER_KEY: t.masterKey.toString('base64'),
  };
  const child = spawn(process.execPath, programArguments(...parameters), { env });
  child.stdin.end();
  return child;
}

async function run(...parameters: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = start(...parameters);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, stdout, stderr };
}

const publicId = (app: TestApp): string => encodeId('app', app.id);

async function exportOf(app: TestApp, externalId: string): Promise<ReturnType<typeof JSON.parse>> {
  const { status, stdout, stderr } = await run('export', 'user', publicId(app), externalId, '--json');
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

describe('export user', () => {
  it('writes everything stored about one user, and nothing of any other', async () => {
    const [app, other] = [await t.newApp(), await t.newApp()];
    const server = t.clientOf(app.serverKey);
    const device = await t.registerDevice({ locale: 'de-AT' }, app);
    await server.post('/v1/events', { name: 'looked', device_id: device, properties: { page: 'before' } });
    const content = { title: 'Sale' };
    const { body: early } = await server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    const profile = { first_name: 'Ada', country: 'AT', language: 'de', timezone: null, properties: { plan: 'pro' } };
    const { body: user } = await server.post('/v1/users', { external_id: 'ada', ...profile });
    const { body: link } = await server.post('/v1/identify', { device_id: device, external_id: 'ada' });
    const { body: late } = await server.post('/v1/messages', { audience: { external_ids: ['ada'] }, content });
    const purchase = { amount: 79.9, currency: 'EUR', sku: 'x' };
    await server.post('/v1/events', { name: 'purchase', external_id: 'ada', properties: purchase });
    await server.post('/v1/events', { name: 'looked', device_id: device, properties: { page: 'after' } });
    // Another user of the same app, and a user of the same name in another app.
    const foreign = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'bob', first_name: 'canary-bob', device_id: foreign });
    await server.post('/v1/events', { name: 'looked', device_id: foreign, properties: { page: 'canary-page' } });
    await t.clientOf(other.serverKey).post('/v1/users', { external_id: 'ada', first_name: 'canary-other' });

    const document = await exportOf(app, 'ada');
    const deliveryOf = async (id: string) => (await server.get(`/v1/messages/${id}/deliveries`)).body.data[0];
    const { created_at, updated_at } = user;
    expect(document).toEqual({
      exported_at: expect.stringMatching(/Z$/),
      app_id: publicId(app),
      external_id: 'ada',
      user_id: user.id,
      profile: { ...profile, created_at, updated_at },
      devices: [
        {
          ...(await server.get('/v1/devices?external_id=ada')).body.data[0],
          identified_at: link.identified_at,
          changes: [{ at: expect.stringMatching(/Z$/), status: 'active', reason: null }],
        },
      ],
      events: expect.any(Array),
      // Deliveries that name the user come first.
      deliveries: [
        { message_id: late.id, ...(await deliveryOf(late.id)) },
        { message_id: early.id, ...(await deliveryOf(early.id)) },
      ],
      attributions: [],
    });
    // Day by day. Events of one day and name are in the order of their arrival.
    const byName = (name: string) => document.events.filter((event: { name: string }) => event.name === name);
    expect(byName('looked')).toEqual([
      { ...at, name: 'looked', device_id: device, external_id: null, properties: { page: 'before' } },
      { ...at, name: 'looked', device_id: device, external_id: 'ada', properties: { page: 'after' } },
    ]);
    expect(byName('purchase')).toEqual([
      { ...at, name: 'purchase', device_id: null, external_id: 'ada', properties: purchase },
    ]);
    expect(document.events).toHaveLength(3);
    expect(JSON.stringify(document)).not.toContain('canary');
    expect(document.deliveries[0].timeline.map(({ type }: { type: string }) => type)).toEqual(['queued', 'attempt']);
  });

  it('writes a history of any length, each item once', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device_id = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'busy', device_id });
    const batch = (n: number) =>
      Array.from({ length: 50 }, (_, i) => ({ name: 'tick', device_id, properties: { n: n * 50 + i } }));
    for (let n = 0; n < 25; n++) await server.post('/v1/events', { events: batch(n) });
    const { events } = await exportOf(app, 'busy');
    expect(events.map(({ properties }: { properties: { n: number } }) => properties.n).sort(byNumber)).toEqual(
      Array.from({ length: 1250 }, (_, n) => n),
    );
  });

  it('of a person that only events name has no profile', async () => {
    const app = await t.newApp();
    await t.clientOf(app.serverKey).post('/v1/events', { name: 'told', external_id: '../etc "x"\u0007' });
    expect(await exportOf(app, '../etc "x"\u0007')).toMatchObject({
      external_id: '../etc "x"\u0007',
      profile: null,
      devices: [],
      deliveries: [],
      events: [{ name: 'told', device_id: null }],
    });
  });

  it("refuses unknown, other apps' and erased users in one line", async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.server.post('/v1/users', { external_id: 'theirs' });
    await server.post('/v1/users', { external_id: 'erased' });
    await server.delete('/v1/users/erased');
    for (const externalId of ['nobody', 'theirs', 'erased']) {
      expect(await run('export', 'user', publicId(app), externalId)).toMatchObject(refusal(/There is no user/));
    }
  });

  it('ends quietly when its reader closes the pipe', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const page = 'x'.repeat(8_000);
    const events = Array.from({ length: 50 }, () => ({ name: 'long', external_id: 'talks', properties: { page } }));
    for (let n = 0; n < 4; n++) await server.post('/v1/events', { events });
    const child = start('export', 'user', publicId(app), 'talks');
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.once('data', () => child.stdout.destroy());
    const status = await new Promise((resolve) => child.on('exit', resolve));
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('export of rows', () => {
  const lines = (text: string) => text.trimEnd().split('\n');
  const directory = mkdtempSync(join(tmpdir(), 'carillon-export-'));
  whenDone(async () => rmSync(directory, { recursive: true, force: true }));
  const tricky = '=1+1 "b", c\nd';

  async function newShop() {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const subscription = t.pushSubscription();
    const { body: web } = await server.post('/v1/devices', { platform: 'web', token: subscription, locale: 'de-AT' });
    const phone = { platform: 'android', token: 'phone-1', properties: { note: tricky } };
    const { body: android } = await server.post('/v1/devices', phone);
    await server.post('/v1/users', { external_id: tricky, first_name: '-Ada', properties: { age: -31, vip: true } });
    await server.post('/v1/users', { external_id: 'bob', device_id: web.id });
    return { app, server, web: web.id as string, android: android.id as string, subscription };
  }

  it('writes devices with their tokens and VAPID keys, and users with their properties, one JSON object per line', async () => {
    const { app, web, android, subscription } = await newShop();
    const rowsOf = async (what: string) => {
      const { status, stdout, stderr } = await run('export', publicId(app), what);
      expect([status, stderr]).toEqual([0, '']);
      return lines(stdout).map((line) => JSON.parse(line));
    };
    const devices = await rowsOf('devices');
    expect(devices.map(({ id }) => id)).toEqual([web, android]);
    expect(devices[0]).toMatchObject({
      platform: 'web',
      vapid_public_key: app.vapidPublicKey,
      locale: 'de-AT',
      external_id: 'bob',
      status: 'active',
    });
    expect(JSON.parse(devices[0].token)).toEqual(subscription);
    expect(devices[1]).toMatchObject({ token: 'phone-1', vapid_public_key: null, properties: { note: tricky } });
    const users = await rowsOf('users');
    expect(users.map(({ external_id }) => external_id)).toEqual([tricky, 'bob']);
    expect(users[0]).toMatchObject({ first_name: '-Ada', properties: { age: -31, vip: true } });
  });

  it('writes CSV with a typed column for each property; no text begins a formula, and negative numbers stay numbers', async () => {
    const { app, android } = await newShop();
    const { stdout } = await run('export', publicId(app), 'devices', '--format', 'csv');
    const [head = '', ...rest] = stdout.split('\r\n');
    expect(head.split(',').slice(0, 4)).toEqual(['id', 'platform', 'token', 'vapid_public_key']);
    expect(head.split(',').slice(-3)).toEqual([
      'properties.age:number',
      'properties.note:string',
      'properties.vip:boolean',
    ]);
    expect(rest[1]).toMatch(new RegExp(`^${android},android,phone-1,,`));
    expect(stdout).toContain(',"\'=1+1 ""b"", c\nd",\r\n');
    const { stdout: users } = await run('export', publicId(app), 'users', '--format', 'csv');
    expect(users).toMatch(/\r\n"'=1\+1 ""b"", c\nd",usr_\w{22},'-Ada,.*,-31,,true\r\nbob,/);
  });

  /** Writes a file as the command does, without a process for each. */
  async function write(app: TestApp, name: TableName, file: string, formatName: FormatName) {
    const table = await openTable(name, { sql: t.sql, clock: t.clock, appId: app.id, messageId: null });
    return writeTable(file, table, rowFormat(formatName, table));
  }

  it.each(formatNames)(
    'continued after any interruption, a file of %s is what an uninterrupted one would be',
    async (format) => {
      const { app, server } = await newShop();
      await server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
      await server.post('/v1/messages', { audience: { all: true }, content: { title: 'Again' } });
      for (const name of tableNames) {
        const whole = join(directory, `${format}-${name}-whole`);
        const resumed = join(directory, `${format}-${name}-resumed`);
        const rows = name === 'deliveries' ? 4 : 2;
        expect(await write(app, name, whole, format)).toEqual({ file: whole, rows, resumed: false });
        await expect(write(app, name, whole, format)).rejects.toThrow(/exists already/);
        expect(statSync(whole).mode & 0o777).toBe(0o600);
        const bytes = readFileSync(whole);
        const step = Math.max(1, Math.floor(bytes.length / 60));
        for (let end = 0; end <= bytes.length; end += end > bytes.length - 5 ? 1 : step) {
          writeFileSync(`${resumed}.part`, bytes.subarray(0, end));
          await write(app, name, resumed, format);
          expect(readFileSync(resumed, 'utf8')).toBe(bytes.toString('utf8'));
          expect(existsSync(`${resumed}.part`)).toBe(false);
          rmSync(resumed);
        }
      }
    },
  );

  it('continues a partial file, and says so', async () => {
    const { app, web } = await newShop();
    const file = join(directory, 'by-command');
    const begin = ['export', publicId(app), 'devices', '--output', file, '--json'];
    expect(JSON.parse((await run(...begin)).stdout)).toEqual({ file, rows: 2, resumed: false });
    const [first = ''] = lines(readFileSync(file, 'utf8'));
    expect(first).toContain(web);
    rmSync(file);
    writeFileSync(`${file}.part`, `${first}\n{"id": "dev_cut`);
    expect(JSON.parse((await run(...begin)).stdout)).toEqual({ file, rows: 1, resumed: true });
  });

  it.each(formatNames)('a file written as %s can be imported into another app with the same result', async (format) => {
    const { app, web } = await newShop();
    await t
      .clientOf(app.serverKey)
      .post('/v1/users', { external_id: 'cleared', country: 'AT', timezone: 'Europe/Vienna' });
    const other = await t.newApp();
    const keys = join(directory, `vapid-${format}.json`);
    writeFileSync(keys, JSON.stringify({ publicKey: app.vapidPublicKey, privateKey: app.vapidPrivateKey }));
    for (const name of ['users', 'devices'] as const) {
      const file = join(directory, `moving-${name}.${format}`);
      await write(app, name, file, format);
      const bring = name === 'devices' ? ['--vapid-file', keys] : [];
      const { stdout, stderr } = await run('import', publicId(other), file, ...bring, '--json');
      expect(stdout, stderr).not.toBe('');
      expect(JSON.parse(stdout)).toMatchObject({ rejected: 0 });
    }
    const shown = async (of: TestApp, name: TableName) => {
      const file = join(directory, `shown-${of.id}-${name}-${format}`);
      await write(of, name, file, 'ndjson');
      const rows = lines(readFileSync(file, 'utf8')).map((line) => JSON.parse(line));
      // A device gets a new id there, and its last change is at another time.
      return rows.map(({ id: _id, updated_at: _changed, ...row }) => row).sort((a, b) => (a.token < b.token ? -1 : 1));
    };
    expect(await shown(other, 'users')).toEqual(await shown(app, 'users'));
    expect(await shown(other, 'devices')).toEqual(await shown(app, 'devices'));
    expect((await t.clientOf(other.serverKey).get('/v1/users/bob')).body.devices).not.toEqual([web]);
  });

  it('writes the deliveries of one message, and of all', async () => {
    const { app, server, web, android } = await newShop();
    const send = async (): Promise<string> =>
      (await server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } })).body.id;
    const [first, second] = [await send(), await send()];
    const one = await run('export', publicId(app), 'deliveries', '--message', second);
    const { body } = await server.get(`/v1/messages/${second}/deliveries`);
    expect(lines(one.stdout).map((line) => JSON.parse(line))).toEqual(
      body.data.map((delivery: object) => ({ message_id: second, ...delivery })),
    );
    const all = await run('export', publicId(app), 'deliveries', '--format', 'csv');
    const rows = lines(all.stdout).map((line) => line.split(',').slice(0, 2).join(' '));
    const sent = [first, second].flatMap((id) => [`${id} ${web}`, `${id} ${android}`]);
    expect(rows).toEqual(['message_id device_id', ...sent]);
  });

  it('refuses files that it cannot continue, and unknown options', async () => {
    const { app } = await newShop();
    const name = publicId(app);
    const file = join(directory, 'strange');
    writeFileSync(`${file}.part`, 'something else\n');
    for (const format of ['csv', 'ndjson']) {
      const done = await run('export', name, 'devices', '--output', file, '--format', format);
      expect(done).toMatchObject(refusal(/holds something else/));
    }
    expect(readFileSync(`${file}.part`, 'utf8')).toBe('something else\n');
    expect(await run('export', name, 'segments')).toMatchObject(
      refusal(/no table 'segments'; there are devices, users, del/),
    );
    expect(await run('export', name, 'users', '--format', 'xml')).toMatchObject(refusal(/no format 'xml'/));
    expect(await run('export', name, 'users', '--message', 'msg_x')).toMatchObject(
      refusal(/can be used with deliveries only/),
    );
    const foreign = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'x' } });
    for (const id of [foreign.body.id, 'msg_none']) {
      expect(await run('export', name, 'deliveries', '--message', id)).toMatchObject(refusal(/no such message/));
    }
  });
});

// The last test, because it sets the clock forward.
describe('export user, a day later', () => {
  it("shows the attribution of the user's purchases, once it is settled", async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device_id = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'buys', device_id });
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    for (const external_id of ['buys', 'another'])
      await server.post('/v1/events', { name: 'purchase', external_id, properties: { amount: 79.9, currency: 'EUR' } });
    t.clock.advance(26 * 3_600_000);
    await settleDue({ sql: t.sql, clock: t.clock });
    const { attributions, events } = await exportOf(app, 'buys');
    expect(attributions).toEqual([
      {
        occurred_at: events[0].occurred_at,
        currency: 'EUR',
        amount: '79.9',
        class: 'influenced',
        message_id: body.id,
        window_hours: 24,
      },
    ]);
  });
});

const at = { occurred_at: expect.stringMatching(/^\d{4}-.*Z$/) };
const byNumber = (a: number, b: number): number => a - b;
