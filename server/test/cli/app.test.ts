import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hashToken } from '../../src/ground/secrets/checked-token.ts';
import { findKeyByHash } from '../../src/teams/apps/key-queries.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

describe('app create', () => {
  it('makes an app with one working key of each scope', async () => {
    const app = await cli.json('app', 'create', 'Shop');
    expect(app).toMatchObject({ id: expect.stringMatching(/^app_\w{22}$/), name: 'Shop', plan: 'free' });
    for (const scope of ['server', 'client'] as const) {
      const found = await findKeyByHash(cli.sql, cli.clock, hashToken(app[`${scope}_key`]));
      expect(found).toMatchObject({ scope, plan: 'free', isSuspended: false });
    }
  });

  it('shows the app and both keys, and warns in one line that nothing proves identity yet', async () => {
    const { status, stdout, stderr } = await cli.run('app', 'create', 'Bücher & mehr', '--plan', 'pro');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^id {4}app_\w{22}\nname {2}Bücher & mehr\nplan {2}pro\n/);
    expect(stdout).toMatch(/server key {2}sk_live_\w{49}\n {2}client key {2}ck_live_\w{49}\n/);
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
    ['an empty name', ['app', 'create', '  '], /a character that can be seen/],
    ['a name that is too long', ['app', 'create', 'x'.repeat(129)], /NAME is too large: at most 128/],
    ['a name that would move a cursor', ['app', 'create', 'Wrong\u001b[2J'], /one line of text/],
    ['an unknown plan', ['app', 'create', 'Wrong', '--plan', 'gold'], /no plan 'gold'; there are free, growth, pro/],
  ])('refuses %s and makes nothing', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
    expect(await cli.sql`SELECT 1 FROM apps WHERE name LIKE 'Wrong%' OR name LIKE 'x%'`).toHaveLength(0);
  });
});

describe('owner', () => {
  it('prints a set-up link until there is an owner, and a link that resets a password', async () => {
    const first = await cli.json('owner', 'setup-link');
    expect(first.link).toMatch(/\/console\/setup#[\w-]{43}$/);
    expect((await cli.json('owner', 'setup-link')).link).not.toBe(first.link);
    expect(await cli.run('owner', 'reset-password', 'nobody@shop.example')).toMatchObject(
      refusal(/Nobody has the address nobody@shop.example here/),
    );
  });
});
