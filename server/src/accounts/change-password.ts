// A person changes their own password: every session ends, and a new one begins.
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, transaction } from '../database/db.ts';
import { encodeId, mintUuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { findPasswordHash, savePassword } from './account-queries.ts';
import type { Passwords } from './password.ts';
import { deleteSessionsOf, insertSession } from './queries.ts';
import { hashSecret, mintSecret, type Session } from './session.ts';

export interface PasswordChange {
  readonly current: string;
  readonly next: string;
  readonly address: string;
  readonly userAgent: string | null;
}

/**
 * Changes the password and returns the token of a new session. Throws the 401 for a wrong present
 * one. A person who came in by OpenID Connect has none, and gets one by a reset link.
 */
export async function changePassword(
  { sql, txSql, clock, passwords, by }: Audited & { sql: Sql; txSql: Sql; clock: Clock; passwords: Passwords },
  { accountId, organisationId }: Session,
  { current, next, address, userAgent }: PasswordChange,
): Promise<string> {
  const former = await findPasswordHash(sql, accountId);
  if (former === null || !(await passwords.verify(former, current))) throw new ApiError('wrong_credentials');
  const hash = await passwords.hash(next);
  const token = mintSecret();
  await transaction(txSql, async (tx) => {
    // Somebody else may have changed it while it was checked.
    if ((await findPasswordHash(tx, accountId)) !== former) throw new ApiError('wrong_credentials');
    await savePassword(tx, clock, accountId, mintUuid(clock.nowMs()), hash);
    await deleteSessionsOf(tx, accountId);
    const session = { id: mintUuid(clock.nowMs()), tokenHash: hashSecret(token), accountId, address, userAgent };
    await insertSession(tx, clock, session);
    const target = encodeId('acc', accountId);
    await recordAudit({ tx, clock, by }, { appId: null, orgId: organisationId, action: 'password.change', target });
  });
  return token;
}
