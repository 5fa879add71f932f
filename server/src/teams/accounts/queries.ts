// SQL: sessions and operator tokens, which every request of the console reads.

import { type Fragment, findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from './roles.ts';
import { idleHoursMax, type Session, sessionDaysMax } from './session.ts';

/** The condition that a session has not ended. */
const isAlive = (tx: Tx, clock: Clock): Fragment => tx`
  s.created_at > ${clock.now} - ${sessionDaysMax} * interval '1 day'
  AND s.last_used_at > ${clock.now} - ${idleHoursMax} * interval '1 hour'`;

/** Finds a session that has not ended, of a person who is still a member. */
export async function findSession(sql: Sql, clock: Clock, tokenHash: Buffer): Promise<Session | undefined> {
  return findRow(sql`
    SELECT s.id, s.account_id, a.email, a.name, a.two_factor_enabled AS has_second_factor, s.created_at, s.last_used_at,
      s.org_id AS organisation_id, o.name AS organisation_name, o.require_two_factor AS needs_second_factor, m.role, s.is_by_oidc
    FROM account_sessions s
    JOIN accounts a ON a.id = s.account_id
    JOIN members m ON m.account_id = s.account_id AND m.org_id = s.org_id
    JOIN organisations o ON o.id = s.org_id
    WHERE s.token_hash = ${tokenHash} AND ${isAlive(sql, clock)}`);
}

/** The rights of a session or an operator token at this moment. */
export interface PresentCaller
  extends Pick<Session, 'organisationId' | 'role' | 'needsSecondFactor' | 'hasSecondFactor' | 'isByOidc'> {
  /** The id of the session or of the token. */
  readonly id: Uuid;
}

/** Finds those of these sessions and tokens that have not ended. */
export async function listPresentCallers(
  sql: Sql,
  clock: Clock,
  { sessionIds, tokenIds }: { readonly sessionIds: readonly Uuid[]; readonly tokenIds: readonly Uuid[] },
): Promise<Map<Uuid, PresentCaller>> {
  const rows = await sql<PresentCaller[]>`
    SELECT s.id, s.org_id AS organisation_id, m.role, o.require_two_factor AS needs_second_factor,
      a.two_factor_enabled AS has_second_factor, s.is_by_oidc
    FROM account_sessions s
    JOIN accounts a ON a.id = s.account_id
    JOIN members m ON m.account_id = s.account_id AND m.org_id = s.org_id
    JOIN organisations o ON o.id = s.org_id
    WHERE s.id = ANY(${sessionIds}::uuid[]) AND ${isAlive(sql, clock)}
    UNION ALL
    SELECT id, org_id, role, false, false, false FROM operator_tokens
    WHERE id = ANY(${tokenIds}::uuid[]) AND revoked_at IS NULL`;
  return new Map(rows.map((row) => [row.id, row]));
}

export interface NewSession {
  readonly id: Uuid;
  readonly tokenHash: Buffer;
  readonly accountId: Uuid;
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly isByOidc?: boolean;
}

/** Stores a session. It works in the organisation that the person joined first. */
export async function insertSession(tx: Tx, clock: Clock, session: NewSession): Promise<void> {
  const { id, tokenHash, accountId, address, userAgent, isByOidc = false } = session;
  await tx`
    INSERT INTO account_sessions (id, token_hash, account_id, org_id, address, user_agent, created_at, last_used_at,
      is_by_oidc)
    VALUES (${id}, ${tokenHash}, ${accountId},
      (SELECT org_id FROM members WHERE account_id = ${accountId} ORDER BY created_at, org_id LIMIT 1),
      ${address}, ${userAgent}, ${clock.now}, ${clock.now}, ${isByOidc})`;
}

/** Records that a session was used; callers do so at most once a minute. */
export async function touchSession(sql: Sql, clock: Clock, id: Uuid): Promise<void> {
  await sql`UPDATE account_sessions SET last_used_at = ${clock.now} WHERE id = ${id}`;
}

/** Ends one session of an account. False: it has none with this id. */
export async function deleteSession(tx: Tx, accountId: Uuid, id: Uuid): Promise<boolean> {
  const result = await tx`DELETE FROM account_sessions WHERE account_id = ${accountId} AND id = ${id}`;
  return result.count > 0;
}

export interface ListedSession {
  readonly id: Uuid;
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
}

/** Lists the sessions of an account that have not ended, newest first. */
export async function listSessions(sql: Sql, clock: Clock, accountId: Uuid): Promise<ListedSession[]> {
  return sql`
    SELECT id, address, user_agent, created_at, last_used_at FROM account_sessions s
    WHERE account_id = ${accountId} AND ${isAlive(sql, clock)}
    ORDER BY created_at DESC, id DESC`;
}

/** Ends all sessions of an account. */
export async function deleteSessionsOf(tx: Tx, accountId: Uuid): Promise<void> {
  await tx`DELETE FROM account_sessions WHERE account_id = ${accountId}`;
}

export interface OperatorToken {
  readonly id: Uuid;
  readonly organisationId: Uuid;
  readonly name: string;
  readonly role: Role;
  readonly start: string;
  readonly last4: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Finds an operator token by its hash. A revoked one is not found. */
export async function findTokenByHash(sql: Sql, hash: Buffer): Promise<OperatorToken | undefined> {
  return findRow(sql`
    SELECT id, org_id AS organisation_id, name, role, start, last4, created_by, created_at, last_used_at, revoked_at
    FROM operator_tokens WHERE hash = ${hash} AND revoked_at IS NULL`);
}

/** Records that a token was used; callers do so at most once a minute. */
export async function touchToken(sql: Sql, clock: Clock, id: Uuid): Promise<void> {
  await sql`UPDATE operator_tokens SET last_used_at = ${clock.now} WHERE id = ${id}`;
}
