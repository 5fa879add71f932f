// An edit of what is stored of a device: it changes what its writer saw, or nothing. Every other
// change of the same values refuses it.

import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { invalidateDevices, type RefusedDevice } from '../../src/people/devices/device-history.ts';
import { lockDevicesById } from '../../src/people/devices/queries.ts';
import { setup, unknownId } from '../setup.ts';
import { signIn } from './console.ts';

const t = await setup();
const member = await signIn(t, 'member');
const admin = await signIn(t, 'admin');
const { body: made } = await admin.send('POST', '/apps', { name: 'Edits' });
const server = t.clientOf(made.server_key);
const at = (path: string): string => `/apps/${made.id}${path}`;
const later = () => new Date(t.clock.nowMs() + 3_600_000).toISOString();

let phones = 0;
/** Registers a device with these values, and answers how its token registers again. */
async function newPhone(platform: 'ios' | 'android', fields: object = {}) {
  phones += 1;
  const token = phones.toString(16).padStart(64, 'a');
  const register = (again: object = {}) => server.post('/v1/devices', { platform, token, ...again });
  const id: string = (await register(fields)).body.id;
  const path = at(`/devices/${id}`);
  const read = async () => (await member.send('GET', path)).body;
  const edit = (seen: { updated_at: string }, given: object) =>
    member.send('PATCH', path, { updated_at: seen.updated_at, ...given });
  return { id, register, read, edit };
}

/** The newest entry of the app's audit log. */
async function newestEntry() {
  const [row] = await t.sql`
    SELECT action, actor_kind, actor_name, target FROM audit_entries ORDER BY id DESC LIMIT 1`;
  return row;
}

/** The fields that the audit log names for each edit of a device. */
async function auditedFields(id: string) {
  const rows = await t.sql<{ after: { fields: string[] } }[]>`
    SELECT after FROM audit_entries WHERE action = 'device.edit' AND target = ${id} ORDER BY id`;
  return rows.map(({ after }) => after.fields);
}

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

  it('is refused after another edit, and after a registration with another value', async () => {
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
    const { body: iphone } = await server.post('/v1/devices', { platform: 'ios', token: 'bc'.repeat(32) });
    const { body: web } = await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription() });
    const browser = web.id;
    const edit = async (id: string, fields: object) => {
      const { body } = await member.send('GET', at(`/devices/${id}`));
      t.clock.advance(1_000);
      return member.send('PATCH', at(`/devices/${id}`), { updated_at: body.updated_at, ...fields });
    };
    expect((await edit(iphone.id, { environment: 'sandbox' })).body).toMatchObject({ environment: 'sandbox' });
    expect((await edit(iphone.id, { environment: null })).body).toMatchObject({ environment: null });
    const issueAt = async (id: string, fields: object) => (await edit(id, fields)).body.issues[0].path;
    expect(await issueAt(browser, { environment: 'sandbox' })).toEqual(['environment']);
    expect(await issueAt(browser, { timezone: 'Moon' })).toEqual(['timezone']);
    expect(await issueAt(browser, { token: 'x' })).toEqual(['token']);
    const unknown = at(`/devices/${unknownId('dev')}`);
    expect((await member.send('PATCH', unknown, { updated_at: later(), locale: null })).status).toBe(404);
  });
});

describe('an edit of a device that is not as its writer saw it', () => {
  it('is refused when its user was erased meanwhile, and stores nothing of the person again', async () => {
    const phone = await newPhone('android', { locale: 'de-DE', properties: { mail: 'ada@private.example' } });
    await server.post('/v1/users', { external_id: 'erased', device_id: phone.id });
    const seen = await phone.read();
    await server.delete('/v1/users/erased');
    const edit = { locale: 'fr-FR', properties: { mail: 'ada@private.example', nick: 'Countess' } };
    const late = await phone.edit(seen, edit);
    expect(late).toMatchObject({
      status: 400,
      body: { error: 'changed_meanwhile', present: { status: 'unsubscribed', properties: {} } },
    });
    // The writer sees the present device and saves again: a device that opted out is not edited.
    const again = await phone.edit(late.body.present, edit);
    expect(again).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(again.body.message).toMatch(/opted out/);
    expect(await phone.read()).toEqual(late.body.present);
    for (const table of ['devices', 'audience', 'properties', 'audit_entries']) {
      const rows = await t.sql`SELECT * FROM ${t.sql(table)}`;
      expect(JSON.stringify(rows), table).not.toMatch(/ada@private|Countess|"nick"/);
    }
    expect(await auditedFields(phone.id)).toEqual([]);
  });

  it('is refused when it opted out meanwhile, and is possible again after a registration', async () => {
    const phone = await newPhone('android', { locale: 'de-DE' });
    const seen = await phone.read();
    await server.delete(`/v1/devices/${phone.id}`);
    expect((await phone.edit(seen, { locale: 'fr-FR' })).body.error).toBe('changed_meanwhile');
    const optedOut = await phone.read();
    // To opt out again changes nothing.
    await server.delete(`/v1/devices/${phone.id}`);
    expect(await phone.read()).toEqual(optedOut);
    await phone.register();
    expect(await phone.edit(optedOut, { locale: 'fr-FR' })).toMatchObject({ status: 200, body: { locale: 'fr-FR' } });
  });

  it.each([
    ['environment', { environment: 'sandbox' }],
    ['locale', { locale: 'de-AT' }],
    ['time zone', { timezone: 'Europe/Vienna' }],
    ['properties', { properties: { size: 4 } }],
    ['properties by null', { properties: null }],
  ])('is refused after a registration with another value: %s', async (_name, values) => {
    const phone = await newPhone('ios', { locale: 'de-DE', properties: { size: 3 } });
    const seen = await phone.read();
    await phone.register(values);
    expect((await phone.edit(seen, { locale: 'fr-FR' })).body.error).toBe('changed_meanwhile');
  });

  it('is not refused because the device registered as before, or with what nobody edits', async () => {
    const values = { environment: 'sandbox', locale: 'de-DE', timezone: 'Europe/Berlin', properties: { size: 3 } };
    const phone = await newPhone('ios', values);
    const seen = await phone.read();
    t.clock.advance(1_000);
    await phone.register();
    await phone.register({ ...values, app_version: '2.0', os_version: '27' });
    await phone.register({ properties: { size: 'large', unheard_of: null } });
    // Registrations that arrive together share a transaction.
    await Promise.all(Array.from({ length: 5 }, () => phone.register({ locale: 'de-DE' })));
    expect(await phone.edit(seen, { locale: 'fr-FR' })).toMatchObject({ status: 200, body: { locale: 'fr-FR' } });
  });
});

describe('an edit of a device that changes nothing', () => {
  it('without a field answers the device, and the audit log has no entry', async () => {
    const phone = await newPhone('android', { locale: 'de-DE', properties: { size: 3 } });
    const seen = await phone.read();
    t.clock.advance(1_000);
    expect(await phone.edit(seen, {})).toMatchObject({ status: 200, body: { ...seen, property_conflicts: [] } });
    expect((await phone.edit(seen, { locale: 'de-DE', properties: { size: 3 } })).body).toMatchObject(seen);
    expect(await auditedFields(phone.id)).toEqual([]);
    // It is refused like every other one when the device has changed.
    await phone.register({ locale: 'fr-FR' });
    expect((await phone.edit(seen, {})).body.error).toBe('changed_meanwhile');
  });

  it('is not audited under fields that stayed: a value of another type is told and not written', async () => {
    const phone = await newPhone('android', { properties: { size: 3 } });
    const first = await phone.edit(await phone.read(), { properties: { size: 'big' } });
    expect(first.body.property_conflicts).toMatchObject([{ key: 'size', value: 'big', kept: 3 }]);
    await phone.edit(first.body, { locale: 'de-DE', properties: { size: 'big' } });
    expect(await auditedFields(phone.id)).toEqual([['locale']]);
  });
});

describe('an edit of the environment', () => {
  const storedOf = async (id: string) => {
    const [row] = await t.sql<{ mismatches: number; storedAt: Date }[]>`
      SELECT mismatches, unresolved_messages, unresolved_since, greatest(registered_at, changed_at) AS stored_at
      FROM devices WHERE id = ${decodeId('dev', id) ?? ''}`;
    if (!row) throw new Error(`no device ${id}`);
    return row;
  };
  const refuse = (id: string, about: Partial<RefusedDevice>) =>
    transaction(t.sql, async (tx) => {
      const deviceId = decodeId('dev', id) ?? '';
      await lockDevicesById(tx, decodeId('app', made.id) ?? '', [deviceId]);
      const items = [{ deviceId, reason: 'invalid_token' as const, credentialId: null, ...about }];
      const at = new Date(t.clock.nowMs() + 1_000);
      return invalidateDevices(tx, { appId: decodeId('app', made.id) ?? '', at, items });
    });

  it('deletes what pushes said of the former one, and no later word about it retires the device', async () => {
    const phone = await newPhone('ios', { environment: 'production' });
    const before = await storedOf(phone.id);
    await t.sql`
      UPDATE devices SET mismatches = 2, unresolved_messages = 2, unresolved_since = now()
      WHERE id = ${decodeId('dev', phone.id) ?? ''}`;
    const seen = await phone.read();
    expect((await phone.edit(seen, { environment: 'sandbox' })).status).toBe(200);
    const after = await storedOf(phone.id);
    expect(after).toMatchObject({ mismatches: 0, unresolvedMessages: 0, unresolvedSince: null });
    // A push in the former environment was on its way.
    expect(await refuse(phone.id, { storedAtMs: before.storedAt.getTime() })).toBe(0);
    expect((await phone.read()).status).toBe('active');
    expect(await refuse(phone.id, { storedAtMs: after.storedAt.getTime() })).toBe(1);
  });

  it('is no sign of life: a token that died before the edit is retired', async () => {
    const phone = await newPhone('ios', { environment: 'production' });
    const goneAtMs = t.clock.nowMs() + 1_000;
    t.clock.advance(2_000);
    await phone.edit(await phone.read(), { environment: 'sandbox' });
    const { storedAt } = await storedOf(phone.id);
    const gone = { reason: 'unregistered', goneAtMs, storedAtMs: storedAt.getTime() } as const;
    expect(await refuse(phone.id, gone)).toBe(1);
  });

  it('keeps what pushes said when the environment stays', async () => {
    const phone = await newPhone('ios', { environment: 'production' });
    await t.sql`UPDATE devices SET mismatches = 2 WHERE id = ${decodeId('dev', phone.id) ?? ''}`;
    await phone.edit(await phone.read(), { environment: 'production', locale: 'de-DE' });
    expect(await storedOf(phone.id)).toMatchObject({ mismatches: 2 });
  });
});

it('two edits within a millisecond have different times, and the later one is refused', async () => {
  t.clock.hold(t.clock.date());
  const phone = await newPhone('android');
  const seen = await phone.read();
  const first = await phone.edit(seen, { locale: 'de-DE' });
  expect(Date.parse(first.body.updated_at)).toBeGreaterThan(Date.parse(seen.updated_at));
  expect((await phone.edit(seen, { locale: 'fr-FR' })).body.error).toBe('changed_meanwhile');
  const second = await phone.edit(first.body, { locale: 'fr-FR' });
  expect((await phone.edit(first.body, { locale: 'es-ES' })).body.error).toBe('changed_meanwhile');
  expect(await phone.edit(second.body, { locale: 'es-ES' })).toMatchObject({ status: 200 });
});
