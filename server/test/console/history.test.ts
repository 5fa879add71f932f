// The history of one user or device, and the meaning of each code, as the console shows it.
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup, unknownId } from '../setup.ts';
import { makeOrganisation, signIn } from './console.ts';

const t = await setup({ environment: { SEND_WAIT_MS: '2000' } });
const member = await signIn(t, 'member');
const at = (path: string): string => `/apps/${encodeId('app', t.app.id)}${path}`;
const read = async (path: string) => {
  const { status, body } = await member.send('GET', at(path));
  expect({ status, error: body.error, issues: body.issues }).toEqual({ status: 200 });
  return body;
};

/** Reads a list page by page, one row a page. */
async function walk(path: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  do {
    t.clock.advance(50);
    const suffix: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: Record<string, unknown>[]; next_cursor: string | null } = await read(
      `${path}?limit=1${suffix}`,
    );
    rows.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null && rows.length < 50);
  return rows;
}

const device = await t.registerDevice();
const message = async (name: string, audience: object = { device_ids: [device] }): Promise<string> => {
  const content = { title: `About ${name}`, url: 'https://shop.example/' };
  return (await t.server.post('/v1/messages', { audience, content, name })).body.id;
};
const hour = 3_600_000;
const ago = (hours: number): string => new Date(t.clock.nowMs() - hours * hour).toISOString();

await t.server.post('/v1/events', { device_id: device, name: 'opened', occurred_at: ago(72) });
const before = await message('before');
await t.server.post('/v1/users', { external_id: 'ada', device_id: device, country: 'DE', properties: { plan: 'pro' } });
const after = await message('after');
await t.server.post('/v1/events', { external_id: 'ada', name: 'looked', occurred_at: ago(30) });
await t.server.post('/v1/events', { device_id: device, name: 'bought', occurred_at: ago(1) });
await t.server.post('/v1/users', { external_id: 'eve', properties: {} });
await t.server.post('/v1/events', { external_id: 'eve', name: 'looked' });

describe('R-60 one user', () => {
  it('has the events of the user and of the devices, the latest first, and those from before the sign-in', async () => {
    const events = await walk('/users/ada/events');
    expect(events.map(({ name, before_sign_in }) => [name, before_sign_in])).toEqual([
      ['bought', false],
      ['looked', false],
      ['opened', true],
    ]);
    expect((await read('/users/ada/events')).data).toEqual(events);
    expect((await read('/users/eve/events')).data).toHaveLength(1);
  });

  it('has the deliveries to the user and to the devices before, the latest first', async () => {
    const deliveries = await walk('/users/ada/deliveries');
    expect(deliveries).toMatchObject([
      { message_id: after, message_name: 'after', message_title: 'About after', external_id: 'ada', status: 'sent' },
      { message_id: before, message_name: 'before', external_id: null, explained: null },
    ]);
    expect((await read('/users/ada/deliveries')).data).toEqual(deliveries);
    expect((await read('/users/eve/deliveries')).data).toEqual([]);
  });

  it('is in the segments that a send would find the user in', async () => {
    const segment = async (name: string, filter: object) =>
      (await t.server.post('/v1/segments', { name, filter })).body.id;
    const pro = await segment('Pro', { field: 'properties.plan', op: 'eq', value: 'pro' });
    await segment('Free', { field: 'properties.plan', op: 'eq', value: 'free' });
    const lookers = await segment('Lookers', { event: 'looked', count: { op: 'gte', value: 1 } });
    const germans = await segment('Germans', { and: [{ field: 'country', op: 'eq', value: 'DE' }] });
    const { data } = await read('/users/ada/segments');
    expect(data).toEqual([
      { id: germans, name: 'Germans', devices: 1 },
      { id: lookers, name: 'Lookers', devices: 1 },
      { id: pro, name: 'Pro', devices: 1 },
    ]);
    expect(await walk('/users/ada/segments')).toEqual(data);
    for (const [id, count] of [
      [pro, 1],
      [lookers, 1],
    ] as const) {
      const { body } = await t.server.post('/v1/messages', { audience: { segment_id: id }, content: { title: 'Hi' } });
      expect(body.report.accepted).toBe(count);
    }
    expect((await read('/users/eve/segments')).data).toEqual([]);
  });

  it('is 404 when nothing is known of the user, and for another organisation', async () => {
    const stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Strangers'));
    for (const part of ['segments', 'events', 'deliveries']) {
      expect((await member.send('GET', at(`/users/nobody/${part}`))).status).toBe(404);
      expect((await stranger.send('GET', at(`/users/ada/${part}`))).status).toBe(404);
    }
    // A user of another app with the same external id shares nothing.
    const theirs = await t.newApp({ name: 'Theirs' });
    await t.clientOf(theirs.serverKey).post('/v1/users', { external_id: 'ada', properties: {} });
    const path = `/apps/${encodeId('app', theirs.id)}/users/ada`;
    for (const part of ['segments', 'events', 'deliveries']) {
      expect((await member.send('GET', `${path}/${part}`)).body.data).toEqual([]);
    }
  });
});

describe('one device', () => {
  it('has its deliveries, under all of its users', async () => {
    const other = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'ada', device_id: other, properties: {} });
    await message('to the other', { device_ids: [other] });
    await t.server.post('/v1/users', { external_id: 'eve', device_id: device, properties: {} });
    const last = await message('as of eve');
    const deliveries = await walk(`/devices/${device}/deliveries`);
    const ids = deliveries.map(({ message_id }) => message_id);
    expect(ids[0]).toBe(last);
    expect(ids).toEqual(expect.arrayContaining([before, after]));
    expect(deliveries.every(({ device_id }) => device_id === device)).toBe(true);
    expect(deliveries[0]).toMatchObject({ external_id: 'eve' });
    const foreign = await t.registerDevice({}, await t.newApp({ name: 'Foreign' }));
    for (const id of [unknownId('dev'), foreign, 'dev_none']) {
      expect((await member.send('GET', at(`/devices/${id}/deliveries`))).status).toBe(404);
    }
  });
});

describe('a failure', () => {
  it('is told with its meaning and the next step, of a message and of a delivery', async () => {
    const gone = await t.registerDevice({ token: t.pushSubscription('gone') });
    t.push.script('gone', (_request, response) => {
      response.writeHead(410);
      response.end();
    });
    const id = await message('gone', { device_ids: [gone] });
    const { error_counts: counts, failures } = await read(`/messages/${id}`);
    expect(counts).toEqual({ unregistered: 1 });
    expect(failures).toEqual([
      {
        code: 'unregistered',
        count: 1,
        title: 'The device is gone',
        meaning: expect.stringMatching(/^the token was valid and is gone/),
        action: expect.stringMatching(/^Nothing to do/),
      },
    ]);
    const [{ code: _code, count: _count, ...explained }] = failures;
    expect((await read(`/messages/${id}/deliveries`)).data).toMatchObject([{ error_code: 'unregistered', explained }]);
    expect((await read(`/devices/${gone}/deliveries`)).data).toMatchObject([{ explained }]);
  });
});

describe('the profile of a user', () => {
  it('is edited as it was seen, and the audit log names the fields without a value', async () => {
    const path = at('/users/ada');
    const seen = await read('/users/ada');
    const edit = { first_name: 'Augusta', properties: { plan: null, level: 3 }, updated_at: seen.updated_at };
    const edited = await member.send('PATCH', path, edit);
    expect(edited).toMatchObject({ status: 200, body: { first_name: 'Augusta', country: 'DE' } });
    expect(edited.body.properties).toEqual({ level: 3 });
    const late = await member.send('PATCH', path, { ...edit, first_name: 'Other' });
    expect(late).toMatchObject({
      status: 400,
      body: { error: 'changed_meanwhile', present: { first_name: 'Augusta', properties: { level: 3 } } },
    });
    expect((await member.send('PATCH', at('/users/nobody'), edit)).status).toBe(404);
    const wrong = await member.send('PATCH', path, { timezone: 'Moon', updated_at: edited.body.updated_at });
    expect(wrong).toMatchObject({ status: 400, body: { issues: [{ path: ['timezone'] }] } });
    const entries = await t.sql<{ target: string; text: string }[]>`
      SELECT target, a::text AS text FROM audit_entries a WHERE action = 'user.edit'`;
    expect(entries.map(({ target }) => target)).toEqual([seen.id]);
    expect(entries[0]?.text).toContain('first_name');
    expect(entries[0]?.text).not.toMatch(/Augusta|\bada\b/);
  });

  it('stays as it is after an edit that changes nothing, and the audit log names only what changed', async () => {
    await t.server.post('/v1/users', { external_id: 'calm', first_name: 'Bo', properties: { level: 1 } });
    const path = at('/users/calm');
    const seen = await read('/users/calm');
    t.clock.advance(1_000);
    const edit = (fields: object) => member.send('PATCH', path, { updated_at: seen.updated_at, ...fields });
    expect(await edit({})).toMatchObject({ status: 200, body: { ...seen, property_conflicts: [] } });
    expect((await edit({ first_name: 'Bo', properties: { level: 1 } })).body).toMatchObject(seen);
    const told = await edit({ properties: { level: 'high' } });
    expect(told.body).toMatchObject({ ...seen, property_conflicts: [{ key: 'level', value: 'high', kept: 1 }] });
    await edit({ first_name: 'Bea', country: null, properties: { level: 'high' } });
    const entries = await t.sql<{ after: { fields: string[] } }[]>`
      SELECT after FROM audit_entries WHERE action = 'user.edit' AND target = ${seen.id}`;
    expect(entries.map(({ after }) => after.fields)).toEqual([['first_name']]);
  });
});

describe('R-92 the pause', () => {
  it('counts the messages that wait, and those whose time has passed', async () => {
    const owner = await signIn(t, 'owner');
    const waiting = async () => (await owner.send('GET', '/system/pause')).body.waiting;
    expect(await waiting()).toBeNull();
    await owner.send('POST', '/system/pause');
    await new Promise<void>(function look(resolve) {
      if (t.service.pause.isPaused()) resolve();
      else setImmediate(() => look(resolve));
    });
    const content = { title: 'Later', url: 'https://shop.example/' };
    const ttl = { ttl: 600 };
    await t.server.post('/v1/messages', { audience: { all: true }, content: { ...content, ...ttl } });
    await t.server.post('/v1/messages', { audience: { all: true }, content });
    for (const fields of [{}, ttl]) {
      const send_at = new Date(t.clock.nowMs() + 60_000).toISOString();
      await t.server.post('/v1/messages', { audience: { all: true }, content: { ...content, ...fields }, send_at });
    }
    expect(await waiting()).toEqual({ messages: 2, expired: 0 });
    t.clock.advance(hour);
    expect(await waiting()).toEqual({ messages: 2, expired: 2 });
    const stranger = await signIn(t, 'viewer', await makeOrganisation(t, 'Others'));
    expect((await stranger.send('GET', '/system/pause')).body.waiting).toEqual({ messages: 0, expired: 0 });
    await owner.send('POST', '/system/resume');
  });
});

describe('a channel', () => {
  it('is not set again when somebody else has set it since', async () => {
    const admin = await signIn(t, 'admin');
    const path = at('/channels/webpush');
    const { body: seen } = await admin.send('GET', path);
    const subject = 'https://shop.example';
    const refused = await admin.send('POST', path, { subject, updated_at: null });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'changed_meanwhile', present: { channel: 'webpush' } },
    });
    expect((await admin.send('POST', path, { subject, updated_at: seen.created_at })).status).toBe(200);
    const late = await admin.send('POST', path, { subject, updated_at: seen.created_at });
    expect(late).toMatchObject({ status: 400, body: { error: 'changed_meanwhile', present: { public: { subject } } } });
  });
});
