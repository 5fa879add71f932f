import { describe, expect, it } from 'vitest';
import { findTokenByHash } from '../../src/accounts/queries.ts';
import { hashToken } from '../../src/ground/checked-token.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

describe('token', () => {
  it('makes a token once, lists it without its text, and revokes it', async () => {
    const made = await cli.json('token', 'create', '--role', 'admin', '--name', 'Terraform');
    expect(made).toMatchObject({ name: 'Terraform', role: 'admin', revoked_at: null });
    expect(made.token).toMatch(/^ot_live_[0-9A-Za-z]{49}$/);
    expect(await findTokenByHash(cli.sql, hashToken(made.token))).toMatchObject({ name: 'Terraform' });
    const { tokens } = await cli.json('token', 'list');
    expect(JSON.stringify(tokens)).not.toContain(made.token);
    expect(tokens).toMatchObject([{ id: made.id, start: made.token.slice(0, 12), last4: made.token.slice(-4) }]);
    expect((await cli.json('token', 'revoke', made.id)).revoked_at).not.toBeNull();
    expect(await findTokenByHash(cli.sql, hashToken(made.token))).toBeUndefined();
    const rows = await cli.sql<
      { action: string }[]
    >`SELECT action FROM audit_entries WHERE target = ${made.id} ORDER BY id`;
    expect(rows.map(({ action }) => action)).toEqual(['token.create', 'token.revoke']);
  });

  it('refuses a token itself and an unknown id, in one line', async () => {
    expect(await cli.run('token', 'revoke', 'ot_live_x')).toMatchObject(refusal(/There is no token 'ot_live_x'/));
  });
});

describe('owner', () => {
  it('prints a set-up link until there is an owner, and a link that resets a password', async () => {
    const first = await cli.json('owner', 'setup-link');
    expect(first.link).toMatch(/\/console\/setup#[\w-]{43}$/);
    const second = await cli.json('owner', 'setup-link');
    expect(second.link).not.toBe(first.link);
    expect(await cli.run('owner', 'reset-password', 'nobody@shop.example')).toMatchObject(
      refusal(/Nobody has the address nobody@shop.example here/),
    );
  });
});
