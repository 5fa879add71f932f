// The audit log: it contains every change by the command line with its actor, and no secret.
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { generateVapidKeys } from '../../src/sending/channels/webpush/vapid.ts';
import { auditActions } from '../../src/teams/audit/entry.ts';
import { auditedRoutes } from '../console/audited.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const me = { kind: 'cli', id: null, name: userInfo().username };

interface Shown {
  readonly action: string;
  readonly app_id: string | null;
  readonly target: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

/** The entries, oldest first. */
async function entriesOf(...parameters: string[]): Promise<Shown[]> {
  return (await cli.json('audit', '--limit', '10000', ...parameters)).data.reverse();
}

describe('audit', () => {
  it('shows who changed what of an app, newest first, with the changed fields', async () => {
    const { publicId: id } = await cli.newApp('Told');
    await cli.run('app', 'plan', id, 'pro');
    await cli.run('app', 'window', id, '48');
    await cli.run('app', 'suspend', id);
    await cli.run('app', 'resume', id);
    const common = {
      id: expect.any(String),
      actor: me,
      address: null,
      app_id: id,
      target: id,
      at: expect.stringMatching(/Z$/),
    };
    const { data: entries, has_more: hasMore } = await cli.json('audit', 'Told', '--limit', '4');
    expect(hasMore).toBe(true);
    expect(entries).toEqual([
      { ...common, action: 'app.resume', before: null, after: null },
      { ...common, action: 'app.suspend', before: null, after: null },
      { ...common, action: 'app.window', before: { window_hours: 24 }, after: { window_hours: 48 } },
      { ...common, action: 'app.plan', before: { plan: 'free' }, after: { plan: 'pro' } },
    ]);
    const { stdout } = await cli.run('audit', id, '--limit', '4');
    expect(stdout).toMatch(new RegExp(`cli ${me.name} +app\\.plan +Told +${id} +plan free → pro`));
    expect(stdout).toMatch(/There are more/);
  });

  it('lists a period of time', async () => {
    const { publicId: id } = await cli.newApp('Timed');
    const { data: entries } = await cli.json('audit', id);
    const at = entries[0].at as string;
    expect((await cli.json('audit', id, '--to', at)).data.every((each: { at: string }) => each.at < at)).toBe(true);
    expect(await cli.json('audit', id, '--from', '2100-01-01T00:00:00Z')).toMatchObject({ data: [], has_more: false });
    expect(await cli.run('audit', id, '--from', 'yesterday')).toMatchObject(refusal(/--from is/));
    expect(await cli.run('audit', 'Nobody')).toMatchObject(refusal(/No app has/));
  });

  it('records nothing for a command that changed nothing, and nothing for a refused one', async () => {
    const { publicId: id } = await cli.newApp('Still');
    const before = await entriesOf(id);
    const done = await Promise.all([
      cli.run('app', 'plan', id, 'free'),
      cli.run('app', 'resume', id),
      cli.run('webhook', 'create', id, 'https://127.0.0.1/'),
      cli.run('property', 'delete', id, 'unknown'),
      cli.run('identify-secret', 'finish', id),
    ]);
    expect(done.map(({ status }) => status)).toEqual([0, 0, 1, 1, 1]);
    expect(await entriesOf(id)).toEqual(before);
  });
});

/** Every change that the command line can make, once. */
describe('every change by the command line', () => {
  let app = '';
  const secrets: string[] = [];
  const webhookUrl = 'https://hooks.shop.example/push?token=in-the-query';

  const changeApp = async (): Promise<void> => {
    await cli.json('app', 'plan', app, 'pro');
    await cli.json('app', 'window', app, '12');
    await cli.json('app', 'suspend', app);
    await cli.json('app', 'resume', app);
    await cli.json('reports', 'rebuild', app);
  };
  const changeKeys = async (): Promise<void> => {
    const created = await cli.json('key', 'create', app, '--scope', 'server', '--name', 'Backend');
    const rotated = await cli.json('key', 'rotate', created.id);
    await cli.json('key', 'revoke', rotated.id);
    await cli.json('key', 'revoke', rotated.id);
    secrets.push(created.key, rotated.key);
  };
  const changeChannels = async (): Promise<void> => {
    const [vapidFile, vapid] = [join(cli.directory, 'vapid.json'), generateVapidKeys()];
    writeFileSync(vapidFile, JSON.stringify(vapid));
    await cli.json('channel', 'set', app, 'webpush');
    const csv = join(cli.directory, 'users.csv');
    writeFileSync(csv, 'external_id,first_name\nanna@shop.example,Anna\n');
    await cli.json('import', app, csv, '--vapid-file', vapidFile);
    secrets.push(vapid.privateKey, 'anna@shop.example');
  };
  const changeWebhooks = async (): Promise<void> => {
    const hook = await cli.json('webhook', 'create', app, webhookUrl, '--event', 'message.sent');
    await cli.json('webhook', 'disable', hook.id);
    await cli.json('webhook', 'enable', hook.id);
    const fresh = await cli.json('webhook', 'rotate', hook.id, '--dual');
    await cli.json('webhook', 'finish', hook.id);
    await cli.json('webhook', 'replay', hook.id, '--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z');
    await cli.json('webhook', 'delete', hook.id);
    secrets.push(hook.secret, fresh.secret, 'in-the-query');
  };
  const changeIdentity = async (): Promise<void> => {
    const first = await cli.json('identify-secret', 'rotate', app);
    const second = await cli.json('identify-secret', 'rotate', app);
    await cli.json('identify-secret', 'finish', app);
    await cli.json('identify-secret', 'rotate', app, '--require-device', 'on');
    await cli.json('identify-secret', 'clear', app);
    secrets.push(first.secret, second.secret);
  };
  const changeProperties = async (): Promise<void> => {
    await cli.json('property', 'declare', app, 'plan', 'string');
    await cli.json('property', 'change', app, 'plan', 'number');
    await cli.json('property', 'delete', app, 'plan');
  };
  const changeService = async (): Promise<void> => {
    await cli.json('pause');
    await cli.json('resume');
    await cli.json('seal', 'rotate');
    await cli.json('receipt-key', 'rotate');
  };

  beforeAll(async () => {
    await loadInstance(cli.sql, createSeal(Buffer.from(cli.environment['MASTER_KEY'] ?? '', 'base64')));
    const made = await cli.json('app', 'create', 'Whole');
    app = made.id;
    secrets.push(made.server_key, made.client_key);
    await Promise.all([changeApp(), changeKeys(), changeChannels(), changeWebhooks()]);
    await Promise.all([changeIdentity(), changeProperties(), changeService()]);
  });

  it("is in the audit log with the system's user, in the order of the commands", async () => {
    const entries = await entriesOf(app);
    const actionsOf = (...nouns: string[]): string[] =>
      entries.map(({ action }) => action).filter((action) => nouns.includes(action.split('.')[0] ?? ''));
    const reports = 'reports.rebuild';
    expect(actionsOf('app', 'reports')).toEqual([
      ...['app.create', 'app.plan', 'app.window', 'app.suspend', 'app.resume', reports],
    ]);
    expect(actionsOf('key')).toEqual(['key.create', 'key.create', 'key.create', 'key.rotate', 'key.revoke']);
    expect(actionsOf('channel', 'import')).toEqual([
      ...['channel.set', 'channel.add_former', 'import.begin', 'import.end'],
    ]);
    expect(actionsOf('webhook')).toEqual([
      ...['webhook.create', 'webhook.disable', 'webhook.enable', 'webhook.rotate', 'webhook.finish'],
      ...['webhook.replay', 'webhook.delete'],
    ]);
    expect(actionsOf('identify_secret')).toEqual([
      ...['identify_secret.rotate', 'identify_secret.rotate', 'identify_secret.finish'],
      ...['identify_secret.rotate', 'identify_secret.require_device', 'identify_secret.clear'],
    ]);
    expect(actionsOf('property')).toEqual(['property.declare', 'property.change', 'property.delete']);
    const ofService = (await entriesOf()).filter((each) => each.app_id === null);
    expect(ofService.map(({ action }) => action)).toEqual([
      'service.pause',
      'service.resume',
      'seal.rotate',
      'receipt_key.rotate',
    ]);
    for (const entry of [...entries, ...ofService]) expect(entry).toMatchObject({ actor: me, address: null });
  });

  it('R-43 names each key that is made, rotated or revoked by its id and its ends', async () => {
    const entries = await entriesOf(app);
    const [, , made, rotated, revoked] = entries.filter(({ action }) => action.startsWith('key.'));
    const { data: keys } = await cli.json('key', 'list', app);
    const [, , former, current] = keys;
    const shown = ({ start, last4 }: { start: string; last4: string }) => ({ start, last4 });
    expect(made).toMatchObject({ target: former.id, after: { scope: 'server', name: 'Backend', ...shown(former) } });
    expect(rotated).toMatchObject({
      target: former.id,
      before: { expires_at: null },
      after: { expires_at: former.expires_at, replaced_by: current.id, ...shown(current) },
    });
    expect(revoked).toMatchObject({ target: current.id });
    expect(former.created_by).toBe(`cli ${me.name}`);
  });

  it('has an action for each possible change, and one of these tests makes it', async () => {
    const done = new Set((await entriesOf()).map(({ action }) => action));
    const elsewhere = [
      // Tested in test/api/audit.test.ts.
      ...['user.erase', 'segment.create', 'segment.replace', 'segment.delete'],
      // Tested in test/backup.test.ts.
      'service.restore',
      // Tested with their commands.
      ...['app.events', 'event.delete', 'device.purge'],
      // Tested with the routes of the console.
      ...Object.values(auditedRoutes).flat(),
      // Tested in test/console/roles.test.ts, apps.test.ts, areas.test.ts, sign-in.test.ts and guesses.test.ts.
      ...['access.refuse', 'app.default_url', 'app.window', 'user.export', 'link.create', 'session.refuse'],
    ];
    expect(auditActions.filter((action) => !done.has(action) && !elsewhere.includes(action))).toEqual([]);
  });

  it('R-80 puts no secret, no query of an endpoint and no person into the audit log', async () => {
    expect(secrets.every((secret) => typeof secret === 'string' && secret.length > 8)).toBe(true);
    const rows = await cli.sql<{ text: string }[]>`SELECT a::text AS text FROM audit_entries a`;
    const [entries, printed] = [rows.map(({ text }) => text).join('\n'), (await cli.run('audit', app)).stdout];
    for (const text of [entries, printed]) {
      expect(text).toMatch(/hooks\.shop\.example/);
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
      expect(text).not.toMatch(/PRIVATE KEY|(?:sk|ck|ot)_live_\w{10}|whsec_|idsec_|idjwt_/);
    }
  });
});
