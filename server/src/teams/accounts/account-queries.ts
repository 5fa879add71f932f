// SQL: accounts, their ways to sign in, and their membership of organisations.

import { type Fragment, findRow, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from './roles.ts';

/** Stores an account. The address is in lower case. False: there is an account of this address. */
export async function insertAccount(
  tx: Tx,
  clock: Clock,
  { id, email, name }: { readonly id: Uuid; readonly email: string; readonly name: string },
): Promise<boolean> {
  const result = await tx`
    INSERT INTO accounts (id, email, name, created_at, updated_at)
    VALUES (${id}, ${email}, ${name}, ${nowOf(tx, clock)}, ${nowOf(tx, clock)}) ON CONFLICT (email) DO NOTHING`;
  return result.count === 1;
}

/** Makes an account a member of an organisation. False: it is a member already. */
export async function insertMember(
  tx: Tx,
  clock: Clock,
  { organisationId, accountId, role }: { organisationId: Uuid; accountId: Uuid; role: Role },
): Promise<boolean> {
  const result = await tx`
    INSERT INTO members (org_id, account_id, role, created_at, updated_at)
    VALUES (${organisationId}, ${accountId}, ${role}, ${nowOf(tx, clock)}, ${nowOf(tx, clock)})
    ON CONFLICT (org_id, account_id) DO NOTHING`;
  return result.count === 1;
}

export interface Account {
  readonly id: Uuid;
  /** The organisation that the person joined first; null: none. */
  readonly organisationId: Uuid | null;
  readonly email: string;
  readonly name: string;
  readonly twoFactorEnabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const accountColumns = (sql: Sql | Tx): Fragment => sql`
  a.id, a.email, a.name, a.two_factor_enabled, a.created_at, a.updated_at,
  (SELECT m.org_id FROM members m WHERE m.account_id = a.id ORDER BY m.created_at, m.org_id LIMIT 1) AS organisation_id`;

/** Finds an account by its address, in lower case. */
export async function findAccountByEmail(sql: Sql | Tx, email: string): Promise<Account | undefined> {
  return findRow(sql`SELECT ${accountColumns(sql)} FROM accounts a WHERE a.email = ${email}`);
}

export async function findAccount(sql: Sql | Tx, id: Uuid): Promise<Account | undefined> {
  return findRow(sql`SELECT ${accountColumns(sql)} FROM accounts a WHERE a.id = ${id}`);
}

/**
 * Locks an account until the transaction ends, so that changes of its password or second factor and
 * beginnings of sessions run one after the other.
 */
export async function lockAccount(tx: Tx, id: Uuid): Promise<Account | undefined> {
  return findRow(tx`
    SELECT ${accountColumns(tx)} FROM accounts a WHERE a.id = ${id} FOR NO KEY UPDATE OF a`);
}

/** Sets an account's password, as its hash. */
export async function savePassword(tx: Tx, clock: Clock, accountId: Uuid, id: Uuid, hash: string): Promise<void> {
  await tx`
    INSERT INTO account_logins (id, account_id, provider, subject, password_hash, created_at, updated_at)
    VALUES (${id}, ${accountId}, 'credential', ${accountId}, ${hash}, ${clock.now}, ${clock.now})
    ON CONFLICT (provider, subject) DO UPDATE SET password_hash = excluded.password_hash, updated_at = excluded.updated_at`;
}

/** Finds the hash of an account's password; null: it has none. */
export async function findPasswordHash(sql: Sql | Tx, accountId: Uuid): Promise<string | null> {
  const [row] = await sql<{ passwordHash: string }[]>`
    SELECT password_hash FROM account_logins WHERE account_id = ${accountId} AND provider = 'credential'`;
  return row?.passwordHash ?? null;
}
