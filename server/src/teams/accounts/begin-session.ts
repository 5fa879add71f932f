// Begins and ends the sessions of a person. Both lock the account first. So a change that ends a
// person's sessions also ends a sign-in that another transaction is finishing.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Actor } from '../audit/actor.ts';
import type { AuditFields } from '../audit/entry.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { type Account, lockAccount } from './account-queries.ts';
import { deleteSessionsOf, insertSession } from './queries.ts';
import { hashSecret, mintSecret } from './session.ts';
import { deleteStepsOf } from './step-queries.ts';

/** The browser that a session begins in. */
export interface Visit {
  readonly address: string;
  readonly userAgent: string | null;
}

interface Deps {
  readonly tx: Tx;
  readonly clock: Clock;
}

/** The person as the author of a change. */
export function personOf({ id, email }: Pick<Account, 'id' | 'email'>, address: string): Actor {
  return { kind: 'person', id: encodeId('acc', id), name: email, address };
}

/** Begins a session with its audit entry. Returns its token. */
export async function beginSession(
  { tx, clock }: Deps,
  { id: accountId, email, organisationId }: Pick<Account, 'id' | 'email' | 'organisationId'>,
  { address, userAgent, isByOidc = false, after }: Visit & { isByOidc?: boolean; after?: AuditFields },
): Promise<string> {
  const token = mintSecret();
  const session = { id: mintUuid(clock.nowMs()), tokenHash: hashSecret(token), accountId, address, userAgent };
  await insertSession(tx, clock, { ...session, isByOidc });
  const by = personOf({ id: accountId, email }, address);
  const target = encodeId('acc', accountId);
  const begin = { appId: null, orgId: organisationId, action: 'session.begin', target } as const;
  await recordAudit({ tx, clock, by }, { ...begin, ...(after && { after }) });
  return token;
}

/** Ends a person's sessions, and the sign-ins that wait for a second factor. */
export async function endSessions({ tx }: Pick<Deps, 'tx'>, accountId: Uuid): Promise<void> {
  await lockAccount(tx, accountId);
  await deleteSessionsOf(tx, accountId);
  await deleteStepsOf(tx, accountId);
}
