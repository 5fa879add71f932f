// Operator tokens, which scripts use instead of a session (contract 19). The text of a new token is
// returned once and stored nowhere. A revoked token is refused at the next request.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintToken } from '../../ground/secrets/checked-token.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { describeActor, personIdOf } from '../audit/actor.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Role } from './roles.ts';
import { findToken, insertToken, type ListedToken, revokeTokenRow } from './token-queries.ts';

export const tokenPrefix = 'ot_live_';

interface TokenDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

export interface NewToken {
  readonly token: ListedToken;
  /** The complete token, shown once. */
  readonly text: string;
}

/** Makes a token of a role in an organisation. */
export async function createToken(
  deps: TokenDeps,
  { organisationId, name, role }: { readonly organisationId: Uuid; readonly name: string; readonly role: Role },
): Promise<NewToken> {
  const { sql, clock, by } = deps;
  const id = mintUuid(clock.nowMs());
  const minted = mintToken(tokenPrefix);
  return transaction(sql, async (tx) => {
    const maker = { createdBy: describeActor(by), creatorId: personIdOf(by) };
    await insertToken(tx, clock, { id, organisationId, name, role, minted, ...maker });
    const after = { name, role, start: minted.start, last4: minted.last4 };
    const target = encodeId('tok', id);
    await recordAudit({ ...deps, tx }, { appId: null, orgId: organisationId, action: 'token.create', target, after });
    const token = await findToken(tx, organisationId, id);
    if (!token) throw new Error('the token was not stored');
    return { token, text: minted.text };
  });
}

/**
 * Revokes a token now. A second call is no error and keeps the first instant. Undefined: the
 * organisation has no such token.
 */
export async function revokeToken(
  deps: TokenDeps,
  { organisationId, id }: { readonly organisationId: Uuid; readonly id: Uuid },
): Promise<ListedToken | undefined> {
  return transaction(deps.sql, async (tx) => {
    if (await revokeTokenRow(tx, deps.clock, organisationId, id)) {
      const target = encodeId('tok', id);
      await recordAudit({ ...deps, tx }, { appId: null, orgId: organisationId, action: 'token.revoke', target });
    }
    return findToken(tx, organisationId, id);
  });
}
