// The areas Keys and Own browser: API keys of an app, and the short-lived client key with which a
// person's own browser receives a test push.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, instant, keyId, pageComponent } from '../../ground/http/schemas.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import { sessionDaysMax } from '../../teams/accounts/session.ts';
import { findKey, type KeyRecord, listKeys } from '../../teams/apps/key-queries.ts';
import {
  createKey,
  createSessionKey,
  overlapHoursDefault,
  overlapHoursMax,
  revokeKey,
  rotateKey,
} from '../../teams/apps/manage-keys.ts';
import { presentKey } from '../../teams/apps/present-key.ts';
import { routesOfApp, routesOfOrganisation } from './area.ts';
import { type ConsoleCaller, sessionOf } from './caller.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { isOwnApp } from './own-app.ts';
import { appId, oneLine } from './schemas.ts';

const keyFields = {
  id: keyId,
  app_id: appId,
  scope: z.enum(['server', 'client']),
  name: z.string(),
  start: z.string().describe('The first 12 characters.'),
  last4: z.string(),
  created_at: instant,
  created_by: z.string(),
  last_used_at: instant.nullable().describe('Exact to a minute.'),
  expires_at: instant.nullable(),
  revoked_at: instant.nullable(),
};
const keySchema = component('Key', z.strictObject(keyFields), {
  id: 'key_02y9GVDsTuJUi2BOoCH5G3',
  app_id: 'app_02y9GVDsTuJUi2BOoCH5G3',
  scope: 'server',
  name: 'Server key',
  start: 'sk_live_003a',
  last4: '6EQX',
  created_at: '2026-11-21T10:15:30.123Z',
  created_by: 'person anna@shop.example',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
});
const newKeySchema = component(
  'NewKey',
  z.strictObject({ scope: z.enum(['server', 'client']), name: oneLine.optional() }),
  { scope: 'server', name: 'Warehouse' },
);
const madeKey = component('MadeKey', z.strictObject({ ...keyFields, key: z.string().describe('Shown this once.') }), {
  ...exampleOf(keySchema),
  key: 'sk_live_…',
});
const rotatedKey = component(
  'RotatedKey',
  z.strictObject({ ...keyFields, key: z.string().describe('Shown this once.'), replaces: keySchema }),
  { ...exampleOf(keySchema), key: 'sk_live_…', replaces: exampleOf(keySchema) },
);

const ofApp = routesOfApp('Keys');
const own = routesOfOrganisation<'key'>('Keys', {
  least: 'admin',
  params: { key: { description: 'The id of a key.', example: 'key_02y9GVDsTuJUi2BOoCH5G3' } },
});

export const appKeyRoutes = [
  ofApp('listKeys', 'GET /keys', {
    least: 'admin',
    summary: 'List the keys of an app, ended ones too',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('Oldest first.', pageComponent('KeyList', keySchema)),
  }).handle(async ({ sql, cursors }, { caller, query }) =>
    pageOf(cursors, await listKeys(sql, caller.app.id), query, {
      scope: ['keys', caller.app.id],
      keyOf: ({ createdAt, id }) => [createdAt.getTime(), id],
      idOf: ({ id }) => encodeId('key', id),
      textsOf: ({ name }) => [name],
      present: presentKey,
    }),
  ),
  ofApp('createKey', 'POST /keys', {
    least: 'admin',
    summary: 'Make a key',
    body: newKeySchema,
    answers: ok('The key, shown this once.', madeKey),
  }).handle(async ({ sql, txSql, clock }, { caller, body }) => {
    const { scope, name = scope === 'server' ? 'Server key' : 'Client key' } = body;
    const made = await createKey({ sql: txSql, clock, by: caller.by }, { appId: caller.app.id, scope, name });
    return { ...presentKey(await getKey(sql, made.id)), key: made.text };
  }),
  ofApp('createSessionKey', 'POST /session-key', {
    access: 'session',
    least: 'member',
    summary: 'Make a client key for your own browser; it ends with your session, after an hour at the latest',
    answers: ok(
      'The key, shown this once. It is not among the 20 keys of its scope.',
      component('SessionKey', z.strictObject({ key: z.string(), expires_at: instant }), {
        key: 'ck_live_…',
        expires_at: '2026-11-21T11:15:30.123Z',
      }),
    ),
  }).handle(async ({ txSql, clock }, { caller }) => {
    const { id: sessionId, createdAt } = sessionOf(caller);
    const sessionEndsAt = new Date(createdAt.getTime() + sessionDaysMax * 86_400_000);
    const place = { appId: caller.app.id, sessionId, sessionEndsAt };
    const made = await createSessionKey({ sql: txSql, clock, by: caller.by }, place);
    return { key: made.text, expires_at: made.expiresAt };
  }),
];

export const keyRoutes = [
  own('rotateKey', 'POST /keys/:key/rotate', {
    summary: 'Make a key in place of one, which ends later',
    body: component(
      'KeyRotation',
      z.strictObject({ overlap_hours: z.int().min(0).max(overlapHoursMax).default(overlapHoursDefault) }),
      { overlap_hours: 24 },
    ),
    answers: ok('The new key, shown this once, and the former one with its end.', rotatedKey),
  }).handle(async ({ sql, txSql, clock }, { caller, params, body }) => {
    const { id } = await getOwnKey(sql, caller, params.key);
    const deps = { sql: txSql, clock, by: caller.by };
    const { key, former } = await rotateKey(deps, { id, overlapHours: body.overlap_hours });
    return { ...presentKey(await getKey(sql, key.id)), key: key.text, replaces: presentKey(former) };
  }),
  own('revokeKey', 'DELETE /keys/:key', {
    summary: 'End a key now',
    answers: ok('The key with its end.', keySchema),
  }).handle(async ({ sql, txSql, clock }, { caller, params }) => {
    const { id } = await getOwnKey(sql, caller, params.key);
    return presentKey(await revokeKey({ sql: txSql, clock, by: caller.by }, id));
  }),
];

/** Finds a key of the caller's organisation. Another organisation's reads like an unknown one. */
async function getOwnKey(sql: Sql, caller: ConsoleCaller, text: string): Promise<KeyRecord> {
  const id = decodeId('key', text);
  const key = id && (await findKey(sql, id));
  if (key && (await isOwnApp(sql, caller, key.appId))) return key;
  throw notFound(`No key ${text.slice(0, 80)} in this organisation.`);
}

async function getKey(sql: Sql, id: string): Promise<KeyRecord> {
  const key = await findKey(sql, id);
  if (!key) throw notFound();
  return key;
}
