// Signing in by a password and, if the person has one, a second factor. Between the two the browser
// has the secret of a step, which is good only for the second factor.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { type Account, findAccount, findAccountByEmail, findPasswordHash, lockAccount } from './account-queries.ts';
import { beginSession, personOf, type Visit } from './begin-session.ts';
import type { FactorSeal } from './factor-seal.ts';
import { findTotpStep } from './one-time-codes.ts';
import type { Passwords } from './password.ts';
import { findSecondFactor, spendTotpStep, updateRecoveryCodes } from './second-factor-queries.ts';
import { hashSecret, mintSecret } from './session.ts';
import { findStepAccountId, insertStep, useStep } from './step-queries.ts';

export interface SignInDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly factors: FactorSeal;
}

/** The secret of a session, or of the step after the password. */
export type SignedIn = { readonly session: string } | { readonly step: string };

export interface ShownCode {
  readonly code: string;
  readonly isRecovery: boolean;
}

/** Seconds for the second factor. */
export const stepSeconds = 180;

/** Throws the 401, with the same text and after the same time for every reason. */
export async function signIn(
  { sql, txSql, clock, passwords }: SignInDeps,
  { email, password }: { readonly email: string; readonly password: string },
  visit: Visit,
): Promise<SignedIn> {
  const found = await findAccountByEmail(sql, email);
  const hash = found ? await findPasswordHash(sql, found.id) : null;
  if (!(await passwords.verify(hash, password)) || !found) throw new ApiError('wrong_credentials');
  return transaction<SignedIn>(txSql, async (tx) => {
    const account = await lockVerified(tx, found.id, hash);
    if (!account.twoFactorEnabled) {
      return { session: await beginSession({ tx, clock }, account, { ...visit, after: { second_factor: false } }) };
    }
    const [id, secret] = [mintUuid(clock.nowMs()), mintSecret()];
    await insertStep(tx, clock, { id, secretHash: hashSecret(secret), accountId: account.id, seconds: stepSeconds });
    return { step: secret };
  });
}

/** Finds the account whose password opened a step. */
export async function findAccountOfStep(
  { sql, clock }: Pick<SignInDeps, 'sql' | 'clock'>,
  secret: string | null,
): Promise<Account | undefined> {
  const id = secret === null ? undefined : await findStepAccountId(sql, clock, hashSecret(secret));
  return id === undefined ? undefined : findAccount(sql, id);
}

/** The second step of a sign-in. Returns the session's token. A code works once. */
export async function finishSignIn(
  { txSql, clock, factors }: SignInDeps,
  { secret, ...shown }: ShownCode & { readonly secret: string | null },
  visit: Visit,
): Promise<string> {
  if (secret === null) throw new ApiError('wrong_credentials');
  return transaction(txSql, async (tx) => {
    const id = await findStepAccountId(tx, clock, hashSecret(secret));
    const account = id === undefined ? undefined : await lockAccount(tx, id);
    if (!account?.twoFactorEnabled) throw new ApiError('wrong_credentials');
    await spendCode({ tx, clock, factors, by: personOf(account, visit.address) }, account, shown);
    // A step that ended before the lock does not exist any more.
    if (!(await useStep(tx, clock, hashSecret(secret)))) throw new ApiError('wrong_credentials');
    return beginSession({ tx, clock }, account, { ...visit, after: { second_factor: true } });
  });
}

/** Uses up a code of the account's second factor. Throws the 401 for a wrong or used code. */
export async function spendCode(
  { tx, clock, factors, by }: Audited & { tx: Tx; clock: Clock; factors: FactorSeal },
  { id, organisationId: orgId }: Pick<Account, 'id' | 'organisationId'>,
  { code, isRecovery }: ShownCode,
): Promise<void> {
  const factor = await findSecondFactor(tx, id);
  if (!factor) throw new ApiError('wrong_credentials');
  if (!isRecovery) {
    // The time comes from the service's clock, because the host's may be wrong. A step is
    // accepted once, so that an observed code cannot be used again (RFC 6238, section 5.2).
    const step = findTotpStep(factors.open(id, 'secret', factor.secret), code, clock.nowMs());
    if (step === undefined || !(await spendTotpStep(tx, id, step))) throw new ApiError('wrong_credentials');
    return;
  }
  const codes = JSON.parse(factors.open(id, 'backup_codes', factor.backupCodes).toString()) as string[];
  if (!codes.includes(code)) throw new ApiError('wrong_credentials');
  const left = JSON.stringify(codes.filter((each) => each !== code));
  await updateRecoveryCodes(tx, id, factors.seal(id, 'backup_codes', left));
  const target = encodeId('acc', id);
  await recordAudit({ tx, clock, by }, { appId: null, orgId, action: 'two_factor.use_code', target });
}

/**
 * Locks an account whose password was verified outside of the transaction. Throws the 401 if the
 * password has been changed since, or the person removed.
 */
export async function lockVerified(tx: Tx, id: Uuid, hash: string | null): Promise<Account> {
  const account = await lockAccount(tx, id);
  if (!account || (await findPasswordHash(tx, id)) !== hash) throw new ApiError('wrong_credentials');
  return account;
}
