// SQL: identities at a provider of OpenID Connect, and the invitations that their addresses have.

import { findRow, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from './roles.ts';

interface Key {
  readonly issuer: string;
  readonly subject: string;
}

/** An issuer is an address without a space, so the first space ends it. */
const subjectText = ({ issuer, subject }: Key): string => `${issuer} ${subject}`;

export interface KnownPerson {
  readonly id: Uuid;
  readonly email: string;
  /** The organisation that the person joined first; null: none. */
  readonly organisationId: Uuid | null;
}

/** Finds the account of an identity, only by issuer and subject. */
export async function findAccountByIdentity(tx: Sql | Tx, key: Key): Promise<KnownPerson | undefined> {
  return findRow(tx`
    SELECT a.id, a.email,
      (SELECT m.org_id FROM members m WHERE m.account_id = a.id ORDER BY m.created_at, m.org_id LIMIT 1) AS organisation_id
    FROM account_logins l JOIN accounts a ON a.id = l.account_id
    WHERE l.provider = 'oidc' AND l.subject = ${subjectText(key)}`);
}

/** Replaces an account's identity. False: another account has the new identity. */
export async function saveIdentity(
  tx: Tx,
  clock: Clock,
  { id, accountId, ...key }: Key & { readonly id: Uuid; readonly accountId: Uuid },
): Promise<boolean> {
  await tx`DELETE FROM account_logins WHERE account_id = ${accountId} AND provider = 'oidc'`;
  const result = await tx`
    INSERT INTO account_logins (id, account_id, provider, subject, created_at, updated_at)
    VALUES (${id}, ${accountId}, 'oidc', ${subjectText(key)}, ${nowOf(tx, clock)}, ${nowOf(tx, clock)})
    ON CONFLICT (provider, subject) DO NOTHING`;
  return result.count === 1;
}

/** Finds the newest invitation of this address that still works. */
export async function findInviteOf(
  tx: Tx,
  clock: Clock,
  { organisationId, email }: { readonly organisationId: Uuid; readonly email: string },
): Promise<{ readonly id: Uuid; readonly role: Role } | undefined> {
  return findRow(tx`
    SELECT id, role FROM account_links
    WHERE kind = 'invite' AND org_id = ${organisationId} AND email = ${email} AND used_at IS NULL
      AND expires_at > ${clock.now}
    ORDER BY id DESC LIMIT 1`);
}

/** Whether an account's password was set within the last hour. */
export async function hasNewPassword(sql: Sql, clock: Clock, email: string): Promise<boolean> {
  const rows = await sql`
    SELECT FROM account_logins l JOIN accounts a ON a.id = l.account_id
    WHERE a.email = ${email} AND l.provider = 'credential' AND l.updated_at > ${clock.now} - interval '1 hour'`;
  return rows.length > 0;
}
