import { describe, expect, it } from 'vitest';
import { loadIdentifyRules } from '../../src/apps/identify-secrets.ts';
import { createSeal } from '../../src/ground/seal.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const seal = createSeal(Buffer.from(cli.environment['MASTER_KEY'] ?? '', 'base64'));

/** The secrets that the service checks proofs with, and their forms. */
const secretsOf = async (appId: string) => (await loadIdentifyRules({ sql: cli.sql, seal }, appId)).secrets;

describe('identify-secret', () => {
  it('rotate prints a secret once, which is valid at once; a second one is valid beside it until finish', async () => {
    const { id, publicId } = await cli.newApp('Shop');
    const first = await cli.json('identify-secret', 'rotate', publicId);
    expect(first).toEqual({
      app_id: publicId,
      identify_required: true,
      identify_form: 'token',
      identify_device_required: false,
      secrets: 1,
      secret: expect.stringMatching(/^idjwt_[A-Za-z0-9_-]{43}$/),
    });
    const second = await cli.json('identify-secret', 'rotate', publicId, '--form', 'hash');
    expect(second).toMatchObject({ identify_form: 'hash', secrets: 2 });
    expect(second.secret).toMatch(/^idsec_[A-Za-z0-9_-]{43}$/);
    expect(await secretsOf(id)).toEqual([
      { form: 'token', secret: first.secret },
      { form: 'hash', secret: second.secret },
    ]);
    const { secret: _secret, ...shown } = { ...second, secrets: 1 };
    expect(await cli.json('identify-secret', 'finish', publicId)).toEqual(shown);
    expect(await secretsOf(id)).toEqual([{ form: 'hash', secret: second.secret }]);
    for (const { secret } of [first, second]) {
      expect(cli.printed.filter((text) => text.includes(secret))).toHaveLength(1);
      expect(await cli.sql`SELECT 1 FROM apps a WHERE a::text LIKE ${`%${secret}%`}`).toHaveLength(0);
    }
  });

  it('rotate says which proof is needed, and when it replaces a secret whose rotation was not finished', async () => {
    const { id, publicId } = await cli.newApp('Hasty');
    const byHash = await cli.run('identify-secret', 'rotate', publicId, '--form', 'hash');
    expect(byHash.stdout).toContain('From now on identify needs a user_hash made with it.');
    await cli.json('identify-secret', 'rotate', publicId);
    const { status, stdout } = await cli.run('identify-secret', 'rotate', publicId);
    expect([status, stdout]).toEqual([0, expect.stringContaining('the place of the one from the rotation before')]);
    const third = /idjwt_[A-Za-z0-9_-]{43}/.exec(stdout)?.[0] ?? '';
    expect(await secretsOf(id)).toEqual([
      { form: 'hash', secret: expect.any(String) },
      { form: 'token', secret: third },
    ]);
  });

  it('--require-device accepts only tokens that name it, and clear removes all secrets', async () => {
    const { id, publicId } = await cli.newApp('Strict');
    const on = await cli.run('identify-secret', 'rotate', publicId, '--require-device', 'on');
    expect(on.stdout).toContain('identify needs a user_token made with it.\nOnly a user_token that names its device');
    await cli.json('identify-secret', 'rotate', publicId);
    expect(await cli.json('identify-secret', 'finish', publicId)).toEqual({
      app_id: publicId,
      identify_required: true,
      identify_form: 'token',
      identify_device_required: true,
      secrets: 1,
    });
    const line = /require_device needs a token secret/;
    expect(await cli.run('identify-secret', 'rotate', publicId, '--form', 'token')).toMatchObject({ status: 0 });
    expect(await cli.run('identify-secret', 'finish', publicId)).toMatchObject({ status: 0 });
    const off = await cli.json('identify-secret', 'rotate', publicId, '--form', 'hash', '--require-device', 'off');
    expect(off).toMatchObject({ identify_form: 'hash', identify_device_required: false, secrets: 2 });
    await cli.json('identify-secret', 'finish', publicId);
    const hashAlone = ['rotate', publicId, '--form', 'hash', '--require-device', 'on'];
    expect(await cli.run('identify-secret', ...hashAlone)).toMatchObject(refusal(line));
    const cleared = await cli.json('identify-secret', 'clear', publicId);
    expect(cleared).toMatchObject({ identify_required: false, identify_form: null, secrets: 0 });
    expect(await secretsOf(id)).toEqual([]);
  });

  it.concurrent.each([
    ['to finish what was not begun', ['finish', 'Empty'], /No new secret is pending/],
    ['to clear what is not there', ['clear', 'Empty'], /There is no secret/],
    ['another form', ['rotate', 'Empty', '--form', 'bound'], /--form.*token, hash/],
    ['another word than on and off', ['rotate', 'Empty', '--require-device', 'yes'], /--require-device.*on, off/],
    ['an app that there is not', ['rotate', 'Nowhere'], /No app has the id or the name 'Nowhere'/],
  ])('refuses %s', async (_what, parameters, line) => {
    await empty;
    expect(await cli.run('identify-secret', ...parameters)).toMatchObject(refusal(line));
  });
});

const empty = cli.newApp('Empty');
