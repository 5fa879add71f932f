// The areas of the console against a running service: what each operation does to the API and to
// phones, who is named in the audit log, and that no read answers a secret.
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { makeOrganisation, type Person, scriptOf, signIn } from './console.ts';

const receiver = await startWebhookReceiver();
const t = await setup({ environment: { OUTBOUND_ALLOW_PORTS: String(receiver.port) } });
const app = encodeId('app', t.app.id);
const owner = await signIn(t, 'owner');
const { send } = owner;

/** The actions that this person did, oldest first. */
const actionsOf = async ({ email }: Person): Promise<string[]> =>
  (await t.sql<{ action: string }[]>`SELECT action FROM audit_entries WHERE actor_name = ${email} ORDER BY at`).map(
    ({ action }) => action,
  );
const secrets: string[] = [];

describe('keys', () => {
  it('are made, rotated and revoked, each shown once', async () => {
    const admin = await signIn(t, 'admin');
    const made = await admin.send('POST', `/apps/${app}/keys`, { scope: 'server', name: 'Warehouse' });
    expect((await t.request('GET', '/v1/devices', { key: made.body.key })).status).toBe(200);
    const rotated = await admin.send('POST', `/keys/${made.body.id}/rotate`, { overlap_hours: 0 });
    expect(rotated.body.replaces.id).toBe(made.body.id);
    t.clock.advance(2000);
    expect((await t.request('GET', '/v1/devices', { key: made.body.key })).status).toBe(401);
    expect((await t.request('GET', '/v1/devices', { key: rotated.body.key })).status).toBe(200);
    expect((await admin.send('DELETE', `/keys/${rotated.body.id}`)).body.revoked_at).not.toBeNull();
    t.clock.advance(2000);
    expect((await t.request('GET', '/v1/devices', { key: rotated.body.key })).status).toBe(401);
    expect(await actionsOf(admin)).toEqual(['key.create', 'key.rotate', 'key.revoke']);
    secrets.push(made.body.key, rotated.body.key);
  });

  it('a key for the own browser ends with its session, and is in no list', async () => {
    const member = await signIn(t, 'member');
    const { body } = await member.send('POST', `/apps/${app}/session-key`);
    expect(body.key).toMatch(/^ck_live_/);
    expect((await t.request('GET', '/v1/config', { key: body.key })).status).toBe(200);
    expect(JSON.stringify((await send('GET', `/apps/${app}/keys`)).body)).not.toContain(body.key.slice(-4));
    expect((await member.send('POST', '/logout')).status).toBe(200);
    t.clock.advance(2000);
    expect((await t.request('GET', '/v1/config', { key: body.key })).status).toBe(401);
    secrets.push(body.key);
    // A session lasts seven days, and its key no longer.
    const late = await signIn(t, 'member');
    await t.sql`
      UPDATE account_sessions SET created_at = created_at - interval '7 days' + interval '5 minutes'
      WHERE account_id = ${late.accountId}`;
    const { body: last } = await late.send('POST', `/apps/${app}/session-key`);
    const leftMs = Date.parse(last.expires_at) - t.clock.nowMs();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(5 * 60_000);
  });
});

describe('plan, usage and suspension', () => {
  it('change what a key may do, and are read again', async () => {
    const { body: made } = await send('POST', '/apps', { name: 'Planned' });
    const changed = await send('PUT', `/apps/${made.id}/plan`, { plan: 'pro', updated_at: made.updated_at });
    expect(changed.body.plan).toBe('pro');
    const late = await send('PUT', `/apps/${made.id}/plan`, { plan: 'free', updated_at: '2026-01-01T00:00:00.000Z' });
    expect({ status: late.status, error: late.body.error }).toEqual({ status: 400, error: 'changed_meanwhile' });
    expect((await send('GET', `/apps/${made.id}/usage`)).body).toMatchObject({
      plan: 'pro',
      used: 0,
      limit: 5_000_000,
    });
    expect((await send('GET', '/plans')).body.data.map(({ name }: { name: string }) => name)).toContain('growth');
    expect((await send('POST', `/apps/${made.id}/suspend`)).body.suspended_at).not.toBeNull();
    t.clock.advance(2000);
    expect((await t.request('GET', '/v1/config', { key: made.client_key })).body.error).toBe('app_suspended');
    expect((await send('POST', `/apps/${made.id}/resume`)).body.suspended_at).toBeNull();
    t.clock.advance(2000);
    expect((await t.request('GET', '/v1/config', { key: made.client_key })).status).toBe(200);
    secrets.push(made.server_key, made.client_key);
  });

  it('are read by an owner of another organisation, who does not change the plan', async () => {
    const organisationId = await makeOrganisation(t, 'Guests');
    const guest = await signIn(t, 'owner', organisationId);
    const script = await scriptOf(t, 'owner', organisationId);
    const { body: made } = await guest.send('POST', '/apps', { name: 'Guest shop' });
    for (const caller of [guest.send, script]) {
      for (const plan of ['unlimited', 'free']) {
        const body = { plan, updated_at: made.updated_at };
        const { status, body: answer } = await caller('PUT', `/apps/${made.id}/plan`, body);
        expect({ status, error: answer.error }).toEqual({ status: 403, error: 'role_too_low' });
      }
    }
    expect((await guest.send('GET', `/apps/${made.id}/usage`)).body.plan).toBe(made.plan);
    secrets.push(made.server_key, made.client_key);
  });
});

describe('channels', () => {
  it('accept keys that work, refuse others with a reason, and answer no private key', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const p8 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const apple = { p8, key_id: 'ABC123DEFG', team_id: 'DEF123GHIJ', bundle_id: 'com.example.shop' };
    const wrong = await send('PUT', `/apps/${app}/channels/apns`, { ...apple, key_id: 'short' });
    expect(wrong.body.issues).toMatchObject([{ path: ['key_id'] }]);
    const set = await send('PUT', `/apps/${app}/channels/apns`, apple);
    expect(set.body).toMatchObject({ channel: 'apns', health: 'ok', public: { key_id: 'ABC123DEFG' } });
    const half = await send('POST', `/apps/${app}/channels/webpush`, { public_key: 'x' });
    expect(half.body.issues).toMatchObject([{ code: 'required' }]);
    expect((await send('PUT', `/apps/${app}/channels/fcm`, { service_account_json: '{}' })).status).toBe(400);
    const { data } = (await send('GET', `/apps/${app}/channels`)).body;
    expect(data.map(({ channel }: { channel: string }) => channel).sort()).toEqual(['apns', 'webpush']);
    expect(JSON.stringify(data)).not.toMatch(/PRIVATE|secret/i);
    expect((await send('DELETE', `/apps/${app}/channels/apns`)).status).toBe(200);
    expect((await send('DELETE', `/apps/${app}/channels/apns`)).status).toBe(404);
    secrets.push(p8.split('\n')[1] ?? '');
  });

  it('a test rings the device by the normal path', async () => {
    const device = await t.registerDevice();
    const { status, body } = await send('POST', `/apps/${app}/channels/webpush/test`, { device_id: device });
    expect({ status, sent: body.status, answers: body.answers.length }).toEqual({
      status: 200,
      sent: 'sent',
      answers: 1,
    });
    expect((await t.server.get(`/v1/messages/${body.message_id}`)).status).toBe(200);
    const other = await send('POST', `/apps/${app}/channels/fcm/test`, { device_id: device });
    expect(other.status).toBe(400);
  });
});

describe('webhooks', () => {
  it('are made, edited, tested, rotated, disabled, enabled and deleted', async () => {
    const admin = await signIn(t, 'admin');
    const made = await admin.send('POST', `/apps/${app}/webhooks`, { endpoint: receiver.endpoint });
    expect(made.body).toMatchObject({ state: 'enabled', events: [], secret: expect.stringMatching(/^whsec_/) });
    const { id, updated_at } = made.body;
    const edit = { updated_at, events: ['message.failed'] };
    expect((await admin.send('PATCH', `/webhooks/${id}`, edit)).body.events).toEqual(['message.failed']);
    expect((await admin.send('PATCH', `/webhooks/${id}`, { ...edit, events: [] })).body.error).toBe(
      'changed_meanwhile',
    );
    expect((await admin.send('POST', `/webhooks/${id}/test`)).body).toMatchObject({ status_code: 200, error: null });
    const rotated = await admin.send('POST', `/webhooks/${id}/rotate`, { dual: true });
    expect(rotated.body).toMatchObject({ rotation: { dual: true }, secret: expect.stringMatching(/^whsec_/) });
    expect((await admin.send('POST', `/webhooks/${id}/rotate/finish`)).body.rotation).toBeNull();
    expect((await admin.send('POST', `/webhooks/${id}/rotate/finish`)).status).toBe(400);
    expect((await admin.send('POST', `/webhooks/${id}/disable`)).body.state).toBe('disabled');
    expect((await admin.send('POST', `/webhooks/${id}/enable`)).body.state).toBe('enabled');
    const period = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' };
    expect((await admin.send('POST', `/webhooks/${id}/replay`, period)).body).toMatchObject({
      queued: 0,
      complete: true,
    });
    expect((await admin.send('GET', `/webhooks/${id}/attempts`)).body).toEqual({ data: [] });
    const read = JSON.stringify([
      (await admin.send('GET', `/webhooks/${id}`)).body,
      (await admin.send('GET', `/apps/${app}/webhooks`)).body,
    ]);
    expect(read).not.toContain('whsec_');
    expect((await admin.send('DELETE', `/webhooks/${id}`)).status).toBe(200);
    expect((await admin.send('GET', `/webhooks/${id}`)).status).toBe(404);
    expect(await actionsOf(admin)).toEqual([
      ...[
        'webhook.create',
        'webhook.edit',
        'webhook.test',
        'webhook.rotate',
        'webhook.finish',
        'webhook.disable',
        'webhook.enable',
      ],
      ...['webhook.replay', 'webhook.delete'],
    ]);
    secrets.push(made.body.secret, rotated.body.secret);
  });
});

describe('identify', () => {
  it('is turned on with a secret shown once, rotated, and turned off', async () => {
    const path = `/apps/${app}/identify`;
    const seen = async (): Promise<string> => (await send('GET', path)).body.updated_at;
    const before = await seen();
    const on = await send('PUT', path, { enabled: true, require_device: true, updated_at: before });
    expect(on.body).toMatchObject({
      enabled: true,
      require_device: true,
      secrets: 1,
      forms: ['token'],
      secret: expect.stringMatching(/^idjwt_/),
    });
    const late = await send('PUT', path, { enabled: false, updated_at: before });
    expect({ error: late.body.error, enabled: late.body.present?.enabled }).toEqual({
      error: 'changed_meanwhile',
      enabled: true,
    });
    const eased = await send('PUT', path, { enabled: true, updated_at: await seen() });
    expect(eased.body).toMatchObject({ require_device: false, secret: null });
    const rotated = await send('POST', `${path}/rotate`, { form: 'hash' });
    expect(rotated.body).toMatchObject({
      secrets: 2,
      forms: ['token', 'hash'],
      secret: expect.stringMatching(/^idsec_/),
    });
    expect((await send('POST', `${path}/rotate/finish`)).body).toMatchObject({
      enabled: true,
      require_device: false,
      secrets: 1,
      forms: ['hash'],
    });
    // A hash names no device.
    const refused = await send('PUT', path, { enabled: true, require_device: true, updated_at: await seen() });
    expect([refused.status, refused.body.issues[0].path]).toEqual([400, ['require_device']]);
    const again = await send('POST', `${path}/rotate`, {});
    expect(again.body).toMatchObject({ forms: ['hash', 'token'], secret: expect.stringMatching(/^idjwt_/) });
    const off = await send('PUT', path, { enabled: false, updated_at: await seen() });
    expect(off.body).toMatchObject({ enabled: false, secrets: 0 });
    secrets.push(on.body.secret, rotated.body.secret, again.body.secret);
  });
});

describe('team', () => {
  it('R-53 invites, changes roles and removes; a changed or removed member is out at once', async () => {
    const invited = await send('POST', '/team/invites', { email: 'ben@shop.example', role: 'member' });
    expect(invited.body.link).toMatch(/^https:\/\/carillon\.test\.example\/console\/join#[\w-]{43}$/);
    expect((await send('DELETE', `/team/invites/${invited.body.id}`)).status).toBe(200);
    expect((await send('DELETE', `/team/invites/${invited.body.id}`)).status).toBe(404);
    const member = await signIn(t, 'member');
    const id = encodeId('acc', member.accountId);
    const { members } = (await send('GET', '/team')).body;
    const { updated_at } = members.find((each: { id: string }) => each.id === id);
    expect((await send('PATCH', `/team/${id}`, { role: 'viewer', updated_at })).body.role).toBe('viewer');
    expect((await member.send('GET', '/session')).status).toBe(401);
    const second = await signIn(t, 'viewer');
    expect((await send('DELETE', `/team/${encodeId('acc', second.accountId)}`)).status).toBe(200);
    expect((await second.send('GET', '/session')).status).toBe(401);
    secrets.push(invited.body.link.split('#')[1] ?? '');
  });

  it('R-53 an admin gives and takes no role above their own, and the last owner stays, also in a race', async () => {
    const admin = await signIn(t, 'admin');
    expect((await admin.send('POST', '/team/invites', { role: 'owner' })).status).toBe(400);
    expect((await admin.send('DELETE', `/team/${encodeId('acc', owner.accountId)}`)).status).toBe(400);
    // Two owners who remove each other at once: one of them stays.
    await t.sql`DELETE FROM members WHERE role = 'owner' AND account_id <> ${owner.accountId}`;
    const other = await signIn(t, 'owner');
    const answers = await Promise.all([
      send('DELETE', `/team/${encodeId('acc', other.accountId)}`),
      other.send('DELETE', `/team/${encodeId('acc', owner.accountId)}`),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const left = await t.sql<{ accountId: string }[]>`SELECT account_id FROM members WHERE role = 'owner'`;
    expect(left).toHaveLength(1);
    const [last] = left;
    const remaining = last?.accountId === owner.accountId ? owner : other;
    const self = await remaining.send('DELETE', `/team/${encodeId('acc', remaining.accountId)}`);
    expect({ status: self.status, code: self.body.issues[0].code }).toEqual({ status: 400, code: 'in_use' });
  });

  it('an organisation that requires a second factor leads members without one to set it up', async () => {
    const chief = await signIn(t, 'owner');
    const member = await signIn(t, 'member');
    const { organisation } = (await chief.send('GET', '/team')).body;
    const wanted = { require_two_factor: true, updated_at: organisation.updated_at };
    const changed = await chief.send('PUT', '/organisation', wanted);
    expect(changed.body.require_two_factor).toBe(true);
    expect((await member.send('GET', '/apps')).body.error).toBe('second_factor_required');
    expect((await member.send('GET', '/session')).body.must_set_up_two_factor).toBe(true);
    await t.sql`UPDATE organisations SET require_two_factor = false`;
  });
});

describe('operator tokens', () => {
  it('do what their role may, are counted, and end when they are revoked', async () => {
    const chief = await signIn(t, 'owner');
    const made = await chief.send('POST', '/tokens', { name: 'Terraform', role: 'admin' });
    const key = made.body.token;
    const script = (path: string) => t.request('GET', `/console/api${path}`, { key });
    expect((await script('/apps')).status).toBe(200);
    expect((await script('/plans')).body.error).toBe('role_too_low');
    t.clock.hold(t.clock.date());
    const answers = await Promise.all(Array.from({ length: 80 }, () => script('/apps')));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('1');
    expect((await chief.send('DELETE', `/tokens/${made.body.id}`)).body.revoked_at).not.toBeNull();
    t.clock.advance(2000);
    expect((await script('/apps')).body.error).toBe('not_signed_in');
    const { body } = await chief.send('GET', '/tokens');
    expect(JSON.stringify(body)).not.toContain(key);
    secrets.push(key);
  });
});

describe('the pause', () => {
  it('R-92 holds for every process, and an owner ends it', async () => {
    const chief = await signIn(t, 'owner');
    expect((await chief.send('POST', '/system/pause')).body).toMatchObject({ paused: true, reason: 'operator' });
    expect((await (await signIn(t, 'viewer')).send('GET', '/system/pause')).body.paused).toBe(true);
    const none = { paused: false, since: null, reason: null, waiting: null };
    // Entries of one millisecond are in no order.
    t.clock.advance(1);
    expect((await chief.send('POST', '/system/resume')).body).toEqual(none);
    expect(await actionsOf(chief)).toEqual(['service.pause', 'service.resume']);
    const guest = await signIn(t, 'owner', await makeOrganisation(t, 'Guest'));
    for (const path of ['/system/pause', '/system/resume']) {
      expect(await guest.send('POST', path)).toMatchObject({ status: 403, body: { error: 'role_too_low' } });
    }
  });
});

describe('audit', () => {
  it('lists an app’s and the organisation’s changes in pages and as CSV, and holds none of the secrets', async () => {
    const chief = await signIn(t, 'owner');
    const first = await chief.send('GET', `/apps/${app}/audit?limit=5`);
    expect(first.body.data).toHaveLength(5);
    const second = await chief.send('GET', `/apps/${app}/audit?limit=5&cursor=${first.body.next_cursor}`);
    const ids = [...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(10);
    expect(ids).toEqual([...ids].sort().reverse());
    const own = (await chief.send('GET', '/audit?limit=200')).body.data.map(({ action }: { action: string }) => action);
    expect(own).toEqual(expect.arrayContaining(['token.create', 'member.remove', 'key.create', 'organisation.edit']));
    const csv = await t.request('GET', `/console/api/apps/${app}/audit`, {
      headers: { cookie: chief.cookie, accept: 'text/csv' },
    });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.body.split('\r\n')[0]).toBe(
      'at,actor_kind,actor_id,actor_name,address,action,app_id,target,before,after',
    );
    const script = await scriptOf(t, 'admin');
    const everything = JSON.stringify([csv.body, (await script('GET', '/audit?limit=200')).body]);
    expect(secrets).toHaveLength(15);
    for (const secret of secrets) expect(everything).not.toContain(secret);
  });

  it('has what the tests above changed', async () => {
    const done = await t.sql<{ action: string }[]>`SELECT DISTINCT action FROM audit_entries`;
    expect(done.map(({ action }) => action)).toEqual(
      expect.arrayContaining([
        ...['member.role', 'member.remove', 'invite.create', 'invite.withdraw', 'key.session'],
        ...['channel.delete', 'channel.test', 'webhook.test'],
      ]),
    );
  });

  it('R-80 no table has a secret of the console in the clear', async () => {
    const tables = await t.sql<{ name: string }[]>`
      SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')`;
    for (const { name } of tables) {
      const rows = await t.sql`SELECT r::text AS text FROM ${t.sql(name)} r`;
      const text = JSON.stringify(rows);
      for (const secret of secrets) expect({ name, has: text.includes(secret) }).toEqual({ name, has: false });
    }
  });
});
