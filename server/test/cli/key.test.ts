import { describe, expect, it } from 'vitest';
import { findKeyByHash, listKeys } from '../../src/apps/key-queries.ts';
import { createKey } from '../../src/apps/manage-keys.ts';
import { hashToken } from '../../src/ground/checked-token.ts';
import { encodeId } from '../../src/ground/ids.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const { clock } = cli;

const works = async (key: string): Promise<boolean> =>
  (await findKeyByHash(cli.sql, clock, hashToken(key))) !== undefined;
const keyOf = async (appId: string, scope: 'server' | 'client'): Promise<{ id: string; name: string }> => {
  const found = (await listKeys(cli.sql, appId)).find((key) => key.scope === scope);
  return { id: encodeId('key', found?.id ?? ''), name: found?.name ?? '' };
};
const hoursFromNow = (instant: string): number => (Date.parse(instant) - clock.nowMs()) / 3_600_000;

describe('key create and list', () => {
  it('makes a key of a scope, and lists it without its text', async () => {
    const app = await cli.newApp('Keys');
    const key = await cli.json('key', 'create', 'Keys', '--scope', 'server', '--name', 'Backend');
    expect(key).toMatchObject({ app_id: app.publicId, scope: 'server', name: 'Backend' });
    expect(key).toMatchObject({ expires_at: null, revoked_at: null, last_used_at: null });
    expect(await works(key.key)).toBe(true);

    const { keys } = await cli.json('key', 'list', 'Keys');
    const { key: text, ...listed } = key;
    expect(keys).toHaveLength(3);
    expect(keys.at(-1)).toEqual(listed);
    expect(text.startsWith(listed.start) && text.endsWith(listed.last4)).toBe(true);
  });

  it('R-40 prints a key once, and stores only its hash', async () => {
    const { key } = await cli.json('key', 'create', 'Keys', '--scope', 'client');
    const before = cli.printed.length;
    await Promise.all([cli.run('key', 'list', 'Keys'), cli.json('key', 'list', 'Keys'), cli.run('app', 'list')]);
    expect(cli.printed.slice(before).join('')).not.toContain(key);
    const rows = await cli.sql`SELECT * FROM keys`;
    expect(JSON.stringify(rows)).not.toContain(key.slice(12, -4));
  });

  it('allows 20 active keys of each scope', async () => {
    const app = await cli.newApp('Full');
    const first = await keyOf(app.id, 'server');
    const newKey = { appId: app.id, scope: 'server', name: 'Another' } as const;
    for (let i = 2; i <= 20; i++) await createKey(cli, newKey);
    const refused = await cli.run('key', 'create', 'Full', '--scope', 'server');
    expect(refused).toMatchObject(refusal(/at most 20 active server keys/));
    await cli.json('key', 'create', 'Full', '--scope', 'client');

    // The old key stays valid for a while, so there is no room for the new one. Without an overlap
    // there is.
    const before = await listKeys(cli.sql, app.id);
    expect(await cli.run('key', 'rotate', first.id)).toMatchObject(refusal(/at most 20/));
    expect(await listKeys(cli.sql, app.id)).toEqual(before);
    const { id } = await cli.json('key', 'rotate', first.id, '--overlap', '0');
    await cli.json('key', 'revoke', id);
    await cli.json('key', 'create', 'Full', '--scope', 'server');
  });

  it('counts racing creations for one app one after another', async () => {
    const { id: appId } = await cli.newApp('Race');
    const racing = Array.from({ length: 30 }, (_, i) => createKey(cli, { appId, scope: 'client', name: `Key ${i}` }));
    const outcomes = await Promise.allSettled(racing);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(19);
  });
});

describe('key rotate', () => {
  it('makes a key of the same scope and name, and ends the old one after 24 hours', async () => {
    const app = await cli.newApp('Turning');
    const old = await keyOf(app.id, 'client');
    const made = await cli.json('key', 'rotate', old.id);
    expect(made).toMatchObject({ app_id: app.publicId, scope: 'client', name: old.name });
    expect(made.replaces.id).toBe(old.id);
    expect(hoursFromNow(made.replaces.expires_at)).toBeCloseTo(24, 1);
    expect([await works(app.clientKey), await works(made.key)]).toEqual([true, true]);
  });

  it('ends the old key at once without an overlap, and that one cannot be rotated again', async () => {
    const app = await cli.newApp('At once');
    const { id } = await keyOf(app.id, 'server');
    const made = await cli.json('key', 'rotate', id, '--overlap', '0');
    expect([await works(app.serverKey), await works(made.key)]).toEqual([false, true]);
    expect(await cli.run('key', 'rotate', id)).toMatchObject(refusal(/has ended already/));
  });

  it('never extends a key that ends sooner', async () => {
    const app = await cli.newApp('Sooner');
    const { id } = await keyOf(app.id, 'server');
    await cli.json('key', 'rotate', id, '--overlap', '1');
    const again = await cli.json('key', 'rotate', id, '--overlap', '72');
    expect(hoursFromNow(again.replaces.expires_at)).toBeCloseTo(1, 1);
  });

  it.concurrent.each([['73'], ['-1'], ['1.5'], ['soon'], ['']])('refuses an overlap of %j', async (overlap) => {
    const id = 'key_0000000000000000000000';
    const refused = await cli.run('key', 'rotate', id, `--overlap=${overlap}`);
    expect(refused).toMatchObject(refusal(/--overlap is a whole number from 0 to 72/));
  });
});

describe('key revoke', () => {
  it('ends a key now; a second time is no error and keeps the first instant', async () => {
    const app = await cli.newApp('Ended');
    const { id } = await keyOf(app.id, 'server');
    const first = await cli.json('key', 'revoke', id);
    expect(await works(app.serverKey)).toBe(false);
    expect(await cli.json('key', 'revoke', id)).toEqual(first);
    expect((await cli.run('key', 'list', 'Ended')).stdout).toContain(`revoked ${first.revoked_at}`);
  });

  it("takes an id and never a key, because a shell's history would keep it", async () => {
    const { serverKey } = await cli.newApp('Named');
    const refused = await cli.run('key', 'revoke', serverKey);
    expect(refused).toMatchObject(refusal(/named by its id/));
    expect(refused.stderr).not.toContain(serverKey);
  });

  it.concurrent.each([
    ['an unknown key', ['key', 'revoke', 'key_0000000000000000000000'], /There is no key key_0{22}/],
    ['an unknown key', ['key', 'rotate', 'key_0000000000000000000000'], /There is no key key_0{22}/],
    ['no scope', ['key', 'create', 'Keys'], /required option '--scope <SCOPE>'/],
    ['an unknown scope', ['key', 'create', 'Keys', '--scope', 'admin'], /Allowed choices are server, client/],
    ['an unknown app', ['key', 'list', 'Nobody'], /No app has/],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });
});
