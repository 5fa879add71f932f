// The area Users: the list with its search, all data about a person, and the erasure.
import { Readable } from 'node:stream';
import { transaction } from '@carillon/postgres';
import { z } from 'zod';
import { changedMeanwhile, noSuch } from '../../ground/http/api-error.ts';
import { pageQuery, toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, instant, pageComponent, userId } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { anyTimeZones } from '../../ground/values/time-zones.ts';
import { presentConflict, propertyConflict } from '../../people/properties/property.ts';
import { editUser } from '../../people/users/edit-user.ts';
import { findUserWithDevices } from '../../people/users/find-user.ts';
import { findPersonId, listUsers } from '../../people/users/queries.ts';
import { personRoutes, present as presentUser, user } from '../../people/users/routes.ts';
import { userRequestSchema } from '../../people/users/user.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { routesOfApp } from './area.ts';
import { lendRoutes } from './lent-route.ts';
import { writePerson } from './person-document.ts';
import { appId, searchField, seenAt } from './schemas.ts';

const {
  properties: _properties,
  devices: _devices,
  timezone: _zone,
  updated_at: _updated,
  ...listedPart
} = exampleOf(user);
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
  listedPart,
);
const heldRecord = component(
  'PersonRecord',
  z.looseObject({
    exported_at: instant,
    app_id: appId,
    external_id: z.string(),
    user_id: userId,
    profile: z.record(z.string(), z.unknown()).nullable().describe('Null: only events have named this person.'),
    devices: z.array(z.record(z.string(), z.unknown())).describe('Each with the history of its states.'),
    events: z.array(z.record(z.string(), z.unknown())),
    deliveries: z.array(z.record(z.string(), z.unknown())).describe('Each with its timeline.'),
    attributions: z.array(z.record(z.string(), z.unknown())),
  }),
);

const route = routesOfApp<'external_id'>('Users', {
  params: { external_id: { description: 'Percent-encoded UTF-8.', example: 'u-42' } },
});

export const userAreaRoutes = [
  route('listUsers', 'GET /users', {
    least: 'member',
    summary: 'List users by their external ids',
    query: z.strictObject({
      ...pageQuery(200),
      q: searchField.describe('An id, or the beginning of an external id or a first name.').optional(),
    }),
    answers: ok('A page of users.', pageComponent('UserPage', listedUser)),
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
  route('editUser', 'PATCH /users/:external_id', {
    least: 'member',
    summary: 'Change the profile of a user',
    description:
      'A field that is absent is kept, null clears it. The audit log names the fields that changed, and no value; without a change it has no entry.',
    body: component(
      'UserEdit',
      userRequestSchema(anyTimeZones).omit({ external_id: true, device_id: true }).extend({ updated_at: seenAt }),
      { updated_at: '2026-11-21T10:15:30.123Z', first_name: 'Ada', properties: { plan: 'pro', trial: null } },
    ),
    answers: ok(
      'The user as it is now.',
      component('EditedUser', user.extend({ property_conflicts: z.array(propertyConflict) }), {
        ...exampleOf(user),
        property_conflicts: [],
      }),
    ),
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock, parseUser }, { caller, params: { external_id: externalId }, body }) => {
    const appId = caller.app.id;
    const { updated_at: seen, properties, ...attributes } = body;
    const found = await findUserWithDevices(sql, appId, externalId);
    if (!found) throw noSuch('user', externalId);
    // The zones come from the database, because the API description lists none.
    const checked = parseUser({ ...attributes, external_id: externalId });
    const { first_name: firstName, country, language, timezone } = checked;
    const request = { appId, externalId, firstName, country, language, timezone, properties };
    const edited = await editUser(
      { sql: txSql, clock, by: caller.by },
      request,
      ({ updatedAt }) => updatedAt.getTime() === new Date(seen).getTime(),
    );
    if (!edited) {
      const present = await findUserWithDevices(txSql, appId, externalId);
      if (!present) throw noSuch('user', externalId);
      throw changedMeanwhile(presentUser(present));
    }
    const conflicts = edited.conflicts.map((conflict) => presentConflict(conflict, edited.user.properties));
    return { ...presentUser(edited), property_conflicts: conflicts };
  }),
  route('exportUser', 'GET /users/:external_id/export', {
    least: 'admin',
    summary: 'All that is held of one person, as one JSON document',
    description: 'The audit log records the export, without a value of the person.',
    answers: ok('Profile, devices, events, deliveries and attributions.', heldRecord, {
      example: {
        exported_at: '2026-11-21T10:15:30.123Z',
        external_id: 'u-42',
        user_id: exampleOf(user).id,
        profile: null,
        devices: [],
        events: [],
        deliveries: [],
        attributions: [],
      },
    }),
  }).handle(async ({ sql, txSql, clock, readTurns }, { caller: { app, by }, params: { external_id: externalId } }) => {
    const id = await findPersonId(sql, app.id, externalId);
    if (id === undefined) throw noSuch('user', externalId);
    await transaction(txSql, (tx) =>
      recordAudit({ tx, clock, by }, { appId: app.id, action: 'user.export', target: encodeId('usr', id) }),
    );
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="person.json"',
    };
    const person = { appId: app.id, externalId, userId: id };
    const pages = writePerson({ sql, clock }, person, (read) => readTurns.run(app.id, read));
    return new Answer<200, Readable>(200, headers, Readable.from(pages));
  }),
];
