import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { loadIdentifyRules } from '../../src/apps/identify-secrets.ts';
import { createSeal } from '../../src/ground/seal.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const seal = createSeal(Buffer.from(cli.environment['MASTER_KEY'] ?? '', 'base64'));

const hashOf = (secret: string): string => createHmac('sha256', secret).update('u-42').digest('hex');
/** Hashes of the secrets that the service checks proofs with. */
async function hashesOf(appId: string): Promise<string[]> {
  return (await loadIdentifyRules({ sql: cli.sql, seal }, appId)).secrets.map(hashOf);
}

describe('identify-secret', () => {
  it('rotate prints a secret once, which is valid at once; a second one is valid beside it until finish', async () => {
    const { id, publicId } = await cli.newApp('Shop');
    const first = await cli.json('identify-secret', 'rotate', publicId);
    expect(first).toEqual({
      app_id: publicId,
      identify_required: true,
      identify_bound_required: false,
      secrets: 1,
      secret: expect.stringMatching(/^idsec_[A-Za-z0-9_-]{43}$/),
    });
    const second = await cli.json('identify-secret', 'rotate', publicId);
    expect(second).toMatchObject({ secrets: 2, secret: expect.not.stringContaining(first.secret) });
    expect(await hashesOf(id)).toEqual([hashOf(first.secret), hashOf(second.secret)]);
    const { secret: _secret, ...shown } = { ...second, secrets: 1 };
    expect(await cli.json('identify-secret', 'finish', publicId)).toEqual(shown);
    expect(await hashesOf(id)).toEqual([hashOf(second.secret)]);
    for (const { secret } of [first, second]) {
      expect(cli.printed.filter((text) => text.includes(secret))).toHaveLength(1);
      expect(await cli.sql`SELECT 1 FROM apps a WHERE a::text LIKE ${`%${secret}%`}`).toHaveLength(0);
    }
  });

  it('rotate reports when it replaces a secret whose rotation was not finished', async () => {
    const { id, publicId } = await cli.newApp('Hasty');
    const [first] = [await cli.json('identify-secret', 'rotate', publicId)];
    await cli.json('identify-secret', 'rotate', publicId);
    const { status, stdout } = await cli.run('identify-secret', 'rotate', publicId);
    expect([status, stdout]).toEqual([0, expect.stringContaining('the place of the one from the rotation before')]);
    const third = /idsec_[A-Za-z0-9_-]{43}/.exec(stdout)?.[0] ?? '';
    expect(await hashesOf(id)).toEqual([hashOf(first.secret), hashOf(third)]);
  });

  it('require-bound refuses the simple form, and clear removes all secrets', async () => {
    const { id, publicId } = await cli.newApp('Strict');
    await cli.json('identify-secret', 'rotate', publicId);
    const on = await cli.json('identify-secret', 'require-bound', publicId, 'on');
    expect(on).toEqual({ app_id: publicId, identify_required: true, identify_bound_required: true, secrets: 1 });
    await cli.json('identify-secret', 'rotate', publicId);
    expect(await cli.json('identify-secret', 'finish', publicId)).toMatchObject({ identify_bound_required: true });
    const off = await cli.json('identify-secret', 'require-bound', publicId, 'off');
    expect(off).toMatchObject({ identify_required: true, identify_bound_required: false });
    await cli.json('identify-secret', 'require-bound', publicId, 'on');
    const cleared = await cli.json('identify-secret', 'clear', publicId);
    expect(cleared).toEqual({ app_id: publicId, identify_required: false, identify_bound_required: false, secrets: 0 });
    expect(await hashesOf(id)).toEqual([]);
  });

  it.concurrent.each([
    ['to finish what was not begun', ['finish', 'Empty'], /No new secret is pending/],
    ['to clear what is not there', ['clear', 'Empty'], /There is no secret/],
    ['to require proofs that nobody can make', ['require-bound', 'Empty', 'on'], /identify-secret rotate app_/],
    ['another word than on and off', ['require-bound', 'Empty', 'yes'], /Say on or off, not 'yes'/],
    ['an app that there is not', ['rotate', 'Nowhere'], /No app has the id or the name 'Nowhere'/],
  ])('refuses %s', async (_what, parameters, line) => {
    await empty;
    expect(await cli.run('identify-secret', ...parameters)).toMatchObject(refusal(line));
  });
});

const empty = cli.newApp('Empty');
