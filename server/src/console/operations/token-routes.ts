// The area Tokens: operator tokens, which owners make for scripts.

import { z } from 'zod';
import { notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, idSchema, instant, pageComponent } from '../../ground/http/schemas.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import { createToken, revokeToken } from '../../teams/accounts/operator-tokens.ts';
import { type ListedToken, listTokens } from '../../teams/accounts/token-queries.ts';
import { routesOfOrganisation } from './area.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { oneLine, role } from './schemas.ts';

const tokenFields = {
  id: component('TokenId', idSchema('tok')),
  name: z.string(),
  role,
  start: z.string().describe('The first 12 characters.'),
  last4: z.string(),
  created_at: instant,
  created_by: z.string(),
  last_used_at: instant.nullable().describe('Exact to a minute.'),
  revoked_at: instant.nullable(),
  is_orphaned: z.boolean().describe('Its maker is no owner any more: revoke it, unless somebody else needs it.'),
};
export const token = component('Token', z.strictObject(tokenFields), {
  id: 'tok_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Terraform',
  role: 'admin',
  start: 'ot_live_003a',
  last4: '6EQX',
  created_at: '2026-11-21T10:15:30.123Z',
  created_by: 'person anna@shop.example',
  last_used_at: null,
  revoked_at: null,
  is_orphaned: false,
});

const route = routesOfOrganisation('Tokens', { access: 'session', least: 'owner' });

export const tokenRoutes = [
  route('listTokens', 'GET /tokens', {
    summary: 'List the operator tokens, revoked ones too',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('Newest first.', pageComponent('TokenList', token)),
  }).handle(async ({ sql, cursors }, { caller, query }) =>
    pageOf(cursors, await listTokens(sql, caller.organisationId), query, {
      scope: ['tokens', caller.organisationId],
      keyOf: ({ id }) => [id],
      isNewestFirst: true,
      idOf: ({ id }) => encodeId('tok', id),
      textsOf: ({ name }) => [name],
      present: presentToken,
    }),
  ),
  route('createToken', 'POST /tokens', {
    summary: 'Make an operator token',
    body: component('NewToken', z.strictObject({ name: oneLine, role }), { name: 'Terraform', role: 'admin' }),
    answers: ok(
      'The token, shown this once.',
      component('MadeToken', z.strictObject({ ...tokenFields, token: z.string() }), {
        ...exampleOf(token),
        token: 'ot_live_…',
      }),
    ),
  }).handle(async ({ txSql, clock }, { caller, body }) => {
    const { by, organisationId } = caller;
    const made = await createToken({ sql: txSql, clock, by }, { ...body, organisationId });
    return { ...presentToken(made.token), token: made.text };
  }),
  route('revokeToken', 'DELETE /tokens/:token', {
    summary: 'Revoke an operator token now',
    params: { token: { description: 'The id of a token.', example: 'tok_02y9GVDsTuJUi2BOoCH5G3' } },
    answers: ok('The token with its end.', token),
  }).handle(async ({ txSql, clock }, { caller, params }) => {
    const id = decodeId('tok', params.token);
    const { by, organisationId } = caller;
    const revoked = id && (await revokeToken({ sql: txSql, clock, by }, { organisationId, id }));
    if (!revoked) throw notFound(`No token ${params.token.slice(0, 80)} in this organisation.`);
    return presentToken(revoked);
  }),
];

export function presentToken(one: ListedToken) {
  return {
    id: encodeId('tok', one.id),
    name: one.name,
    role: one.role,
    start: one.start,
    last4: one.last4,
    created_at: one.createdAt,
    created_by: one.createdBy,
    last_used_at: one.lastUsedAt,
    revoked_at: one.revokedAt,
    is_orphaned: one.isOrphaned,
  };
}
