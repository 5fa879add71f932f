// second factors while the master key is rotated. Made under one key, they open beside the
// next one, are encrypted again, and then open under the next one alone.
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { insertAccount, insertMember, savePassword } from '../../src/accounts/account-queries.ts';
import { createAuth } from '../../src/accounts/auth.ts';
import { createPasswords } from '../../src/accounts/password.ts';
import { resealSecondFactors } from '../../src/accounts/reseal-second-factors.ts';
import { type AuthKeys, authSecretsOf } from '../../src/accounts/signed-token.ts';
import { transaction } from '../../src/database/db.ts';
import { mintUuid } from '../../src/ground/ids.ts';
import { setup } from '../setup.ts';
import { firstOrganisationId } from './console.ts';

const t = await setup({ workers: false });
const passwords = createPasswords(4);
const authOf = (keys: AuthKeys) =>
  createAuth({ sql: t.sql, txSql: t.sql, clock: t.clock, passwords, secrets: authSecretsOf(keys) });
const nobody = { session: null, step: null, address: '127.0.0.1', userAgent: null };

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
  const before = authOf({ key: former });
  const signedIn = await before.signIn(nobody, person);
  const session = 'session' in signedIn ? signedIn.session : '';
  const { recoveryCodes } = await before.beginSecondFactor({ ...nobody, session }, accountId, person.password);
  await t.sql`UPDATE second_factors SET is_verified = true`;
  await t.sql`UPDATE accounts SET two_factor_enabled = true`;

  const enter = async (keys: AuthKeys, code: string) => {
    const auth = authOf(keys);
    const first = await auth.signIn(nobody, person);
    const step = 'step' in first ? first.step : '';
    return auth.verifyStep({ ...nobody, step }, code, 'recovery');
  };
  const [one = '', two = '', three = ''] = recoveryCodes;
  const both = { key: next, previous: former };
  expect(await enter(both, one)).toHaveProperty('session');
  expect((await resealSecondFactors({ sql: t.sql, keys: both })).unreadable).toEqual([]);
  const again = await resealSecondFactors({ sql: t.sql, keys: both });
  expect(again.count).toBe(0);
  expect(await enter({ key: next }, two)).toHaveProperty('session');
  await expect(enter({ key: former }, three)).rejects.toThrow();
});
