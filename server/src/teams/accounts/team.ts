// The members of an organisation: their roles, and their leaving. The organisation's row is locked
// first, so that two owners cannot remove each other at once: the last owner stays.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { changedMeanwhile, invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { endSessions } from './begin-session.ts';
import {
  deleteAccountWithoutMembership,
  deleteMember,
  endInvites,
  listMembers,
  lockOrganisation,
  type Member,
  type Organisation,
  updateMemberRole,
  updateOrganisation,
} from './link-queries.ts';
import { isAtLeast, type Role } from './roles.ts';
import { type ListedToken, listTokens } from './token-queries.ts';

interface TeamDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

interface Place {
  readonly organisationId: Uuid;
  readonly accountId: Uuid;
  /**
   * The role of the caller. A caller cannot change a member with a higher role, or give a higher
   * role.
   */
  readonly callerRole: Role;
}

/**
 * Changes a member's role, and ends the member's sessions, because a new role begins with a new
 * token. A lower role also withdraws the open invitations that the member made. Returns the
 * tokens of a former owner. Throws the 404 for a stranger, and the 400 for the last owner.
 */
export async function changeRole(
  deps: TeamDeps,
  place: Place,
  { role, check }: { readonly role: Role; check(member: Member): void },
): Promise<readonly ListedToken[]> {
  return withMember(deps, place, async (tx, member, owners) => {
    check(member);
    if (member.role === role) return [];
    checkRank(place.callerRole, role);
    if (member.role === 'owner' && owners === 1) throw lastOwner();
    const { organisationId, accountId } = place;
    await updateMemberRole(tx, deps.clock, { organisationId, accountId, role });
    await endSessions({ tx }, accountId);
    if (!isAtLeast(role, member.role)) {
      await recordWithdrawn(
        { ...deps, tx },
        organisationId,
        await endInvites(tx, deps.clock, { organisationId, accountId, email: null }),
      );
    }
    await recordAudit(
      { ...deps, tx },
      {
        appId: null,
        orgId: organisationId,
        action: 'member.role',
        target: encodeId('acc', accountId),
        before: { role: member.role },
        after: { role },
      },
    );
    return listOrphanedTokens(tx, place);
  });
}

/**
 * Removes a member, ends the sessions, and withdraws the open invitations by and for the member.
 * Without another organisation the account is deleted too, so that a later invitation can make it
 * again. Throws the 404 for a stranger, the 400 for the last owner.
 */
export async function removeMember(deps: TeamDeps, place: Place): Promise<readonly ListedToken[]> {
  return withMember(deps, place, async (tx, member, owners) => {
    if (member.role === 'owner' && owners === 1) throw lastOwner();
    const { organisationId, accountId } = place;
    await deleteMember(tx, organisationId, accountId);
    await endSessions({ tx }, accountId);
    const { email } = member;
    // An invitation to a verified address works without its link (OpenID Connect).
    const invites = await endInvites(tx, deps.clock, { organisationId, accountId, email });
    await recordWithdrawn({ ...deps, tx }, organisationId, invites);
    await deleteAccountWithoutMembership(tx, accountId);
    await recordAudit(
      { ...deps, tx },
      {
        appId: null,
        orgId: organisationId,
        action: 'member.remove',
        target: encodeId('acc', accountId),
        before: { role: member.role },
      },
    );
    return listOrphanedTokens(tx, place);
  });
}

/**
 * The tokens of a former owner go on working, because scripts may need them. They are offered to an
 * owner for revoking, because only owners see tokens.
 */
async function listOrphanedTokens(
  tx: Tx,
  { organisationId, accountId, callerRole }: Place,
): Promise<readonly ListedToken[]> {
  if (callerRole !== 'owner') return [];
  const tokens = await listTokens(tx, organisationId);
  return tokens.filter((each) => each.creatorId === accountId && each.isOrphaned && each.revokedAt === null);
}

/** Changes an organisation's name, or whether its members need a second factor. */
export async function editOrganisation(
  deps: TeamDeps,
  id: Uuid,
  edit: { readonly name?: string | undefined; readonly requireTwoFactor?: boolean | undefined; readonly seenAt: Date },
): Promise<void> {
  await transaction(deps.sql, async (tx) => {
    const former = await lockOrganisation(tx, id);
    if (!former) throw notFound();
    if (former.updatedAt.getTime() !== edit.seenAt.getTime()) throw changedMeanwhile(presentOrganisation(former));
    const { name = former.name, requireTwoFactor = former.requireTwoFactor } = edit;
    if (name === former.name && requireTwoFactor === former.requireTwoFactor) return;
    await updateOrganisation(tx, deps.clock, { id, name, requireTwoFactor });
    const before = { name: former.name, require_two_factor: former.requireTwoFactor };
    const after = { name, require_two_factor: requireTwoFactor };
    const target = encodeId('org', id);
    await recordAudit({ ...deps, tx }, { appId: null, orgId: id, action: 'organisation.edit', target, before, after });
  });
}

/** Shapes an organisation for an answer. */
export function presentOrganisation({ id, name, requireTwoFactor, updatedAt }: Organisation) {
  return { id: encodeId('org', id), name, require_two_factor: requireTwoFactor, updated_at: updatedAt };
}

/** Throws the 400 for a role above the caller's own. */
export function checkRank(callerRole: Role, role: Role): void {
  if (isAtLeast(callerRole, role)) return;
  const message = `You are ${callerRole}: you cannot give or take the role ${role}.`;
  throw invalid([{ path: ['role'], code: 'invalid_value', message }]);
}

/** A kept link would otherwise give the person the lost rights back. */
async function recordWithdrawn(
  deps: Audited & { readonly tx: Tx; readonly clock: Clock },
  orgId: Uuid,
  invites: Awaited<ReturnType<typeof endInvites>>,
): Promise<void> {
  for (const { id, email } of invites) {
    const change = { appId: null, orgId, action: 'invite.withdraw' } as const;
    await recordAudit(deps, { ...change, target: encodeId('inv', id), before: { email } });
  }
}

async function withMember<Result>(
  { sql }: TeamDeps,
  { organisationId, accountId, callerRole }: Place,
  work: (tx: Tx, member: Member, owners: number) => Promise<Result>,
): Promise<Result> {
  return transaction(sql, async (tx) => {
    await lockOrganisation(tx, organisationId);
    const members = await listMembers(tx, organisationId);
    const member = members.find((each) => each.accountId === accountId);
    if (!member) throw notFound(`No member ${encodeId('acc', accountId)} in this organisation.`);
    checkRank(callerRole, member.role);
    return work(tx, member, members.filter(({ role }) => role === 'owner').length);
  }) as Promise<Result>;
}

function lastOwner() {
  const message = 'The last owner stays: make somebody else an owner first.';
  return invalid([{ path: [], code: 'in_use', message }]);
}
