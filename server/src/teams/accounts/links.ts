// Links that admit a person once: the first owner, an invited person, or a person who lost the
// password. Carillon sends no e-mail; a link is shown to be copied. The database has the hash of
// its secret.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { type ApiError, invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { describeActor, personIdOf } from '../audit/actor.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import {
  type Account,
  findAccount,
  findAccountByEmail,
  insertAccount,
  insertMember,
  savePassword,
} from './account-queries.ts';
import { beginSession, endSessions, personOf, type Visit } from './begin-session.ts';
import { refuseCommonPassword } from './common-passwords.ts';
import {
  endLinks,
  findLink,
  findOrganisation,
  hasOwner,
  insertLink,
  type Link,
  lockOrganisation,
  updateOrganisation,
  useLink,
} from './link-queries.ts';
import { forgetFailures } from './login-limit.ts';
import type { Passwords } from './password.ts';
import type { Role } from './roles.ts';
import { hashSecret, mintSecret } from './session.ts';

export const inviteHours = 72;
const resetHours = 1;

interface LinkDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

export interface MadeLink {
  readonly id: Uuid;
  /** The secret at the end of the link. It is shown only here. */
  readonly secret: string;
}

/** The page of a link. The secret follows `#`, so that it reaches no server's log. */
export function linkPath(kind: Link['kind'], secret: string): string {
  return `/console/${kind === 'setup' ? 'setup' : kind === 'invite' ? 'join' : 'reset'}#${secret}`;
}

/** The e-mail address as accounts have it. */
export function emailOf(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * Makes the link of the first owner. An earlier link stops working. Throws the 400 when there is an
 * owner already.
 */
export async function createSetupLink(deps: LinkDeps, organisationId: Uuid): Promise<MadeLink> {
  return transaction(deps.sql, async (tx) => {
    await lockOrganisation(tx, organisationId);
    if (await hasOwner(tx)) {
      throw invalid([{ path: [], code: 'invalid_value', message: 'There is an owner already.' }]);
    }
    await endLinks(tx, deps.clock, 'setup', null);
    return makeLink({ ...deps, tx }, { kind: 'setup', organisationId, role: 'owner', hours: null });
  });
}

/** Makes a link that resets the password of this address. Throws the 404 if it has no account. */
export async function createResetLink(deps: LinkDeps, email: string): Promise<MadeLink> {
  return transaction(deps.sql, async (tx) => {
    const account = await findAccountByEmail(tx, emailOf(email));
    if (!account) throw notFound(`Nobody has the address ${email.slice(0, 80)} here.`);
    await endLinks(tx, deps.clock, 'reset', account.id);
    const { id: accountId, organisationId } = account;
    return makeLink({ ...deps, tx }, { kind: 'reset', organisationId, accountId, hours: resetHours });
  });
}

/** Makes an invitation to an organisation, for one address or for anyone who has the link. */
export async function createInvite(
  deps: LinkDeps,
  {
    organisationId,
    email,
    role,
  }: { readonly organisationId: Uuid; readonly email: string | null; readonly role: Role },
): Promise<MadeLink> {
  return transaction(deps.sql, (tx) =>
    makeLink(
      { ...deps, tx },
      { kind: 'invite', organisationId, email: email && emailOf(email), role, hours: inviteHours },
    ),
  );
}

async function makeLink(
  deps: Audited & { readonly tx: Tx; readonly clock: Clock },
  link: {
    readonly kind: Link['kind'];
    readonly organisationId: Uuid | null;
    readonly email?: string | null;
    readonly role?: Role;
    readonly accountId?: Uuid;
    readonly hours: number | null;
  },
): Promise<MadeLink> {
  const { tx, clock, by } = deps;
  const { kind, organisationId, email = null, role = null, accountId = null, hours } = link;
  const [id, secret] = [mintUuid(clock.nowMs()), mintSecret()];
  const createdBy = describeActor(by);
  await insertLink(tx, clock, {
    id,
    tokenHash: hashSecret(secret),
    kind,
    organisationId,
    email,
    role,
    accountId,
    createdBy,
    creatorId: personIdOf(by),
    hours,
  });
  const target = accountId ? encodeId('acc', accountId) : encodeId('inv', id);
  const action = kind === 'invite' ? 'invite.create' : 'link.create';
  const after = kind === 'invite' ? { email, role } : { kind };
  await recordAudit(deps, { appId: null, orgId: organisationId, action, target, after });
  return { id, secret };
}

interface EnterDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly passwords: Passwords;
}

/** The fields that the person fills in on the link's page. */
export interface Entrance extends Visit {
  readonly secret: string;
  readonly password: string;
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly organisation?: string | undefined;
}

/** Finds a valid link. Throws the 404, with the same text for every reason. */
export async function getLink({ sql, clock }: Pick<EnterDeps, 'sql' | 'clock'>, secret: string): Promise<Link> {
  const link = await findLink(sql, clock, hashSecret(secret));
  if (!link) throw deadLink();
  return link;
}

/**
 * Admits a person by a link: makes the account or sets its password, and opens a session. All in
 * one transaction, after the password was hashed.
 */
export async function enterByLink(deps: EnterDeps, kind: Link['kind'], entrance: Entrance): Promise<Entered> {
  const { txSql, clock } = deps;
  const link = await getLink(deps, entrance.secret);
  if (link.kind !== kind) throw deadLink();
  await refuseCommonPassword(entrance.password, 'password');
  const hash = await deps.passwords.hash(entrance.password);
  return transaction(txSql, async (tx) => {
    if (link.organisationId) await lockOrganisation(tx, link.organisationId);
    if (!(await useLink(tx, clock, link.id))) throw deadLink();
    const account = kind === 'reset' ? await resetOf(tx, link) : await joinOf({ tx, clock }, link, entrance);
    const by = personOf(account, entrance.address);
    await savePassword(tx, clock, account.id, mintUuid(clock.nowMs()), hash);
    // An earlier session may belong to another person who knew the lost password.
    await endSessions({ tx }, account.id);
    await forgetFailures(tx, account.email);
    const change = { appId: null, orgId: account.organisationId, target: encodeId('acc', account.id) };
    if (kind === 'reset') await recordAudit({ tx, clock, by }, { ...change, action: 'password.reset' });
    else await recordAudit({ tx, clock, by }, { ...change, action: 'member.join', after: { role: link.role } });
    if (kind === 'setup' && change.orgId)
      await nameOrganisation({ tx, clock, by }, change.orgId, entrance.organisation ?? '');
    const token = account.twoFactorEnabled ? null : await beginSession({ tx, clock }, account, entrance);
    return { email: account.email, token };
  });
}

export interface Entered {
  readonly email: string;
  /** The token of the session; null: a person with a second factor has to sign in. */
  readonly token: string | null;
}

type Person = Pick<Account, 'id' | 'organisationId' | 'email' | 'twoFactorEnabled'>;

async function resetOf(tx: Tx, { accountId }: Link): Promise<Person> {
  const account = accountId ? await findAccount(tx, accountId) : undefined;
  if (!account) throw deadLink();
  return account;
}

async function joinOf(
  { tx, clock }: { readonly tx: Tx; readonly clock: Clock },
  link: Link,
  { email: given, name }: Entrance,
): Promise<Person> {
  const { organisationId, role } = link;
  if (!organisationId || !role) throw deadLink();
  if (link.kind === 'setup' && (await hasOwner(tx))) throw deadLink();
  const email = link.email ?? emailOf(given ?? '');
  if (!z.email().max(254).safeParse(email).success) {
    throw invalid([{ path: ['email'], code: 'invalid_format', message: 'Give an e-mail address.' }]);
  }
  const id = mintUuid(clock.nowMs());
  if (!(await insertAccount(tx, clock, { id, email, name: name ?? email }))) {
    // A link must not set the password of somebody who has an account.
    throw invalid([{ path: ['email'], code: 'name_taken', message: 'There is an account of this address: sign in.' }]);
  }
  await insertMember(tx, clock, { organisationId, accountId: id, role });
  return { id, organisationId, email, twoFactorEnabled: false };
}

async function nameOrganisation(
  deps: Audited & { readonly tx: Tx; readonly clock: Clock },
  id: Uuid,
  name: string,
): Promise<void> {
  const organisation = await findOrganisation(deps.tx, id);
  if (!organisation || name === '') return;
  await updateOrganisation(deps.tx, deps.clock, { id, name, requireTwoFactor: organisation.requireTwoFactor });
  const target = encodeId('org', id);
  await recordAudit(deps, { appId: null, orgId: id, action: 'organisation.set_up', target, after: { name } });
}

function deadLink(): ApiError {
  return notFound('This link has been used or has expired: ask for another one.');
}
