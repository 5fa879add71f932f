// The console's areas of messages, devices, users, events, properties and reports: they answer the
// objects of /v1 to people of a role, and a change stands in the audit log.
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/ids.ts';
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
    const local = { local_time: true, local_time_past: 'now' };
    const sendAt = new Date(t.clock.nowMs() + 86_400_000).toISOString().replace('Z', '+01:00');
    const scheduled = await send({ ...rules, ...local, send_at: sendAt });
    const told = { ...rules, local_send_at: sendAt, local_time_past: 'now' };
    expect((await member.send('GET', at(`/messages/${scheduled}`))).body).toMatchObject(told);
    expect((await member.send('POST', at(`/messages/${scheduled}/cancel`))).body).toMatchObject(told);
    expect((await server.get(`/v1/messages/${scheduled}`)).body).not.toHaveProperty('exclude_segment_id');
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

describe('an edit of a device', () => {
  it('changes what is stored and what filters read, and the audit log names the fields without a value', async () => {
    const token = t.pushSubscription();
    const stored = { locale: 'en-GB', properties: { topic: 'sport', shoe: 'red' } };
    const { body: own } = await server.post('/v1/devices', { platform: 'web', token, ...stored });
    await server.post('/v1/users', { external_id: 'owner-1', device_id: own.id, properties: { plan: 'pro' } });
    const path = at(`/devices/${own.id}`);
    const seen = (await member.send('GET', path)).body;
    const reach = async (filter: object) => {
      const { body } = await member.send('POST', at('/segments/preview'), { filter });
      return body.count;
    };
    const chess = { field: 'properties.topic', op: 'eq', value: 'chess' };
    expect(await reach(chess)).toBe(0);
    t.clock.advance(1_000);
    const edit = {
      updated_at: seen.updated_at,
      locale: 'de-at',
      timezone: 'europe/berlin',
      properties: { topic: 'chess', shoe: null, size: 3 },
    };
    const edited = await member.send('PATCH', path, edit);
    const { status, token_hint, external_id, last_seen_at, history } = seen;
    expect(edited).toMatchObject({
      status: 200,
      body: { status, token_hint, external_id, last_seen_at, history, locale: 'de-AT', timezone: 'Europe/Berlin' },
    });
    expect(edited.body.properties).toEqual({ topic: 'chess', size: 3 });
    expect(await reach({ and: [chess, { field: 'device.locale', op: 'eq', value: 'de-AT' }] })).toBe(1);
    // The values of its user are still there for filters.
    expect(await reach({ and: [chess, { field: 'properties.plan', op: 'eq', value: 'pro' }] })).toBe(1);
    expect(await newestEntry()).toMatchObject({ action: 'device.edit', actorName: member.email, target: own.id });
    const [audited] = await t.sql<{ text: string }[]>`
      SELECT a::text AS text FROM audit_entries a WHERE action = 'device.edit' AND target = ${own.id}`;
    expect(audited?.text).toContain('timezone');
    expect(audited?.text).not.toMatch(/Berlin|chess/);

    // A value of another type is told and not written.
    const conflict = { updated_at: edited.body.updated_at, properties: { size: 'big' } };
    t.clock.advance(1_000);
    const other = await member.send('PATCH', path, conflict);
    expect(other.body.property_conflicts).toMatchObject([{ key: 'size', value: 'big', kept: 3 }]);
    expect(other.body.properties).toEqual({ topic: 'chess', size: 3 });
  });

  it('is refused after another edit and after a registration, which keeps what it does not name', async () => {
    const token = t.pushSubscription();
    const { body: own } = await server.post('/v1/devices', { platform: 'web', token });
    const path = at(`/devices/${own.id}`);
    const seen = (await member.send('GET', path)).body;
    t.clock.advance(1_000);
    const edit = { updated_at: seen.updated_at, locale: 'de-DE' };
    expect((await member.send('PATCH', path, edit)).status).toBe(200);
    const late = await member.send('PATCH', path, { ...edit, locale: 'fr-FR' });
    expect(late).toMatchObject({ status: 400, body: { error: 'changed_meanwhile', present: { locale: 'de-DE' } } });
    const { updated_at } = late.body.present;
    t.clock.advance(1_000);
    await server.post('/v1/devices', { platform: 'web', token, timezone: 'Europe/Paris' });
    expect((await member.send('PATCH', path, { updated_at, locale: 'fr-FR' })).body).toMatchObject({
      error: 'changed_meanwhile',
      present: { locale: 'de-DE', timezone: 'Europe/Paris' },
    });
  });

  it('has an environment for iOS alone, and names what it does not take', async () => {
    const { body: iphone } = await server.post('/v1/devices', { platform: 'ios', token: 'ab'.repeat(32) });
    const edit = async (id: string, fields: object) => {
      const { body } = await member.send('GET', at(`/devices/${id}`));
      t.clock.advance(1_000);
      return member.send('PATCH', at(`/devices/${id}`), { updated_at: body.updated_at, ...fields });
    };
    expect((await edit(iphone.id, { environment: 'sandbox' })).body).toMatchObject({ environment: 'sandbox' });
    expect((await edit(iphone.id, { environment: null })).body).toMatchObject({ environment: null });
    const issueAt = async (id: string, fields: object) => (await edit(id, fields)).body.issues[0].path;
    expect(await issueAt(device, { environment: 'sandbox' })).toEqual(['environment']);
    expect(await issueAt(device, { timezone: 'Moon' })).toEqual(['timezone']);
    expect(await issueAt(device, { token: 'x' })).toEqual(['token']);
    const unknown = at(`/devices/${unknownId('dev')}`);
    expect((await member.send('PATCH', unknown, { updated_at: later(), locale: null })).status).toBe(404);
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
