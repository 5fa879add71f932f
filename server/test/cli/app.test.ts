import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findKeyByHash } from '../../src/apps/key-queries.ts';
import { hashToken } from '../../src/ground/checked-token.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

describe('app create', () => {
  it('makes an app with one working key of each scope', async () => {
    const app = await cli.json('app', 'create', 'Shop');
    expect(app).toEqual({
      id: expect.stringMatching(/^app_[0-9A-Za-z]{22}$/),
      name: 'Shop',
      plan: 'free',
      attribution_window_hours: 24,
      suspended_at: null,
      created_at: expect.stringMatching(/Z$/),
      server_key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{49}$/),
      client_key: expect.stringMatching(/^ck_live_[0-9A-Za-z]{49}$/),
    });
    for (const scope of ['server', 'client'] as const) {
      const found = await findKeyByHash(cli.sql, cli.clock, hashToken(app[`${scope}_key`]));
      expect(found).toMatchObject({ scope, plan: 'free', isSuspended: false });
    }
  });

  it('shows the app and both keys as text', async () => {
    const { status, stdout, stderr } = await cli.run('app', 'create', 'Bücher & mehr', '--plan', 'pro');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/Bücher & mehr {2}app_\w{22} {2}plan pro/);
    expect(stdout).toMatch(/server key {2}sk_live_\w{49}/);
    expect(stdout).toMatch(/client key {2}ck_live_\w{49}/);
  });

  it('warns a person in one line that nothing proves identity yet, and names the command that makes a secret', async () => {
    const { stdout } = await cli.run('app', 'create', 'Open');
    const id = /app_\w{22}/.exec(stdout)?.[0];
    expect(stdout.split('\n').filter((line) => /identif/.test(line))).toEqual([
      'WARNING: no identify secret is set: any visitor who guesses an external_id can link a browser to it and receive ' +
        `that user's pushes. Set one: ./carillon identify-secret rotate ${id}`,
    ]);
  });

  it('uses DEFAULT_PLAN, and the plans of PLANS_FILE', async () => {
    const file = join(cli.directory, 'plans.json');
    writeFileSync(file, JSON.stringify({ plans: { house: { sk_per_second: 1, ck_per_second: 1, quota: null } } }));
    const environment = { PLANS_FILE: file, DEFAULT_PLAN: 'house' };
    const { json } = await cli.runWith(environment, 'app', 'create', 'Housed', '--json');
    expect(json.plan).toBe('house');
    const refused = await cli.runWith(environment, 'app', 'create', 'Housed', '--plan', 'free');
    expect(refused).toMatchObject(refusal(/There is no plan 'free'; there are house/));
  });

  it.concurrent.each([
    ['no name', ['app', 'create'], /missing required argument 'NAME'/],
    ['an empty name', ['app', 'create', '  '], /at least one character/],
    ['a name that is too long', ['app', 'create', 'x'.repeat(129)], /at most 128/],
    ['a name that would move a cursor', ['app', 'create', 'Wrong\u001b[2J'], /one line of text/],
    [
      'an unknown plan',
      ['app', 'create', 'Wrong', '--plan', 'gold'],
      /no plan 'gold'; there are free, growth, pro, unlimited/,
    ],
    ['an unknown option', ['app', 'create', 'Wrong', '--colour', 'red'], /unknown option '--colour'/],
  ])('refuses %s and makes nothing', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
    const made = await cli.sql`SELECT FROM apps WHERE name ~ 'Wrong|xxx' OR trim(name) = ''`;
    expect(made).toHaveLength(0);
  });
});

describe('app list, plan, suspend and resume', () => {
  it('find an app by its id, or by a name that only one app has', async () => {
    const { publicId: id } = await cli.newApp('Only one');
    expect(await cli.json('app', 'plan', 'Only one', 'growth')).toMatchObject({ id, plan: 'growth' });
    expect(await cli.json('app', 'plan', id, 'pro')).toMatchObject({ id, plan: 'pro' });
  });

  it('list the ids when several apps share a name', async () => {
    const { publicId: first } = await cli.newApp('Twin');
    const { publicId: second } = await cli.newApp('Twin');
    const refused = await cli.run('app', 'suspend', 'Twin');
    expect(refused).toMatchObject(refusal(new RegExp(`2 apps are named 'Twin'.*${first}, ${second}`)));
    expect(await cli.json('app', 'suspend', second)).toMatchObject({ id: second });
    const { apps } = await cli.json('app', 'list');
    const states = apps.filter((each: { name: string }) => each.name === 'Twin');
    expect(states.map((each: { suspended_at: unknown }) => each.suspended_at === null)).toEqual([true, false]);
  });

  it('list all apps, oldest first, without their keys', async () => {
    const { apps } = await cli.json('app', 'list');
    const times = apps.map((app: { created_at: string }) => app.created_at);
    expect(times).toEqual([...times].sort());
    const { stdout } = await cli.run('app', 'list');
    for (const { id, name } of apps) expect(stdout).toMatch(new RegExp(`^${id} +${name}`, 'm'));
    expect(stdout).not.toMatch(/[sc]k_live/);
  });

  it('suspending twice keeps the first instant, and resuming ends it', async () => {
    await cli.newApp('Paused');
    const first = await cli.json('app', 'suspend', 'Paused');
    expect(first.suspended_at).toMatch(/Z$/);
    expect(await cli.json('app', 'suspend', 'Paused')).toEqual(first);
    expect(await cli.json('app', 'resume', 'Paused')).toEqual({ ...first, suspended_at: null });
  });

  it.concurrent.each([
    ['an unknown app', ['app', 'plan', 'Nobody', 'pro'], /No app has the id or the name 'Nobody'/],
    ['an id of another kind', ['app', 'suspend', 'key_0000000000000000000000'], /No app has/],
    ['an unknown plan', ['app', 'plan', 'Shop', 'gold'], /There is no plan 'gold'/],
    ['a missing plan', ['app', 'plan', 'Shop'], /missing required argument 'PLAN'/],
    ['more than was asked for', ['app', 'list', 'all'], /too many arguments/],
  ])('refuse %s in one line', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });
});

describe('app delete', () => {
  it('deletes an app whose name is typed again, and says how much of it is cleared', async () => {
    const app = await cli.json('app', 'create', 'Doomed');
    const wrong = await cli.run('app', 'delete', app.id, '--name', 'doomed');
    expect(wrong).toMatchObject(refusal(/name/i));
    expect((await cli.json('app', 'list')).apps.map(({ id }: { id: string }) => id)).toContain(app.id);
    const deleted = await cli.json('app', 'delete', app.id, '--name', 'Doomed');
    expect(deleted).toEqual({ id: app.id, name: 'Doomed', deleted: true, devices: 0, users: 0, messages: 0 });
    expect((await cli.json('app', 'list')).apps.map(({ id }: { id: string }) => id)).not.toContain(app.id);
    expect(await findKeyByHash(cli.sql, cli.clock, hashToken(app.server_key))).toBeUndefined();
    const [entry] =
      await cli.sql`SELECT actor_kind, before ->> 'name' AS name FROM audit_entries WHERE action = 'app.delete'`;
    expect({ ...entry }).toEqual({ actorKind: 'cli', name: 'Doomed' });
    expect(await cli.run('app', 'delete', app.id, '--name', 'Doomed')).toMatchObject(refusal(/app/i));
  });

  it('needs the name', async () => {
    expect(await cli.run('app', 'delete', 'Shop')).toMatchObject(refusal(/--name/));
  });
});
