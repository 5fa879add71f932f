// Sign-in by OpenID Connect (contract 19). An account belongs to an identity by issuer and subject.
// An e-mail address alone opens no existing account: the person must prove the password first. A
// new person needs a verified address, and also a link, an invitation or an allowed domain.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { z } from 'zod';
import type { OidcConfig } from '../../config.ts';
import { type Clock, readNowMs } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { inOneLine } from '../../ground/values/one-line.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { findAccountByEmail, insertAccount, insertMember } from './account-queries.ts';
import { beginSession, personOf, type Visit } from './begin-session.ts';
import { findLink, hasOwner, lockOrganisation, useLink } from './link-queries.ts';
import type { Identity } from './oidc-client.ts';
import type { WaitingIdentity } from './oidc-proof.ts';
import { findAccountByIdentity, findInviteOf, saveIdentity } from './oidc-queries.ts';
import type { Role } from './roles.ts';
import { hashSecret, type Session } from './session.ts';

interface EnterDeps {
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly settings: Pick<OidcConfig, 'domains' | 'role'>;
  /** The organisation of people who are admitted without a link. */
  readonly organisationId: Uuid;
}

interface Arrival extends Visit {
  readonly identity: Identity;
  /** The secret of a link that the person opened before; null: none. */
  readonly link: string | null;
}

/**
 * `unverified`: the provider does not vouch for the address. `confirm`: an account has this
 * address, and its person proves the password before the two are linked. `atMs`: the time of this
 * result, by the database's clock, which also dates sessions. Two clocks would differ by some
 * milliseconds.
 */
export type Entry =
  | { readonly token: string; readonly email: string }
  | { readonly refusal: 'unverified' | 'not_invited' }
  | { readonly refusal: 'confirm'; readonly email: string; readonly atMs: number };

/** Admits a person whose identity was checked, in one transaction with the audit entries. */
export async function enterByOidc(deps: EnterDeps, arrival: Arrival): Promise<Entry> {
  const { identity, address, userAgent } = arrival;
  const { email, isVerified } = identity;
  if (email === null || !isVerified || !isAddress(email)) return { refusal: 'unverified' };
  const { txSql, clock } = deps;
  return transaction<Entry>(txSql, async (tx, rollback) => {
    const link = arrival.link === null ? undefined : await findLink(tx, clock, hashSecret(arrival.link));
    // Under the lock, callbacks run one after the other, so that of two first sign-ins only one
    // makes the account.
    await lockOrganisation(tx, link?.organisationId ?? deps.organisationId);
    const known = await findAccountByIdentity(tx, identity);
    const toConfirm = async () =>
      ({ refusal: 'confirm', email, atMs: Math.floor(await readNowMs(tx, clock)) }) as const;
    if (!known && (await findAccountByEmail(tx, email))) return toConfirm();
    const accountId = known?.id ?? mintUuid(clock.nowMs());
    const account = { id: accountId, email: known?.email ?? email };
    const audited = { tx, clock, by: personOf(account, address) };
    let organisationId = known?.organisationId ?? null;
    if (organisationId === null) {
      const admission = await admit(deps, tx, { email, link: arrival.link });
      if (!admission) return { refusal: 'not_invited' };
      organisationId = admission.organisationId;
      // Another organisation's transaction may just have made an account with the address.
      const isKnown = known || (await makeAccount({ tx, clock }, { ...identity, id: accountId, email }));
      if (!isKnown) return rollback(await toConfirm());
      await insertMember(tx, clock, { organisationId, accountId, role: admission.role });
      const after = { role: admission.role, by: 'oidc' };
      const target = encodeId('acc', accountId);
      await recordAudit(audited, { appId: null, orgId: organisationId, action: 'member.join', target, after });
    }
    const entered = { ...account, organisationId };
    const token = await beginSession(audited, entered, { address, userAgent, isByOidc: true, after: { by: 'oidc' } });
    return { token, email: account.email };
  });
}

/**
 * Links an identity to the account of a session. The session began with the account's password
 * after the provider's answer. Throws the 400 for another address, an older session, or an identity
 * of another account.
 */
export async function linkIdentity(
  { txSql, clock, by }: Audited & { readonly txSql: Sql; readonly clock: Clock },
  session: Session,
  identity: WaitingIdentity,
): Promise<void> {
  const isProved = !session.isByOidc && session.createdAt.getTime() >= identity.atMs;
  if (session.email !== identity.email || !isProved) {
    throw refuse('Sign in by the password of the account that has this address, then link it.');
  }
  await transaction(txSql, async (tx) => {
    const { issuer, subject } = identity;
    const { accountId, organisationId: orgId } = session;
    const row = { id: mintUuid(clock.nowMs()), accountId, issuer, subject };
    if (!(await saveIdentity(tx, clock, row))) throw refuse('Another account has this identity.');
    const target = encodeId('acc', accountId);
    await recordAudit({ tx, clock, by }, { appId: null, orgId, action: 'oidc.link', target, after: { issuer } });
  });
}

/**
 * Returns whether an address belongs to one of the domains: the text after the last @, exactly.
 * Pure.
 */
export function isOfDomain(email: string, domains: readonly string[]): boolean {
  const at = email.lastIndexOf('@');
  return at > 0 && domains.includes(email.slice(at + 1));
}

interface Admission {
  readonly organisationId: Uuid;
  readonly role: Role;
}

async function admit(
  { clock, settings, organisationId }: EnterDeps,
  tx: Tx,
  { email, link: secret }: { readonly email: string; readonly link: string | null },
): Promise<Admission | undefined> {
  const link = secret === null ? undefined : await findLink(tx, clock, hashSecret(secret));
  const isForThem = link && link.kind !== 'reset' && (link.email === null || link.email === email);
  if (isForThem && link.organisationId && link.role && !(link.kind === 'setup' && (await hasOwner(tx)))) {
    if (await useLink(tx, clock, link.id)) return { organisationId: link.organisationId, role: link.role };
  }
  const invite = await findInviteOf(tx, clock, { organisationId, email });
  if (invite && (await useLink(tx, clock, invite.id))) return { organisationId, role: invite.role };
  if (isOfDomain(email, settings.domains)) return { organisationId, role: settings.role };
  return undefined;
}

/** False: an account with the address exists. */
async function makeAccount(
  { tx, clock }: { readonly tx: Tx; readonly clock: Clock },
  { id, email, name, issuer, subject }: Identity & { readonly id: Uuid; readonly email: string },
): Promise<boolean> {
  const shown = [...inOneLine(name ?? email, ' ').toWellFormed()].slice(0, 128).join('').trim();
  if (!(await insertAccount(tx, clock, { id, email, name: shown || email.slice(0, 128) }))) return false;
  return saveIdentity(tx, clock, { id: mintUuid(clock.nowMs()), accountId: id, issuer, subject });
}

function isAddress(email: string): boolean {
  return z.email().max(254).safeParse(email).success;
}

function refuse(message: string) {
  return invalid([{ path: [], code: 'invalid_value', message }]);
}
