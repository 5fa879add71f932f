// SQL: links that work once, and the organisations that they lead to.

import { type Fragment, findRow, findValue, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from './roles.ts';

export type LinkKind = 'setup' | 'invite' | 'reset';

export interface Link {
  readonly id: Uuid;
  readonly kind: LinkKind;
  readonly organisationId: Uuid | null;
  readonly organisationName: string | null;
  readonly email: string | null;
  readonly role: Role | null;
  readonly accountId: Uuid | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const linkColumns = (sql: Sql | Tx): Fragment => sql`
  l.id, l.kind, l.org_id AS organisation_id, o.name AS organisation_name, l.email, l.role, l.account_id, l.created_by,
  l.created_at, l.expires_at`;

export async function insertLink(
  tx: Tx,
  clock: Clock,
  link: {
    id: Uuid;
    tokenHash: Buffer;
    kind: LinkKind;
    organisationId: Uuid | null;
    email: string | null;
    role: Role | null;
    accountId: Uuid | null;
    createdBy: string;
    /** The account of the member who made it. */
    creatorId: Uuid | null;
    hours: number | null;
  },
): Promise<void> {
  const { id, tokenHash, kind, organisationId, email, role, accountId, createdBy, creatorId, hours } = link;
  await tx`
    INSERT INTO account_links
      (id, token_hash, kind, org_id, email, role, account_id, created_by, creator_id, created_at, expires_at)
    VALUES (${id}, ${tokenHash}, ${kind}, ${organisationId}, ${email}, ${role}, ${accountId}, ${createdBy}, ${creatorId},
      ${clock.now}, ${clock.now} + ${hours}::float8 * interval '1 hour')`;
}

/** Finds a link that still works. */
export async function findLink(sql: Sql | Tx, clock: Clock, tokenHash: Buffer): Promise<Link | undefined> {
  return findRow(sql`
    SELECT ${linkColumns(sql)} FROM account_links l LEFT JOIN organisations o ON o.id = l.org_id
    WHERE l.token_hash = ${tokenHash} AND l.used_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > ${clock.now})`);
}

/**
 * Uses a link up. False: it was used or has expired. So only one of two racing requests succeeds.
 */
export async function useLink(tx: Tx, clock: Clock, id: Uuid): Promise<boolean> {
  const result = await tx`
    UPDATE account_links SET used_at = ${clock.now}
    WHERE id = ${id} AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ${clock.now})`;
  return result.count === 1;
}

/** Ends the unused links of a kind: of one account, or with null of all. */
export async function endLinks(tx: Tx, clock: Clock, kind: LinkKind, accountId: Uuid | null): Promise<void> {
  await tx`
    UPDATE account_links SET used_at = ${clock.now}
    WHERE kind = ${kind} AND used_at IS NULL AND account_id IS NOT DISTINCT FROM ${accountId}`;
}

/** Lists the invitations to an organisation that still work, newest first. */
export async function listInvites(sql: Sql, clock: Clock, organisationId: Uuid): Promise<Link[]> {
  return sql`
    SELECT ${linkColumns(sql)} FROM account_links l LEFT JOIN organisations o ON o.id = l.org_id
    WHERE l.kind = 'invite' AND l.org_id = ${organisationId} AND l.used_at IS NULL AND l.expires_at > ${clock.now}
    ORDER BY l.id DESC`;
}

/** Withdraws an invitation; undefined: there is none that still works. */
export async function withdrawInvite(
  tx: Tx,
  clock: Clock,
  organisationId: Uuid,
  id: Uuid,
): Promise<string | null | undefined> {
  return findValue(tx`
    UPDATE account_links SET used_at = ${clock.now}
    WHERE kind = 'invite' AND org_id = ${organisationId} AND id = ${id} AND used_at IS NULL RETURNING email`);
}

/**
 * Ends and returns the open invitations of an organisation that a member made or that are for an
 * address; null: for no address.
 */
export async function endInvites(
  tx: Tx,
  clock: Clock,
  { organisationId, accountId, email }: { organisationId: Uuid; accountId: Uuid; email: string | null },
): Promise<{ readonly id: Uuid; readonly email: string | null }[]> {
  return tx`
    UPDATE account_links SET used_at = ${clock.now}
    WHERE kind = 'invite' AND org_id = ${organisationId} AND (creator_id = ${accountId} OR email = ${email})
      AND used_at IS NULL AND expires_at > ${clock.now}
    RETURNING id, email`;
}

export interface Organisation {
  readonly id: Uuid;
  readonly name: string;
  readonly requireTwoFactor: boolean;
  readonly updatedAt: Date;
}

export async function findOrganisation(sql: Sql | Tx, id: Uuid): Promise<Organisation | undefined> {
  return findRow(sql`
    SELECT id, name, require_two_factor, updated_at FROM organisations WHERE id = ${id}`);
}

/**
 * Locks an organisation until the transaction ends, so that changes of its members follow each
 * other.
 */
export async function lockOrganisation(tx: Tx, id: Uuid): Promise<Organisation | undefined> {
  return findRow(tx`
    SELECT id, name, require_two_factor, updated_at FROM organisations WHERE id = ${id} FOR UPDATE`);
}

export async function updateOrganisation(
  tx: Tx,
  clock: Clock,
  { id, name, requireTwoFactor }: Omit<Organisation, 'updatedAt'>,
): Promise<void> {
  await tx`
    UPDATE organisations SET name = ${name}, require_two_factor = ${requireTwoFactor}, updated_at = ${nowOf(tx, clock)}
    WHERE id = ${id}`;
}

/** Whether any organisation has an owner. The console is then set up. */
export async function hasOwner(sql: Sql | Tx): Promise<boolean> {
  return (await sql`SELECT FROM members WHERE role = 'owner' LIMIT 1`).length > 0;
}

export interface Member {
  readonly accountId: Uuid;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly twoFactorEnabled: boolean;
  readonly joinedAt: Date;
  readonly updatedAt: Date;
  readonly lastUsedAt: Date | null;
}

/** Lists the members of an organisation, oldest first. */
export async function listMembers(sql: Sql | Tx, organisationId: Uuid): Promise<Member[]> {
  return sql`
    SELECT m.account_id, a.email, a.name, m.role, a.two_factor_enabled, m.created_at AS joined_at, m.updated_at,
      (SELECT max(s.last_used_at) FROM account_sessions s WHERE s.account_id = m.account_id) AS last_used_at
    FROM members m JOIN accounts a ON a.id = m.account_id
    WHERE m.org_id = ${organisationId} ORDER BY m.created_at, m.account_id`;
}

export async function updateMemberRole(
  tx: Tx,
  clock: Clock,
  { organisationId, accountId, role }: { organisationId: Uuid; accountId: Uuid; role: Role },
): Promise<void> {
  await tx`
    UPDATE members SET role = ${role}, updated_at = ${nowOf(tx, clock)}
    WHERE org_id = ${organisationId} AND account_id = ${accountId}`;
}

export async function deleteMember(tx: Tx, organisationId: Uuid, accountId: Uuid): Promise<void> {
  await tx`DELETE FROM members WHERE org_id = ${organisationId} AND account_id = ${accountId}`;
}

/** Deletes an account that is a member of no organisation, so that its address is free again. */
export async function deleteAccountWithoutMembership(tx: Tx, accountId: Uuid): Promise<void> {
  await tx`
    DELETE FROM accounts WHERE id = ${accountId} AND NOT EXISTS (SELECT FROM members WHERE account_id = ${accountId})`;
}
