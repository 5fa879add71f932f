// The area Session: who is signed in, and the sessions of a person, which they can end.

import { transaction } from '@carillon/postgres';
import { z } from 'zod';
import { notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, idSchema, instant, lastPage, pageFields } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import { deleteSession, listSessions } from '../../teams/accounts/queries.ts';
import { lacksSecondFactor } from '../../teams/accounts/session.ts';
import { clearCookie } from '../../teams/accounts/session-cookie.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { type AreaDeps, routesOfOrganisation } from './area.ts';
import { type ConsoleCaller, sessionOf } from './caller.ts';
import { listQuery, pageOf } from './list.ts';
import { accountId, done, organisationId, role } from './schemas.ts';

const sessionId = component('SessionId', idSchema('ses'));
const present = component(
  'PresentSession',
  z.strictObject({
    session_id: sessionId,
    account: z.strictObject({ id: accountId, email: z.string(), name: z.string(), two_factor: z.boolean() }),
    organisation: z.strictObject({ id: organisationId, name: z.string(), require_two_factor: z.boolean() }),
    role,
    must_set_up_two_factor: z.boolean().describe('True: every other route is 403 `second_factor_required`.'),
  }),
  {
    session_id: 'ses_02y9GVDsTuJUi2BOoCH5G3',
    account: { id: 'acc_02y9GVDsTuJUi2BOoCH5G3', email: 'anna@shop.example', name: 'Anna', two_factor: true },
    organisation: { id: 'org_02y9GVDsTuJUi2BOoCH5G3', name: 'Shop', require_two_factor: false },
    role: 'owner',
    must_set_up_two_factor: false,
  },
);
const sessionList = component(
  'SessionList',
  z.strictObject(
    pageFields(
      z.strictObject({
        id: sessionId,
        is_present: z.boolean().describe('The session of this very request.'),
        address: z.string().nullable(),
        user_agent: z.string().nullable(),
        created_at: instant,
        last_used_at: instant.describe('Exact to a minute.'),
      }),
    ),
  ),
  {
    data: [
      {
        id: 'ses_02y9GVDsTuJUi2BOoCH5G3',
        is_present: true,
        address: '192.0.2.7',
        user_agent: 'Mozilla/5.0',
        created_at: '2026-11-21T10:15:30.123Z',
        last_used_at: '2026-11-21T10:16:30.123Z',
      },
    ],
    ...lastPage,
  },
);

const route = routesOfOrganisation('Session', { access: 'session', least: 'person' });

export const sessionRoutes = [
  route('getSession', 'GET /session', {
    summary: 'Who is signed in',
    answers: ok('The person, organisation and role.', present),
  }).handle(async (_deps, { caller }) => {
    const session = sessionOf(caller);
    return {
      session_id: encodeId('ses', session.id),
      account: {
        id: encodeId('acc', session.accountId),
        email: session.email,
        name: session.name,
        two_factor: session.hasSecondFactor,
      },
      organisation: {
        id: encodeId('org', session.organisationId),
        name: session.organisationName,
        require_two_factor: session.needsSecondFactor,
      },
      role: session.role,
      must_set_up_two_factor: lacksSecondFactor(session),
    };
  }),
  route('signOut', 'POST /logout', {
    summary: 'End this session',
    answers: ok('Done. The cookie is gone.', done, { headers: { 'set-cookie': 'Clears the cookie.' } }),
  }).handle(async (deps, { caller }) => {
    const { id } = sessionOf(caller);
    await endSession(deps, caller, id);
    const cookie = caller.cookieForm ? clearCookie(caller.cookieForm) : '';
    return new Answer(200, { 'set-cookie': cookie }, { done: true });
  }),
  route('listSessions', 'GET /sessions', {
    summary: 'List your sessions',
    query: listQuery,
    answers: ok('Sessions that have not ended, newest first.', sessionList),
  }).handle(async ({ sql, clock, cursors }, { caller, query }) => {
    const { id: presentId, accountId: account } = sessionOf(caller);
    const sessions = await listSessions(sql, clock, account);
    return pageOf(cursors, sessions, query, {
      scope: ['sessions', account],
      keyOf: ({ createdAt, id }) => [createdAt.getTime(), id],
      isNewestFirst: true,
      idOf: ({ id }) => encodeId('ses', id),
      present: ({ id, address, userAgent, createdAt, lastUsedAt }) => ({
        id: encodeId('ses', id),
        is_present: id === presentId,
        address,
        user_agent: userAgent,
        created_at: createdAt,
        last_used_at: lastUsedAt,
      }),
    });
  }),
  route('endSession', 'DELETE /sessions/:session', {
    summary: 'End one of your sessions',
    params: { session: { description: 'The id of a session.', example: 'ses_02y9GVDsTuJUi2BOoCH5G3' } },
    answers: ok('Done: from now on its cookie is 401.', done),
  }).handle(async (deps, { caller, params }) => {
    const id = decodeId('ses', params.session);
    if (!id || !(await endSession(deps, caller, id)))
      throw notFound(`You have no session ${params.session.slice(0, 80)}.`);
    return { done: true as const };
  }),
];

async function endSession(
  { txSql, clock }: Pick<AreaDeps, 'txSql' | 'clock'>,
  caller: ConsoleCaller,
  id: string,
): Promise<boolean> {
  return transaction(txSql, async (tx) => {
    if (!(await deleteSession(tx, sessionOf(caller).accountId, id))) return false;
    const { by, organisationId: orgId } = caller;
    await recordAudit({ tx, clock, by }, { appId: null, orgId, action: 'session.end', target: encodeId('ses', id) });
    return true;
  });
}
