// A person changes their own password: every session and every link to reset the password ends, and
// a new session begins.

import { transaction } from '@carillon/postgres';
import { ApiError } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { findPasswordHash, savePassword } from './account-queries.ts';
import { beginSession, endSessions, type Visit } from './begin-session.ts';
import { refuseCommonPassword } from './common-passwords.ts';
import { endLinks } from './link-queries.ts';
import type { Session } from './session.ts';
import { lockVerified, type SignInDeps } from './sign-in.ts';

/**
 * Changes the password and returns the token of a new session. Throws the 401 for a wrong present
 * password. A person of OpenID Connect has no password, and gets one by a reset link.
 */
export async function changePassword(
  { sql, txSql, clock, passwords, by }: Omit<SignInDeps, 'factors'> & Audited,
  { accountId }: Session,
  { current, next }: { readonly current: string; readonly next: string },
  visit: Visit,
): Promise<string> {
  await refuseCommonPassword(next, 'next');
  const former = await findPasswordHash(sql, accountId);
  if (!(await passwords.verify(former, current))) throw new ApiError('wrong_credentials');
  const hash = await passwords.hash(next);
  return transaction(txSql, async (tx) => {
    const account = await lockVerified(tx, accountId, former);
    await savePassword(tx, clock, accountId, mintUuid(clock.nowMs()), hash);
    await endSessions({ tx }, accountId);
    await endLinks(tx, clock, 'reset', accountId);
    const change = { appId: null, orgId: account.organisationId, action: 'password.change' } as const;
    await recordAudit({ tx, clock, by }, { ...change, target: encodeId('acc', accountId) });
    return beginSession({ tx, clock }, account, visit);
  });
}
