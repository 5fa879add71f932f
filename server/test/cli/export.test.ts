import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/platform/ids.ts';
import { setup, type TestApp } from '../setup.ts';
import { programArguments, refusal } from './run-carillon.ts';

const t = await setup();

/** Starts the command line on the database of the running service. */
function start(...parameters: string[]): ChildProcessWithoutNullStreams {
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: t.databaseUrl, LOG_LEVEL: 'silent' };
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
  it('writes all that is held of one user, and nothing of anybody else', async () => {
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
    // Somebody else of the same app, and the same name in another.
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
      // Those that name the user come first.
      deliveries: [
        { message_id: late.id, ...(await deliveryOf(late.id)) },
        { message_id: early.id, ...(await deliveryOf(early.id)) },
      ],
    });
    // Day by day; what is of one day and name in the order in which it came.
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

  it('tells a history of any length, each thing once', async () => {
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

  it('of somebody whom only events named has no profile', async () => {
    const app = await t.newApp();
    await t.clientOf(app.serverKey).post('/v1/events', { name: 'told', external_id: '../etc "x"\u0007' });
    expect(await exportOf(app, '../etc "x"\u0007')).toMatchObject({
      ...{ external_id: '../etc "x"\u0007', profile: null, devices: [], deliveries: [] },
      events: [{ name: 'told', device_id: null }],
    });
  });

  it('refuses, in one line, whom there is not, whom another app has, and who was erased', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.server.post('/v1/users', { external_id: 'theirs' });
    await server.post('/v1/users', { external_id: 'erased' });
    await server.delete('/v1/users/erased');
    for (const externalId of ['nobody', 'theirs', 'erased']) {
      expect(await run('export', 'user', publicId(app), externalId)).toMatchObject(refusal(/There is no user/));
    }
  });

  it('ends quietly when its reader has seen enough', async () => {
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

const at = { occurred_at: expect.stringMatching(/^\d{4}-.*Z$/) };
const byNumber = (a: number, b: number): number => a - b;
