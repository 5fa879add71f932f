// SQL: the step between password and second factor. The browser has its secret, and the database
// the hash.

import { findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/** Stores a step of a person who has shown the password. */
export async function insertStep(
  tx: Tx,
  clock: Clock,
  { id, secretHash, accountId, seconds }: { id: Uuid; secretHash: Buffer; accountId: Uuid; seconds: number },
): Promise<void> {
  await tx`
    INSERT INTO login_steps (id, identifier, value, expires_at)
    VALUES (${id}, ${secretHash.toString('hex')}, ${accountId}, ${clock.now} + ${seconds} * interval '1 second')`;
}

/** Finds the account of a step that has not ended. */
export async function findStepAccountId(sql: Sql | Tx, clock: Clock, secretHash: Buffer): Promise<Uuid | undefined> {
  return findValue(sql`
    SELECT value FROM login_steps WHERE identifier = ${secretHash.toString('hex')} AND expires_at > ${clock.now}`);
}

/** Uses a step up. False: it has ended. So only one of two racing requests succeeds. */
export async function useStep(tx: Tx, clock: Clock, secretHash: Buffer): Promise<boolean> {
  const result = await tx`
    DELETE FROM login_steps WHERE identifier = ${secretHash.toString('hex')} AND expires_at > ${clock.now}`;
  return result.count === 1;
}

/** Ends the steps of a person. */
export async function deleteStepsOf(tx: Tx, accountId: Uuid): Promise<void> {
  await tx`DELETE FROM login_steps WHERE value = ${accountId}`;
}

/**
 * Deletes the steps of sign-ins that were never finished, failures that delay nobody any more, and
 * sessions that have ended.
 */
export async function deleteOldSteps(sql: Sql): Promise<void> {
  await sql`DELETE FROM login_steps WHERE expires_at < now() - interval '1 day'`;
  await sql`DELETE FROM login_failures WHERE last_at < now() - interval '1 day'`;
  await sql`DELETE FROM account_sessions WHERE created_at < now() - interval '8 days'`;
}
