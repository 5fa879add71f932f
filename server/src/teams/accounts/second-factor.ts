// A person's second factor: made, confirmed by its first code, removed, and sealed again. Each
// change asks for the password or a code, and has an audit entry.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { ApiError, invalid } from '../../ground/http/api-error.ts';
import { type Resealed, resealRows } from '../../ground/secrets/reseal.ts';
import { encodeId, mintUuid, nilUuid } from '../../ground/values/ids.ts';
import type { AuditAction } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { type Account, findPasswordHash, lockAccount } from './account-queries.ts';
import { beginSession, type Visit } from './begin-session.ts';
import type { FactorSeal } from './factor-seal.ts';
import { mintRecoveryCodes, mintSeed, uriOf } from './one-time-codes.ts';
import { deleteSession } from './queries.ts';
import {
  deleteSecondFactor,
  enableSecondFactor,
  listSecondFactorsBefore,
  replaceSecondFactor,
  type StoredSecondFactor,
  saveSecondFactor,
  updateRecoveryCodes,
} from './second-factor-queries.ts';
import type { Session } from './session.ts';
import { lockVerified, type SignInDeps, spendCode } from './sign-in.ts';

type Deps = SignInDeps & Audited;

export interface SecondFactor {
  /** For an authenticator: `otpauth://…`, with the seed. Shown this once. */
  readonly uri: string;
  readonly recoveryCodes: readonly string[];
}

/** Makes a second factor. It counts after its first code. */
export async function beginSecondFactor(deps: Deps, session: Session, password: string): Promise<SecondFactor> {
  return withPassword(deps, session, password, 'two_factor.begin', async (tx, { id: accountId, ...account }) => {
    if (account.twoFactorEnabled) throw refuse('in_use', 'Your second factor counts already: remove it first.');
    const [seed, recoveryCodes] = [mintSeed(), mintRecoveryCodes()];
    await saveSecondFactor(tx, {
      id: mintUuid(deps.clock.nowMs()),
      accountId,
      secret: deps.factors.seal(accountId, 'secret', seed),
      backupCodes: deps.factors.seal(accountId, 'backup_codes', JSON.stringify(recoveryCodes)),
    });
    return { uri: uriOf(seed, account.email), recoveryCodes };
  });
}

/** Confirms the second factor by its first code. Returns the session's new token. */
export async function confirmSecondFactor(deps: Deps, session: Session, code: string, visit: Visit): Promise<string> {
  return transaction(deps.txSql, async (tx) => {
    const account = await lockAccount(tx, session.accountId);
    if (!account) throw new ApiError('wrong_credentials');
    if (account.twoFactorEnabled) throw refuse('in_use', 'Your second factor counts already.');
    await spendCode({ ...deps, tx }, account, { code, isRecovery: false });
    await enableSecondFactor(tx, deps.clock, account.id);
    await record({ ...deps, tx }, account, 'two_factor.enable');
    return renewSession({ ...deps, tx }, account, session, visit);
  });
}

/** Removes the second factor. Returns the session's new token. */
export async function removeSecondFactor(
  deps: Deps,
  session: Session,
  password: string,
  visit: Visit,
): Promise<string> {
  return withPassword(deps, session, password, 'two_factor.disable', async (tx, account) => {
    await deleteSecondFactor(tx, deps.clock, account.id);
    return renewSession({ ...deps, tx }, account, session, visit);
  });
}

/** Makes new recovery codes. The former ones become invalid. */
export async function renewRecoveryCodes(deps: Deps, session: Session, password: string): Promise<readonly string[]> {
  return withPassword(deps, session, password, 'two_factor.renew_codes', async (tx, { id, twoFactorEnabled }) => {
    if (!twoFactorEnabled) throw refuse('invalid_value', 'You have no second factor.');
    const codes = mintRecoveryCodes();
    await updateRecoveryCodes(tx, id, deps.factors.seal(id, 'backup_codes', JSON.stringify(codes)));
    return codes;
  });
}

const resealedAtOnce = 100;

/**
 * Seals second factors whose records do not begin with `prefix`: those under a former master key
 * (`carillon seal rotate`, R-45), or those of earlier releases.
 */
export async function resealSecondFactors(
  { sql, factors }: { readonly sql: Sql; readonly factors: FactorSeal },
  prefix = factors.prefix,
): Promise<Resealed> {
  const again = (id: string, column: 'secret' | 'backup_codes', record: string): string =>
    factors.seal(id, column, factors.open(id, column, record));
  return resealRows<StoredSecondFactor>({
    list: (after) => listSecondFactorsBefore(sql, prefix, after?.accountId ?? nilUuid, resealedAtOnce),
    replace: async (row) => {
      const { accountId: id, secret, backupCodes } = row;
      const sealed = { secret: again(id, 'secret', secret), backupCodes: again(id, 'backup_codes', backupCodes) };
      return replaceSecondFactor(sql, row, sealed);
    },
    nameOf: ({ accountId }) => `the second factor of ${encodeId('acc', accountId)}`,
  });
}

/** Verifies the password, then does the work and records it in one transaction. */
async function withPassword<Result>(
  deps: Deps,
  { accountId }: Session,
  password: string,
  action: AuditAction,
  work: (tx: Tx, account: Account) => Promise<Result>,
): Promise<Result> {
  const hash = await findPasswordHash(deps.sql, accountId);
  if (!(await deps.passwords.verify(hash, password))) throw new ApiError('wrong_credentials');
  return transaction(deps.txSql, async (tx) => {
    const account = await lockVerified(tx, accountId, hash);
    const result = await work(tx, account);
    await record({ ...deps, tx }, account, action);
    return result;
  }) as Promise<Result>;
}

/** After its second factor changed, a session continues under a new token. */
async function renewSession(
  { tx, clock }: Deps & { readonly tx: Tx },
  account: Account,
  { id }: Session,
  visit: Visit,
): Promise<string> {
  await deleteSession(tx, account.id, id);
  return beginSession({ tx, clock }, account, visit);
}

async function record(deps: Deps & { readonly tx: Tx }, { id, organisationId: orgId }: Account, action: AuditAction) {
  await recordAudit(deps, { appId: null, orgId, action, target: encodeId('acc', id) });
}

function refuse(code: 'in_use' | 'invalid_value', message: string): ApiError {
  return invalid([{ path: [], code, message }]);
}
