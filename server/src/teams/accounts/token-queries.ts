// SQL: operator tokens as people list, make and revoke them.

import { type Fragment, findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { MintedToken } from '../../ground/secrets/checked-token.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { OperatorToken } from './queries.ts';
import type { Role } from './roles.ts';

/** A token as people see it. */
export interface ListedToken extends OperatorToken {
  /** The account of its maker; null: the command line made it. */
  readonly creatorId: Uuid | null;
  /** Its maker is no owner of the organisation any more. */
  readonly isOrphaned: boolean;
}

const tokenColumns = (tx: Tx): Fragment => tx`
  t.id, t.org_id AS organisation_id, t.name, t.role, t.start, t.last4, t.created_by, t.creator_id, t.created_at,
  t.last_used_at, t.revoked_at, t.creator_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM members m WHERE m.org_id = t.org_id AND m.account_id = t.creator_id AND m.role = 'owner') AS is_orphaned`;

export async function insertToken(
  tx: Tx,
  clock: Clock,
  token: {
    id: Uuid;
    organisationId: Uuid;
    name: string;
    role: Role;
    minted: MintedToken;
    createdBy: string;
    creatorId: Uuid | null;
  },
): Promise<void> {
  const { id, organisationId, name, role, minted, createdBy, creatorId } = token;
  await tx`
    INSERT INTO operator_tokens (id, org_id, name, role, hash, start, last4, created_by, creator_id, created_at)
    VALUES (${id}, ${organisationId}, ${name}, ${role}, ${minted.hash}, ${minted.start}, ${minted.last4},
      ${createdBy}, ${creatorId}, ${clock.now})`;
}

/** Lists the tokens of an organisation, newest first. */
export async function listTokens(sql: Sql | Tx, organisationId: Uuid): Promise<ListedToken[]> {
  return sql`
    SELECT ${tokenColumns(sql)} FROM operator_tokens t WHERE t.org_id = ${organisationId} ORDER BY t.id DESC`;
}

export async function findToken(tx: Tx, organisationId: Uuid, id: Uuid): Promise<ListedToken | undefined> {
  return findRow(tx`
    SELECT ${tokenColumns(tx)} FROM operator_tokens t WHERE t.org_id = ${organisationId} AND t.id = ${id}`);
}

/** Revokes a token. False: there is none, or it was revoked before. */
export async function revokeTokenRow(tx: Tx, clock: Clock, organisationId: Uuid, id: Uuid): Promise<boolean> {
  const result = await tx`
    UPDATE operator_tokens SET revoked_at = ${clock.now}
    WHERE org_id = ${organisationId} AND id = ${id} AND revoked_at IS NULL`;
  return result.count === 1;
}
