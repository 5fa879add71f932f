// SQL: second factors, which hold a sealed seed and sealed recovery codes.

import { findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface StoredSecondFactor {
  readonly accountId: Uuid;
  readonly secret: string;
  readonly backupCodes: string;
}

/** Stores an unconfirmed second factor. It replaces a former unconfirmed one. */
export async function saveSecondFactor(
  tx: Tx,
  { id, accountId, secret, backupCodes }: StoredSecondFactor & { readonly id: Uuid },
): Promise<void> {
  await tx`
    INSERT INTO second_factors (id, account_id, secret, backup_codes)
    VALUES (${id}, ${accountId}, ${secret}, ${backupCodes})
    ON CONFLICT (account_id) DO UPDATE SET secret = excluded.secret, backup_codes = excluded.backup_codes,
      is_verified = false, last_step = 0`;
}

export async function findSecondFactor(tx: Tx, accountId: Uuid): Promise<StoredSecondFactor | undefined> {
  return findRow(tx`
    SELECT account_id, secret, backup_codes FROM second_factors WHERE account_id = ${accountId}`);
}

/**
 * Accepts a time step of an authenticator once. False: this step or a later one was accepted
 * before.
 */
export async function spendTotpStep(tx: Tx, accountId: Uuid, step: number): Promise<boolean> {
  const result = await tx`
    UPDATE second_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}`;
  return result.count === 1;
}

export async function updateRecoveryCodes(tx: Tx, accountId: Uuid, backupCodes: string): Promise<void> {
  await tx`UPDATE second_factors SET backup_codes = ${backupCodes} WHERE account_id = ${accountId}`;
}

/** Confirms a second factor: sign-ins ask for it from now on. */
export async function enableSecondFactor(tx: Tx, clock: Clock, accountId: Uuid): Promise<void> {
  await tx`UPDATE second_factors SET is_verified = true WHERE account_id = ${accountId}`;
  await tx`UPDATE accounts SET two_factor_enabled = true, updated_at = ${clock.now} WHERE id = ${accountId}`;
}

export async function deleteSecondFactor(tx: Tx, clock: Clock, accountId: Uuid): Promise<void> {
  await tx`UPDATE accounts SET two_factor_enabled = false, updated_at = ${clock.now} WHERE id = ${accountId}`;
  await tx`DELETE FROM second_factors WHERE account_id = ${accountId}`;
}

/** Lists second factors, after an account, whose records do not begin with `prefix`. */
export async function listSecondFactorsBefore(
  sql: Sql,
  prefix: string,
  afterId: Uuid,
  limit: number,
): Promise<StoredSecondFactor[]> {
  return sql`
    SELECT account_id, secret, backup_codes FROM second_factors
    WHERE account_id > ${afterId} AND NOT (starts_with(secret, ${prefix}) AND starts_with(backup_codes, ${prefix}))
    ORDER BY account_id LIMIT ${limit}`;
}

/** Replaces a second factor, unless it was changed since it was read. False: it was changed. */
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
