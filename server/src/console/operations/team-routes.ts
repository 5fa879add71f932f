// The areas Team and Second factor: the organisation's members, its invitations, and its rule for
// second factors.

import { transaction } from '@carillon/postgres';
import { z } from 'zod';
import { notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, idSchema, instant, lastPage, pageEnd } from '../../ground/http/schemas.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import {
  findOrganisation,
  type Link,
  listInvites,
  listMembers,
  type Member,
  withdrawInvite,
} from '../../teams/accounts/link-queries.ts';
import { createInvite, linkPath } from '../../teams/accounts/links.ts';
import {
  changeRole,
  checkRank,
  editOrganisation,
  presentOrganisation,
  removeMember,
} from '../../teams/accounts/team.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { routesOfOrganisation } from './area.ts';
import type { ConsoleCaller } from './caller.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { accountId, checkSeen, done, emailAddress, oneLine, organisationId, role, seenAt } from './schemas.ts';
import { presentToken, token } from './token-routes.ts';

const memberFields = {
  id: accountId,
  email: z.string(),
  name: z.string(),
  role,
  two_factor: z.boolean(),
  joined_at: instant,
  updated_at: instant,
  last_used_at: instant.nullable().describe('The last request of a session that has not ended.'),
};
const member = component('Member', z.strictObject(memberFields), {
  id: 'acc_02y9GVDsTuJUi2BOoCH5G3',
  email: 'anna@shop.example',
  name: 'Anna',
  role: 'owner',
  two_factor: true,
  joined_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
  last_used_at: null,
});
const inviteFields = {
  id: component('InviteId', idSchema('inv')),
  email: z.string().nullable().describe('Null: the person who opens the link gives an address.'),
  role,
  created_by: z.string(),
  created_at: instant,
  expires_at: instant,
};
const invite = component('Invite', z.strictObject(inviteFields), {
  id: 'inv_02y9GVDsTuJUi2BOoCH5G3',
  email: 'ben@shop.example',
  role: 'member',
  created_by: 'person anna@shop.example',
  created_at: '2026-11-21T10:15:30.123Z',
  expires_at: '2026-11-24T10:15:30.123Z',
});
const organisation = component(
  'Organisation',
  z.strictObject({ id: organisationId, name: z.string(), require_two_factor: z.boolean(), updated_at: instant }),
  {
    id: 'org_02y9GVDsTuJUi2BOoCH5G3',
    name: 'Shop',
    require_two_factor: false,
    updated_at: '2026-11-21T10:15:30.123Z',
  },
);
const orphans = z.array(token).describe('The operator tokens that a former owner leaves: offer to revoke them.');

const route = routesOfOrganisation<'member'>('Team', {
  access: 'session',
  params: { member: { description: 'The id of a member.', example: 'acc_02y9GVDsTuJUi2BOoCH5G3' } },
});

export const teamRoutes = [
  route('getTeam', 'GET /team', {
    least: 'admin',
    summary: 'Members and open invitations of the organisation',
    query: searchedListQuery('An id, or the beginning of an address or a name.'),
    answers: ok(
      'Members oldest first, as pages; invitations newest first, on the first page.',
      component(
        'Team',
        z.strictObject({ organisation, members: z.array(member), invites: z.array(invite), ...pageEnd }),
        {
          organisation: exampleOf(organisation),
          members: [exampleOf(member)],
          invites: [exampleOf(invite)],
          ...lastPage,
        },
      ),
    ),
  }).handle(async ({ sql, clock, cursors }, { caller, query }) => {
    const [found, members, invites] = await Promise.all([
      findOrganisation(sql, caller.organisationId),
      listMembers(sql, caller.organisationId),
      listInvites(sql, clock, caller.organisationId),
    ]);
    if (!found) throw notFound();
    const { data, ...end } = pageOf(cursors, members, query, {
      scope: ['team', caller.organisationId],
      keyOf: ({ joinedAt, accountId }) => [joinedAt.getTime(), accountId],
      idOf: ({ accountId }) => encodeId('acc', accountId),
      textsOf: ({ email, name }) => [email, name],
      present: presentMember,
    });
    const wanted = query.q?.toLowerCase() ?? '';
    const isFound = ({ id, email }: Link): boolean =>
      encodeId('inv', id) === query.q || (email ?? '').startsWith(wanted);
    const open = query.cursor === undefined ? invites.filter(isFound) : [];
    return { organisation: presentOrganisation(found), members: data, invites: open.map(presentInvite), ...end };
  }),
  route('invite', 'POST /team/invites', {
    least: 'admin',
    summary: 'Make an invitation: a link to copy, for one person, within 72 hours',
    body: component(
      'NewInvite',
      z.strictObject({
        email: emailAddress.nullable().optional(),
        role,
      }),
      { email: 'ben@shop.example', role: 'member' },
    ),
    answers: ok(
      'The link, shown this once. No e-mail is sent.',
      component('MadeInvite', z.strictObject({ ...inviteFields, link: z.string() }), {
        ...exampleOf(invite),
        link: 'https://push.shop.example/console/join#…',
      }),
    ),
  }).handle(async ({ sql, txSql, clock, publicUrl }, { caller, body }) => {
    const { by, organisationId: ofOrganisation } = caller;
    checkRank(caller.role, body.role);
    const wanted = { organisationId: ofOrganisation, email: body.email ?? null, role: body.role };
    const made = await createInvite({ sql: txSql, clock, by }, wanted);
    const stored = (await listInvites(sql, clock, ofOrganisation)).find(({ id }) => id === made.id);
    if (!stored) throw notFound();
    return { ...presentInvite(stored), link: `${publicUrl ?? ''}${linkPath('invite', made.secret)}` };
  }),
  route('withdrawInvite', 'DELETE /team/invites/:invite', {
    least: 'admin',
    summary: 'Withdraw an invitation that nobody has accepted',
    params: { invite: { description: 'The id of an invitation.', example: 'inv_02y9GVDsTuJUi2BOoCH5G3' } },
    answers: ok('Withdrawn.', done),
  }).handle(async ({ txSql, clock }, { caller, params }) => {
    const id = decodeId('inv', params.invite);
    const { by, organisationId: orgId } = caller;
    const isWithdrawn = await transaction(txSql, async (tx) => {
      const email = id && (await withdrawInvite(tx, clock, orgId, id));
      if (email === undefined) return false;
      const change = { appId: null, orgId, action: 'invite.withdraw', target: params.invite } as const;
      await recordAudit({ tx, clock, by }, { ...change, before: { email } });
      return true;
    });
    if (!isWithdrawn) throw notFound(`No invitation ${params.invite.slice(0, 80)} in this organisation.`);
    return { done: true as const };
  }),
  route('changeRole', 'PATCH /team/:member', {
    least: 'admin',
    summary: 'Change the role of a member, whose sessions end',
    body: component('RoleChange', z.strictObject({ role, updated_at: seenAt }), {
      role: 'admin',
      updated_at: '2026-11-21T10:15:30.123Z',
    }),
    answers: ok(
      'The member.',
      component('ChangedMember', z.strictObject({ ...memberFields, tokens: orphans }), {
        ...exampleOf(member),
        tokens: [],
      }),
    ),
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller, params, body }) => {
    const place = placeOf(caller, params.member);
    const tokens = await changeRole({ sql: txSql, clock, by: caller.by }, place, {
      role: body.role,
      check: (found) => checkSeen(body.updated_at, found.updatedAt, () => presentMember(found)),
    });
    const now = (await listMembers(sql, caller.organisationId)).find(({ accountId: id }) => id === place.accountId);
    if (!now) throw noMember(params.member);
    return { ...presentMember(now), tokens: tokens.map(presentToken) };
  }),
  route('removeMember', 'DELETE /team/:member', {
    least: 'admin',
    summary: 'Remove a member, whose sessions end',
    answers: ok(
      'Removed.',
      component('RemovedMember', z.strictObject({ done: z.literal(true), tokens: orphans }), {
        done: true,
        tokens: [],
      }),
    ),
  }).handle(async ({ txSql, clock }, { caller, params }) => {
    const tokens = await removeMember({ sql: txSql, clock, by: caller.by }, placeOf(caller, params.member));
    return { done: true as const, tokens: tokens.map(presentToken) };
  }),
  route('editOrganisation', 'PUT /organisation', {
    access: 'session-or-token',
    least: 'owner',
    summary: 'Name the organisation, and say whether its members need a second factor',
    body: component(
      'OrganisationEdit',
      z.strictObject({ name: oneLine.optional(), require_two_factor: z.boolean().optional(), updated_at: seenAt }),
      { require_two_factor: true, updated_at: '2026-11-21T10:15:30.123Z' },
    ),
    answers: ok('The organisation.', organisation),
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller, body }) => {
    const { name, require_two_factor: requireTwoFactor } = body;
    const edit = { name, requireTwoFactor, seenAt: new Date(body.updated_at) };
    await editOrganisation({ sql: txSql, clock, by: caller.by }, caller.organisationId, edit);
    const now = await findOrganisation(sql, caller.organisationId);
    if (!now) throw notFound();
    return presentOrganisation(now);
  }),
];

function placeOf(caller: ConsoleCaller, text: string) {
  const id = decodeId('acc', text);
  if (!id) throw noMember(text);
  return { organisationId: caller.organisationId, accountId: id, callerRole: caller.role };
}

function noMember(text: string) {
  return notFound(`No member ${text.slice(0, 80)} in this organisation.`);
}

function presentMember(one: Member) {
  return {
    id: encodeId('acc', one.accountId),
    email: one.email,
    name: one.name,
    role: one.role,
    two_factor: one.twoFactorEnabled,
    joined_at: one.joinedAt,
    updated_at: one.updatedAt,
    last_used_at: one.lastUsedAt,
  };
}

function presentInvite({ id, email, role: given, createdBy, createdAt, expiresAt }: Link) {
  // An invitation has both fields, by the CHECKs of the table.
  if (!given || !expiresAt) throw new Error('an invitation without role or end');
  return {
    id: encodeId('inv', id),
    email,
    role: given,
    created_by: createdBy,
    created_at: createdAt,
    expires_at: expiresAt,
  };
}
