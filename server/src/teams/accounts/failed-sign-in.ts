// The audit entry of a failed sign-in. A stranger makes the attempt, so its author is the sign-in
// itself, and the account is its target. No typed text is stored, because people type passwords
// into the field of the address.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { findAccountByEmail } from './account-queries.ts';

export interface FailedSignIn {
  /** In lower case; null: no account is named. */
  readonly email: string | null;
  readonly address: string;
  readonly means: 'password' | 'code' | 'recovery_code' | 'oidc';
  readonly reason?: string;
}

interface Deps {
  readonly clock: Clock;
  /** The organisation whose log has the attempts at no account. */
  readonly organisationId: Uuid;
  /** Asked before an entry without an account, because addresses can be invented without end. */
  mayRecordStranger(address: string): boolean;
}

/** Records the failure in the transaction that counts it. */
export async function recordFailedSignIn(
  { tx, clock, organisationId, mayRecordStranger }: Deps & { readonly tx: Tx },
  { email, address, means, reason }: FailedSignIn,
): Promise<void> {
  const account = email === null ? undefined : await findAccountByEmail(tx, email);
  if (!account && !mayRecordStranger(address)) return;
  const by = { kind: 'service', id: null, name: 'sign-in', address } as const;
  const orgId = account ? account.organisationId : organisationId;
  const target = account ? encodeId('acc', account.id) : null;
  const after = { by: means, ...(reason !== undefined && { reason }) };
  await recordAudit({ tx, clock, by }, { appId: null, orgId, action: 'session.refuse', target, after });
}
