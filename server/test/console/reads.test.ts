// The console's areas of messages, devices, users, events, properties and reports: they answer the
// objects of /v1 to people of a role, and a change stands in the audit log.
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup, unknownId } from '../setup.ts';
import { makeOrganisation, signIn } from './console.ts';

const t = await setup();
const member = await signIn(t, 'member');
const admin = await signIn(t, 'admin');
const { body: made } = await admin.send('POST', '/apps', { name: 'Areas' });
const server = t.clientOf(made.server_key);
const at = (path: string): string => `/apps/${made.id}${path}`;

const device = (
  await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription(), properties: { plan: 'pro' } })
).body.id as string;
await server.post('/v1/users', { external_id: 'Ada-1', first_name: 'Zo\u00eb', device_id: device, country: 'DE' });
await server.post('/v1/users', { external_id: 'bob', first_name: 'ada' });
await server.post('/v1/events', {
  name: 'purchase',
  device_id: device,
  properties: { amount: 5, currency: 'EUR', size: 'L' },
});
const send = async (fields: object): Promise<string> =>
  (await server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' }, ...fields })).body.id;
const autumn = await send({ name: 'Autumn sale' });
const winter = await send({ name: 'winter sale' });
const later = () => new Date(t.clock.nowMs() + 3_600_000).toISOString();

const names = ({ data }: { data: Record<string, string>[] }, field: string) => data.map((each) => each[field]);

/** The newest entry of the app's audit log. */
async function newestEntry() {
  const [row] = await t.sql`
    SELECT action, actor_kind, actor_name, target FROM audit_entries ORDER BY id DESC LIMIT 1`;
  return row;
}

describe('messages', () => {
  it('are found by an id exactly, and by the beginning of a name in any letter case', async () => {
    const find = async (q: string) => (await member.send('GET', at(`/messages?q=${encodeURIComponent(q)}`))).body;
    expect(names(await find('AUTUMN'), 'id')).toEqual([autumn]);
    expect(names(await find('Winter S'), 'id')).toEqual([winter]);
    expect(names(await find(winter), 'id')).toEqual([winter]);
    expect(names(await find('sale'), 'id')).toEqual([]);
    expect(names(await find(unknownId('msg')), 'id')).toEqual([]);
    expect((await member.send('GET', at('/messages?q='))).status).toBe(400);
    const first = (await member.send('GET', at('/messages?limit=1'))).body;
    expect(first).toMatchObject({ has_more: true, data: [{ id: winter }] });
    const next = await member.send('GET', at(`/messages?limit=1&cursor=${first.next_cursor}`));
    expect(names(next.body, 'id')).toEqual([autumn]);
    // A cursor of other filters opens nothing.
    expect((await member.send('GET', at(`/messages?limit=1&q=a&cursor=${first.next_cursor}`))).status).toBe(400);
  });

  it('read as in /v1: one message, its deliveries, and the explanation of a delivery', async () => {
    for (const path of [`/messages/${autumn}`, `/messages/${autumn}/deliveries`]) {
      // The console tells more, such as the meaning of codes.
      expect((await member.send('GET', at(path))).body).toMatchObject((await server.get(`/v1${path}`)).body);
    }
    const question = `message_id=${autumn}&external_id=Ada-1`;
    expect((await member.send('GET', at(`/explain?${question}`))).body).toEqual(
      (await server.get(`/v1/explain?${question}`)).body,
    );
  });

  it('have exclusion, pace and local time for a duplicate, also when canceled; /v1 has no exclusion', async () => {
    const filter = { field: 'country', op: 'eq', value: 'FR' };
    const { body: segment } = await server.post('/v1/segments', { name: 'France', filter });
    const rules = { exclude_segment_id: segment.id, per_second: 50 };
    const seconds = new Date(t.clock.nowMs() + 86_400_000).toISOString().slice(0, 19);
    const byKey = (fields: object) => send({ ...rules, local_time: true, ...fields });
    // The console sends by its own POST.
    const byPerson = async (fields: object): Promise<string> => {
      const message = { audience: { all: true }, content: { title: 'Not in France' }, ...rules, local_time: true };
      return (await member.send('POST', at('/messages'), { ...message, ...fields })).body.id;
    };
    for (const [make, local_time_past] of [
      [byKey, 'now'],
      [byKey, 'skip'],
      [byPerson, 'now'],
      [byPerson, 'skip'],
    ] as const) {
      // A time without milliseconds gets them, and keeps its offset.
      const scheduled = await make({ send_at: `${seconds}+01:00`, local_time_past });
      const told = { ...rules, local_send_at: `${seconds}.000+01:00`, local_time_past };
      expect((await member.send('GET', at(`/messages/${scheduled}`))).body).toMatchObject(told);
      expect((await member.send('POST', at(`/messages/${scheduled}/cancel`))).body).toMatchObject(told);
      expect((await server.get(`/v1/messages/${scheduled}`)).body).not.toHaveProperty('exclude_segment_id');
    }
    const withMs = await byKey({ send_at: `${seconds}.120+01:00` });
    expect((await member.send('GET', at(`/messages/${withMs}`))).body.local_send_at).toBe(`${seconds}.120+01:00`);
    await member.send('POST', at(`/messages/${withMs}/cancel`));
    expect((await member.send('GET', at(`/messages/${autumn}`))).body).toMatchObject({
      exclude_segment_id: null,
      per_second: null,
      local_send_at: null,
      local_time_past: null,
    });
  });

  it('are canceled by a member, and the audit log names the member', async () => {
    const scheduled = await send({ send_at: later() });
    const answer = await member.send('POST', at(`/messages/${scheduled}/cancel`));
    expect(answer).toMatchObject({ status: 200, body: { id: scheduled, status: 'canceled' } });
    expect(await newestEntry()).toMatchObject({
      action: 'message.cancel',
      actorKind: 'person',
      actorName: member.email,
      target: scheduled,
    });
  });
});

describe('devices', () => {
  it('are found by an id, and by the beginning of the external id of their user', async () => {
    for (const q of ['ada', 'ADA-1', device]) {
      expect(names((await member.send('GET', at(`/devices?q=${q}`))).body, 'id')).toEqual([device]);
    }
    expect((await member.send('GET', at('/devices?q=bob'))).body.data).toEqual([]);
  });

  it('show the history of their states, and an admin opts one out with an entry in the audit log', async () => {
    const other = (await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription() })).body.id;
    expect((await member.send('DELETE', at(`/devices/${other}`))).status).toBe(403);
    expect(await admin.send('DELETE', at(`/devices/${other}`))).toMatchObject({
      status: 200,
      body: { id: other, status: 'unsubscribed' },
    });
    expect(await newestEntry()).toMatchObject({ action: 'device.opt_out', actorName: admin.email, target: other });
    const { body } = await member.send('GET', at(`/devices/${other}`));
    expect(body).toMatchObject({ id: other, status: 'unsubscribed', token_hint: null });
    expect(body.history.map(({ status }: { status: string }) => status)).toEqual(['active', 'unsubscribed']);
    expect((await member.send('GET', at(`/devices/${unknownId('dev')}`))).status).toBe(404);
  });
});

it('a browser has the credential that it subscribed with', async () => {
  const path = `/apps/${encodeId('app', t.app.id)}`;
  const browser = await t.registerDevice();
  const [vapid] = (await admin.send('GET', `${path}/channels`)).body.data;
  expect((await member.send('GET', `${path}/devices/${browser}`)).body.credential_id).toBe(vapid.credential_id);
  // The other app has no channel.
  expect((await member.send('GET', at(`/devices/${device}`))).body.credential_id).toBeNull();
});

describe('users', () => {
  it('are found by the beginning of an external id or a first name, also beyond ASCII', async () => {
    const find = async (q: string) => (await member.send('GET', at(`/users?q=${encodeURIComponent(q)}`))).body;
    expect(names(await find('ADA'), 'external_id')).toEqual(['Ada-1', 'bob']);
    expect(names(await find('ZO\u00cb'), 'external_id')).toEqual(['Ada-1']);
    expect(names(await find('nobody'), 'external_id')).toEqual([]);
    const all = (await member.send('GET', at('/users?limit=1'))).body;
    expect(all).toMatchObject({
      has_more: true,
      data: [{ external_id: 'Ada-1', first_name: 'Zo\u00eb', country: 'DE' }],
    });
  });

  it('are exported whole and erased by an admin alone, and both stand in the audit log', async () => {
    expect((await member.send('GET', at('/users/Ada-1/export'))).status).toBe(403);
    const { status, body } = await admin.send('GET', at('/users/Ada-1/export'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      app_id: made.id,
      external_id: 'Ada-1',
      profile: { first_name: 'Zo\u00eb' },
      devices: [{ id: device }],
      events: [{ name: 'purchase' }],
    });
    expect(body.deliveries.map((each: { message_id: string }) => each.message_id).sort()).toEqual(
      [autumn, winter].sort(),
    );
    expect(await newestEntry()).toMatchObject({ action: 'user.export', actorName: admin.email });
    expect((await member.send('DELETE', at('/users/bob'))).status).toBe(403);
    expect((await admin.send('DELETE', at('/users/bob'))).body).toMatchObject({ deleted: true });
    expect(await newestEntry()).toMatchObject({ action: 'user.erase', actorName: admin.email });
    expect((await member.send('GET', at('/users/bob'))).status).toBe(404);
  });
});

describe('catalogs and reports', () => {
  it('show events with their properties, properties as in /v1, and each day of a range', async () => {
    expect((await member.send('GET', at('/events'))).body.data).toMatchObject([
      {
        name: 'purchase',
        count: 1,
        properties: [{ key: 'amount' }, { key: 'currency' }, { key: 'size', samples: ['L'] }],
      },
    ]);
    expect((await member.send('GET', at('/events/purchase'))).body).toMatchObject({ name: 'purchase', count: 1 });
    expect((await member.send('GET', at('/events/none'))).status).toBe(404);
    const { body: catalog } = await member.send('GET', at('/properties'));
    const data = catalog.data.map(
      ({ segments: _segments, conflict_days: _days, ...shown }: object & Record<string, unknown>) => shown,
    );
    expect({ ...catalog, data }).toEqual((await server.get('/v1/properties')).body);
    const day = new Date(t.clock.nowMs()).toISOString().slice(0, 10);
    const range = `from=${day}T00:00:00Z&to=${new Date(Date.parse(day) + 2 * 86_400_000).toISOString()}`;
    const { body } = await member.send('GET', at(`/reports/delivery?${range}`));
    expect(body.days).toHaveLength(2);
    expect(body.days[0]).toMatchObject({ accepted: 2, sent: 0, skipped: 2 });
    for (const name of ['revenue', 'engagement', 'devices', 'events']) {
      expect((await member.send('GET', at(`/reports/${name}?${range}`))).status).toBe(200);
    }
  });
});

it('another organisation sees none of it', async () => {
  const stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Others'));
  for (const path of [
    '/messages',
    `/messages/${autumn}`,
    '/devices',
    `/devices/${device}`,
    '/users',
    '/users/Ada-1',
    '/events',
  ]) {
    expect((await stranger.send('GET', at(path))).status).toBe(404);
  }
});
