// The history of one user or device: the segments that select the user, events and deliveries, the
// latest first.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { noSuch, readId } from '../../ground/http/api-error.ts';
import { pageQuery, toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import {
  component,
  count,
  deviceId,
  exampleOf,
  instant,
  messageId,
  pageComponent,
  segmentId,
} from '../../ground/http/schemas.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { type HistoryPart, listHistory } from '../../insight/events/list-history.ts';
import { listFormerUsers } from '../../insight/explain/queries.ts';
import { listDeviceIdsOfUser } from '../../people/audience/queries.ts';
import { findLink } from '../../people/devices/queries.ts';
import { listSegmentsOf } from '../../people/segments/segments-of-devices.ts';
import { findPersonId } from '../../people/users/queries.ts';
import { presentDeliveries } from '../../sending/delivery/list-timeline.ts';
import { findBatches, listLastDeliveries } from '../../sending/delivery/timeline-queries.ts';
import { listMessageNames } from '../../sending/messages/stored-queries.ts';
import { type AreaDeps, routesOfApp } from './area.ts';
import { explainDelivery, explainedDelivery } from './explained-delivery.ts';

/** The number of a user's devices that are read: the newest, whose ids come last. */
const devicesMax = 1000;

const segmentOfUser = component(
  'SegmentOfUser',
  z.strictObject({
    id: segmentId,
    name: z.string(),
    devices: count.describe('Active devices of the user that the segment selects now.'),
  }),
  { id: 'seg_02y9GVDsTuJUi2BOoCH5G3', name: 'Pro users in DE', devices: 2 },
);
const eventOfUser = component(
  'EventOfUser',
  z.strictObject({
    id: z.string(),
    name: z.string(),
    occurred_at: instant,
    device_id: deviceId.nullable(),
    before_sign_in: z.boolean().describe('A device sent it before it belonged to the user.'),
    properties: z.record(z.string(), z.unknown()),
  }),
  {
    id: '01930000-0000-7000-8000-000000000001',
    name: 'purchase',
    occurred_at: '2026-11-21T10:15:30.123Z',
    device_id: null,
    before_sign_in: false,
    properties: { amount: 79.9, currency: 'EUR' },
  },
);
const ofMessage = {
  message_id: messageId,
  message_name: z.string().nullable(),
  message_title: z.string().nullable().describe('Not rendered.'),
};
const deliveryOfMessage = component('DeliveryOfMessage', explainedDelivery.extend(ofMessage), {
  message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
  message_name: 'Autumn sale',
  message_title: 'Sale',
  ...exampleOf(explainedDelivery),
});
const deliveryHistory = pageComponent('DeliveryHistory', deliveryOfMessage);
const answersOfDeliveries = ok('A page of deliveries, the latest first.', deliveryHistory);

const ofUsers = routesOfApp<'external_id'>('Users', {
  least: 'member',
  params: { external_id: { description: 'Percent-encoded UTF-8.', example: 'u-42' } },
});
const ofDevices = routesOfApp<'id'>('Devices', {
  params: { id: { description: 'The id of a device.', example: exampleOf(explainedDelivery).device_id } },
});

export const historyAreaRoutes = [
  ofUsers('listUserSegments', 'GET /users/:external_id/segments', {
    summary: 'The segments that select a user now',
    description: 'Each page asks `limit` segments and shows those that select the user, so a page may be empty.',
    query: z.strictObject(pageQuery(50)),
    answers: ok('A page of segments, newest first.', pageComponent('UserSegments', segmentOfUser)),
  }).handle(async ({ sql, clock, cursors }, { caller: { app }, params, query: { limit, cursor } }) => {
    const person = await getPerson(sql, app.id, params.external_id);
    const scope = [app.id, 'user segments', person.id];
    const [createdAt, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const after = createdAt === undefined ? null : { createdAt: String(createdAt), id: String(id) };
    const { selecting, stoppedAt } = await listSegmentsOf({ sql, clock }, app.id, person, after, limit);
    return {
      data: selecting.map(({ segment, devices }) => ({
        id: encodeId('seg', segment.id),
        name: segment.name,
        devices,
      })),
      has_more: stoppedAt !== null,
      next_cursor: stoppedAt && cursors.write([stoppedAt.createdAt.toISOString(), stoppedAt.id], scope),
    };
  }),
  ofUsers('listUserEvents', 'GET /users/:external_id/events', {
    summary: 'The events of a user and of their devices, the latest first',
    query: z.strictObject(pageQuery(200)),
    answers: ok('A page of events.', pageComponent('UserEvents', eventOfUser)),
  }).handle(async ({ sql, cursors }, { caller: { app }, params, query: { limit, cursor } }) => {
    const person = await getPerson(sql, app.id, params.external_id);
    const scope = [app.id, 'user events', person.id];
    const [at, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const before = at === undefined ? null : { at: String(at), id: String(id) };
    const part: HistoryPart = await listHistory(sql, app.id, person.subjects, before, limit + 1);
    const page = toPage(
      part.events,
      limit,
      (event) => ({
        id: event.id,
        name: event.name,
        occurred_at: event.at,
        device_id: event.deviceId === null ? null : encodeId('dev', event.deviceId),
        before_sign_in: event.subjectId !== person.id,
        properties: event.properties,
      }),
      (last) => cursors.write([last.atText, last.id], scope),
    );
    const { stoppedAt } = part;
    if (stoppedAt === null || page.has_more) return page;
    return { ...page, has_more: true, next_cursor: cursors.write([stoppedAt.at, stoppedAt.id], scope) };
  }),
  ofUsers('listUserDeliveries', 'GET /users/:external_id/deliveries', {
    summary: 'The deliveries to a user, and to their devices before these had a user',
    query: z.strictObject(pageQuery(200)),
    answers: answersOfDeliveries,
  }).handle(async (deps, { caller: { app }, params, query }) => {
    const { id, subjects } = await getPerson(deps.sql, app.id, params.external_id);
    return deliveriesOf(deps, app.id, { people: subjects, deviceId: null, scope: ['user deliveries', id] }, query);
  }),
  ofDevices('listDeviceDeliveries', 'GET /devices/:id/deliveries', {
    least: 'member',
    summary: 'The deliveries to a device, under all of its users',
    query: z.strictObject(pageQuery(200)),
    answers: answersOfDeliveries,
  }).handle(async (deps, { caller: { app }, params, query }) => {
    const id = readId('device', params.id);
    const link = await findLink(deps.sql, app.id, id);
    if (!link) throw noSuch('device', params.id);
    const former = await listFormerUsers(deps.sql, app.id, id);
    const people = [...new Set([id, ...(link.userId ? [link.userId] : []), ...former])];
    return deliveriesOf(deps, app.id, { people, deviceId: id, scope: ['device deliveries', id] }, query);
  }),
];

interface Person {
  readonly id: Uuid;
  readonly deviceIds: readonly Uuid[];
  /** The user and the devices. */
  readonly subjects: readonly Uuid[];
}

/** Finds a user that is known by a profile or an event. Throws the 404. */
async function getPerson(sql: Sql, appId: Uuid, externalId: string): Promise<Person> {
  const id = await findPersonId(sql, appId, externalId);
  if (id === undefined) throw noSuch('user', externalId);
  const deviceIds = (await listDeviceIdsOfUser(sql, appId, externalId)).slice(-devicesMax);
  return { id, deviceIds, subjects: [id, ...deviceIds] };
}

interface Recipients {
  readonly people: readonly Uuid[];
  readonly deviceId: Uuid | null;
  readonly scope: readonly string[];
}

async function deliveriesOf(
  deps: AreaDeps,
  appId: Uuid,
  { people, deviceId: ofDevice, scope: of }: Recipients,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
) {
  const { sql, cursors } = deps;
  const scope = [appId, ...of];
  const [batchId, device] = cursor === undefined ? [] : cursors.read(cursor, scope);
  const before = batchId === undefined ? null : { batchId: String(batchId), deviceId: String(device) };
  const rows = await listLastDeliveries(sql, people, ofDevice, before, limit + 1);
  const page = toPage(
    rows,
    limit,
    (row) => row,
    (last) => cursors.write([last.batchId, last.deviceId], scope),
  );
  const batches = await findBatches(sql, appId, [...new Set(page.data.map((row) => row.batchId))]);
  const placed = page.data.flatMap((row) => {
    const batch = batches.get(row.batchId);
    return batch ? [{ row, batch }] : [];
  });
  const names = await listMessageNames(sql, appId, [...new Set(placed.map(({ batch }) => batch.messageId))]);
  const shown = await presentDeliveries(deps, appId, placed);
  const data = shown.map((one, i) => {
    const id = placed[i]?.batch.messageId ?? '';
    const named = names.get(id);
    return {
      message_id: encodeId('msg', id),
      message_name: named?.name ?? null,
      message_title: named?.title ?? null,
      ...explainDelivery(one),
    };
  });
  return { ...page, data };
}
