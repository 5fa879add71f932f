// SQL: operator tokens as people list, make and revoke them.

import type { Clock } from '../database/clock.ts';
import type { Fragment, Sql, Tx } from '../database/db.ts';
import type { MintedToken } from '../ground/checked-token.ts';
import type { Uuid } from '../ground/ids.ts';
import type { OperatorToken } from './queries.ts';
import type { Role } from './roles.ts';

const tokenColumns = (tx: Tx): Fragment => tx`
  id, org_id AS organisation_id, name, role, start, last4, created_by, created_at, last_used_at, revoked_at`;

export async function insertToken(
  tx: Tx,
  clock: Clock,
  token: { id: Uuid; organisationId: Uuid; name: string; role: Role; minted: MintedToken; createdBy: string },
): Promise<void> {
  const { id, organisationId, name, role, minted, createdBy } = token;
  await tx`
    INSERT INTO operator_tokens (id, org_id, name, role, hash, start, last4, created_by, created_at)
    VALUES (${id}, ${organisationId}, ${name}, ${role}, ${minted.hash}, ${minted.start}, ${minted.last4},
      ${createdBy}, ${clock.now})`;
}

/** Lists the tokens of an organisation, newest first. */
export async function listTokens(sql: Sql, organisationId: Uuid): Promise<OperatorToken[]> {
  return sql<OperatorToken[]>`
    SELECT ${tokenColumns(sql)} FROM operator_tokens WHERE org_id = ${organisationId} ORDER BY id DESC`;
}

export async function findToken(tx: Tx, organisationId: Uuid, id: Uuid): Promise<OperatorToken | undefined> {
  const [token] = await tx<OperatorToken[]>`
    SELECT ${tokenColumns(tx)} FROM operator_tokens WHERE org_id = ${organisationId} AND id = ${id}`;
  return token;
}

/** Revokes a token. False: there is none, or it was revoked before. */
export async function revokeTokenRow(tx: Tx, clock: Clock, organisationId: Uuid, id: Uuid): Promise<boolean> {
  const result = await tx`
    UPDATE operator_tokens SET revoked_at = ${clock.now}
    WHERE org_id = ${organisationId} AND id = ${id} AND revoked_at IS NULL`;
  return result.count === 1;
}
