// SQL: second factors that are encrypted with a former master key.
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';

export interface StoredSecondFactor {
  readonly accountId: Uuid;
  readonly secret: string;
  readonly backupCodes: string;
}

/** Lists second factors, after an account, that do not begin with the present key's name. */
export async function listSecondFactorsBefore(
  sql: Sql,
  prefix: string,
  afterId: Uuid,
  limit: number,
): Promise<StoredSecondFactor[]> {
  return sql<StoredSecondFactor[]>`
    SELECT account_id, secret, backup_codes FROM second_factors
    WHERE account_id > ${afterId} AND NOT (starts_with(secret, ${prefix}) AND starts_with(backup_codes, ${prefix}))
    ORDER BY account_id LIMIT ${limit}`;
}

/** Replaces a second factor that nobody has changed since it was read. False: somebody has. */
export async function replaceSecondFactor(
  sql: Sql,
  { accountId, secret, backupCodes }: StoredSecondFactor,
  sealed: { readonly secret: string; readonly backupCodes: string },
): Promise<boolean> {
  const result = await sql`
    UPDATE second_factors SET secret = ${sealed.secret}, backup_codes = ${sealed.backupCodes}
    WHERE account_id = ${accountId} AND secret = ${secret} AND backup_codes = ${backupCodes}`;
  return result.count === 1;
}
