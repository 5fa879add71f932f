// second factors while the master key is rotated. Made under one key, they open beside the
// next one, are sealed again, and then open under the next one alone.
import { randomBytes } from 'node:crypto';
import { transaction } from '@carillon/postgres';
import { expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { insertAccount, insertMember, savePassword } from '../../src/teams/accounts/account-queries.ts';
import { createFactorSeal } from '../../src/teams/accounts/factor-seal.ts';
import { createPasswords } from '../../src/teams/accounts/password.ts';
import { findSession } from '../../src/teams/accounts/queries.ts';
import { beginSecondFactor, resealSecondFactors } from '../../src/teams/accounts/second-factor.ts';
import { hashSecret } from '../../src/teams/accounts/session.ts';
import { finishSignIn, signIn } from '../../src/teams/accounts/sign-in.ts';
import type { AuthKeys } from '../../src/teams/accounts/signed-token.ts';
import { setup } from '../setup.ts';
import { firstOrganisationId } from './console.ts';

const t = await setup({ workers: false });
const passwords = createPasswords(4);
const factorsOf = (keys: AuthKeys) => createFactorSeal(createSeal(keys.key, keys.previous), keys);
const depsOf = (keys: AuthKeys) => ({
  sql: t.sql,
  txSql: t.sql,
  clock: t.clock,
  by: t.by,
  passwords,
  factors: factorsOf(keys),
});
const visit = { address: '127.0.0.1', userAgent: null };

it('R-45 a recovery code made under the former master key works during and after its rotation', async () => {
  const [former, next] = [randomBytes(32), randomBytes(32)];
  const person = { email: 'anna@shop.example', password: 'a long password' };
  const accountId = mintUuid();
  const hash = await passwords.hash(person.password);
  await transaction(t.sql, async (tx) => {
    await insertAccount(tx, t.clock, { id: accountId, email: person.email, name: 'Anna' });
    await insertMember(tx, t.clock, { organisationId: firstOrganisationId, accountId, role: 'owner' });
    await savePassword(tx, t.clock, accountId, mintUuid(), hash);
  });
  const signedIn = await signIn(depsOf({ key: former }), person, visit);
  const session = await findSession(t.sql, t.clock, hashSecret('session' in signedIn ? signedIn.session : ''));
  if (!session) throw new Error('nobody was let in');
  const { recoveryCodes } = await beginSecondFactor(depsOf({ key: former }), session, person.password);
  await t.sql`UPDATE second_factors SET is_verified = true`;
  await t.sql`UPDATE accounts SET two_factor_enabled = true`;

  const enter = async (keys: AuthKeys, code: string) => {
    const first = await signIn(depsOf(keys), person, visit);
    const secret = 'step' in first ? first.step : null;
    return finishSignIn(depsOf(keys), { secret, code, isRecovery: true }, visit);
  };
  const [one = '', two = '', three = ''] = recoveryCodes;
  const both = { key: next, previous: former };
  expect(await enter(both, one)).toMatch(/^[\w-]{43}$/);
  expect((await resealSecondFactors({ sql: t.sql, factors: factorsOf(both) })).unreadable).toEqual([]);
  const again = await resealSecondFactors({ sql: t.sql, factors: factorsOf(both) });
  expect(again.count).toBe(0);
  expect(await enter({ key: next }, two)).toMatch(/^[\w-]{43}$/);
  await expect(enter({ key: former }, three)).rejects.toThrow();
});
