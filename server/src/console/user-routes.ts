// The area Users: the list with its search, all that is held of a person, and the erasure.
import { z } from 'zod';
import { recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, transaction } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { noSuch } from '../http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, instant, pageFields, userId } from '../http/schemas.ts';
import { Answer } from '../http/server.ts';
import { presentProperties } from '../properties/property.ts';
import { findUserWithDevices } from '../users/find-user.ts';
import { findPersonId, listUsers } from '../users/queries.ts';
import { exampleUser, personRoutes } from '../users/routes.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { attributionsOf, deliveriesOf, devicesOf, eventsOf } from './person-record.ts';
import { appParam, searchField } from './schemas.ts';

export interface UserAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

const listedUser = component(
  'ListedUser',
  z.strictObject({
    id: userId,
    external_id: z.string(),
    first_name: z.string().nullable(),
    country: z.string().nullable(),
    language: z.string().nullable(),
    created_at: instant,
  }),
);
const userPage = component('UserPage', z.strictObject(pageFields(listedUser)));
const {
  properties: _properties,
  devices: _devices,
  timezone: _zone,
  updated_at: _updated,
  ...listedExample
} = exampleUser;
const heldRecord = component(
  'PersonRecord',
  z.looseObject({
    exported_at: instant,
    external_id: z.string(),
    user_id: userId,
    profile: z.record(z.string(), z.unknown()).nullable().describe('Null: only events have named this person.'),
    devices: z.array(z.record(z.string(), z.unknown())).describe('Each with the history of its states.'),
    events: z.array(z.record(z.string(), z.unknown())),
    deliveries: z.array(z.record(z.string(), z.unknown())).describe('Each with its timeline.'),
    attributions: z.array(z.record(z.string(), z.unknown())),
  }),
);

const route = routesWith<UserAreaDeps, AppCaller>('Users');
const params = { ...appParam, external_id: { description: 'Percent-encoded UTF-8.', example: 'u-42' } };

export const userAreaRoutes = [
  route({
    id: 'listUsers',
    method: 'GET',
    path: '/console/api/apps/:app/users',
    access: 'session-or-token',
    least: 'member',
    summary: 'List users by their external ids',
    params: appParam,
    query: z.strictObject({
      ...pageQuery(200),
      q: searchField.describe('An id, or the beginning of an external id or a first name.').optional(),
    }),
    answers: {
      200: {
        description: 'A page of users.',
        schema: userPage,
        example: { data: [listedExample], has_more: false, next_cursor: null },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query: { limit, cursor, q = null } }) => {
    const scope = [app.id, 'console users', q];
    const [after = ''] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const rows = await listUsers(sql, app.id, String(after), limit + 1, q);
    return toPage(
      rows,
      limit,
      ({ id, externalId, firstName, country, language, createdAt }) => ({
        id: encodeId('usr', id),
        external_id: externalId,
        first_name: firstName,
        country,
        language,
        created_at: createdAt,
      }),
      (last) => cursors.write([last.externalId], scope),
    );
  }),
  ...lendRoutes(personRoutes, { getUser: 'member', deleteUser: 'admin' }),
  route({
    id: 'exportUser',
    method: 'GET',
    path: '/console/api/apps/:app/users/:external_id/export',
    access: 'session-or-token',
    least: 'admin',
    summary: 'All that is held of one person, as one JSON document',
    description: 'Who exported what stands in the audit log, without a value of the person.',
    params,
    answers: {
      200: {
        description: 'Profile, devices, events, deliveries and attributions.',
        schema: heldRecord,
        example: {
          ...{ exported_at: '2026-11-21T10:15:30.123Z', external_id: 'u-42', user_id: exampleUser.id },
          ...{ profile: null, devices: [], events: [], deliveries: [], attributions: [] },
        },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, params: { external_id: externalId } }) => {
    const id = await findPersonId(sql, app.id, externalId);
    if (id === undefined) throw noSuch('user', externalId);
    const record = await readRecord({ sql, clock }, app.id, externalId, id);
    await transaction(txSql, (tx) =>
      recordAudit({ tx, clock, by }, { appId: app.id, action: 'user.export', target: encodeId('usr', id) }),
    );
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="person.json"',
    };
    return new Answer<200, string>(200, headers, JSON.stringify(record, null, 2));
  }),
];

async function readRecord(deps: { sql: Sql; clock: Clock }, appId: Uuid, externalId: string, id: Uuid) {
  const found = await findUserWithDevices(deps.sql, appId, externalId);
  const deviceIds: Uuid[] = [];
  const devices = await whole(devicesOf(deps, appId, externalId, deviceIds));
  const subjects = [id, ...deviceIds];
  return {
    exported_at: deps.clock.date(),
    external_id: externalId,
    user_id: encodeId('usr', id),
    profile: found
      ? {
          first_name: found.user.firstName,
          country: found.user.country,
          language: found.user.language,
          timezone: found.user.timezone,
          properties: presentProperties(found.user.properties, found.catalog),
          created_at: found.user.createdAt,
          updated_at: found.user.updatedAt,
        }
      : null,
    devices,
    events: await whole(eventsOf(deps, appId, subjects)),
    deliveries: await whole(deliveriesOf(deps, appId, subjects)),
    attributions: await whole(attributionsOf(deps, appId, id)),
  };
}

async function whole(pages: AsyncGenerator<object[]>): Promise<object[]> {
  const rows: object[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
