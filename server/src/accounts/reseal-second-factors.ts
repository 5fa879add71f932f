// Encrypts second factors with the present master key, for `carillon seal rotate`. A service
// that knows both keys opens both meanwhile.
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Sql } from '../database/db.ts';
import { encodeId, nilUuid } from '../ground/ids.ts';
import { type Resealed, resealRows } from '../ground/reseal.ts';
import { SealError } from '../ground/seal.ts';
import { listSecondFactorsBefore, replaceSecondFactor, type StoredSecondFactor } from './reseal-queries.ts';
import { type AuthKeys, authSecretsOf } from './signed-token.ts';

const resealedAtOnce = 100;

export async function resealSecondFactors({ sql, keys }: { sql: Sql; keys: AuthKeys }): Promise<Resealed> {
  const secrets = authSecretsOf(keys);
  const [present] = secrets;
  const key = {
    currentVersion: present.version,
    keys: new Map(secrets.map(({ version, value }) => [version, value])),
  };
  const again = async (data: string): Promise<string> => {
    const opened = await symmetricDecrypt({ key, data }).catch(() => {
      throw new SealError('no key opens a second factor');
    });
    return symmetricEncrypt({ key, data: opened });
  };
  return resealRows<StoredSecondFactor>({
    list: (after) =>
      listSecondFactorsBefore(sql, `$ba$${present.version}$`, after?.accountId ?? nilUuid, resealedAtOnce),
    replace: async (row) =>
      replaceSecondFactor(sql, row, { secret: await again(row.secret), backupCodes: await again(row.backupCodes) }),
    nameOf: ({ accountId }) => `the second factor of ${encodeId('acc', accountId)}`,
  });
}
