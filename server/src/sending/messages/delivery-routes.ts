// GET /v1/messages/{id}/deliveries: per device, what happened, with every attempt and the
// provider's raw answer.
import { z } from 'zod';
import { noSuch } from '../../ground/http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, deviceId, exampleOf, instant, messageId, pageFields } from '../../ground/http/schemas.ts';
import { decodeId, encodeId, nilUuid } from '../../ground/values/ids.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { channelIds, platforms } from '../channels/channel.ts';
import { deliveryCode, deliveryStatuses, timelineEntry } from '../delivery/delivery.ts';
import { mayHold } from '../delivery/delivery-kinds.ts';
import {
  listMessageDeliveries,
  presentDeliveries,
  rowsReadMax,
  type TimelineDeps,
  type TimelinePart,
} from '../delivery/list-timeline.ts';
import { messageStatus, report, reportOf } from './message.ts';
import { findMessageOutcomes } from './queries.ts';

export interface DeliveryRouteDeps extends TimelineDeps {
  readonly cursors: Cursors;
}

const location = 'https://updates.push.services.mozilla.com/m/gAAAAABpIEc2';
export const delivery = component(
  'Delivery',
  z.strictObject({
    device_id: deviceId,
    external_id: z.string().nullable().describe('The user of the device at the time of the push.'),
    platform: z.enum(platforms),
    channel: z.enum(channelIds),
    status: z.enum(deliveryStatuses),
    error_code: deliveryCode.nullable(),
    attempts: count.describe('Provider requests whose outcome is known.'),
    queued_at: instant,
    sent_at: instant.nullable(),
    failed_at: instant.nullable(),
    displayed_at: instant.nullable(),
    clicked_at: instant.nullable(),
    dismissed_at: instant.nullable(),
    action: z.string().nullable().describe('The button of the first click.'),
    provider_message_id: z.string().nullable(),
    timeline: z.array(timelineEntry).min(1).describe('In time order.'),
  }),
  {
    device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    external_id: 'u-42',
    platform: 'web',
    channel: 'webpush',
    status: 'sent',
    error_code: null,
    attempts: 2,
    queued_at: '2026-11-21T10:15:29.900Z',
    sent_at: '2026-11-21T10:15:41.123Z',
    failed_at: null,
    displayed_at: null,
    clicked_at: '2026-11-21T10:20:02.511Z',
    dismissed_at: null,
    action: null,
    provider_message_id: location,
    timeline: [
      { at: '2026-11-21T10:15:29.900Z', type: 'queued' },
      {
        at: '2026-11-21T10:15:30.123Z',
        type: 'attempt',
        attempt: 1,
        outcome: 'retry',
        error_code: 'provider_unavailable',
        latency_ms: 212,
        retry_at: '2026-11-21T10:15:41.000Z',
        provider: {
          name: 'webpush',
          http_status: 503,
          headers: { 'retry-after': '10' },
          body: 'Service Unavailable',
          truncated: false,
          transport_error: null,
        },
      },
      {
        at: '2026-11-21T10:15:41.123Z',
        type: 'attempt',
        attempt: 2,
        outcome: 'sent',
        error_code: null,
        latency_ms: 95,
        retry_at: null,
        provider: {
          name: 'webpush',
          http_status: 201,
          headers: { location },
          body: null,
          truncated: false,
          transport_error: null,
        },
      },
      { at: '2026-11-21T10:20:02.511Z', type: 'clicked', action: null },
    ],
  },
);
const exampleId = 'msg_02y9GVDsTuJUi2BOoCH5G3';
export const deliveryPage = component(
  'DeliveryPage',
  z.strictObject({ message_id: messageId, status: messageStatus, report, ...pageFields(delivery) }),
  {
    message_id: exampleId,
    status: 'sent',
    report: { accepted: 3, sent: 2, failed: 1, skipped: 0 },
    data: [exampleOf(delivery)],
    has_more: false,
    next_cursor: null,
  },
);

const nothing: TimelinePart = { placed: [], stoppedBefore: null };

const route = routesWith<DeliveryRouteDeps, Caller>({ tag: 'Messages', access: 'server' });

export const deliveryRoutes = [
  route('listDeliveries', 'GET /v1/messages/:id/deliveries', {
    summary: 'Why did this person get nothing?',
    description: 'One record per device, with every attempt and the raw answer of the push service.',
    params: { id: { description: 'The id of a message.', example: exampleId } },
    query: z.strictObject({
      ...pageQuery(500),
      status: z.enum(deliveryStatuses).optional(),
      channel: z.enum(channelIds).optional(),
      device_id: z.string().optional(),
      error_code: z.enum(deliveryCode.options).optional(),
    }),
    answers: ok('The present numbers and a page of deliveries.', deliveryPage),
  }).handle(async (deps, { caller, params, query: { limit, cursor, ...filters } }) => {
    const id = decodeId('msg', params.id);
    const scope = [caller.appId, 'deliveries', id ?? null, filters];
    const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
    const outcomes = id === undefined ? undefined : await findMessageOutcomes(deps.sql, caller.appId, id);
    if (!outcomes || id === undefined) throw noSuch('message', params.id);

    const deviceId = filters.device_id === undefined ? null : decodeId('dev', filters.device_id);
    const { status = null, channel = null, error_code: code = null } = filters;
    const kind = { status, channel, code };
    const { placed, stoppedBefore } =
      deviceId === undefined || !mayHold(kind, outcomes)
        ? nothing
        : await listMessageDeliveries(
            deps,
            id,
            { kind, deviceId },
            position ? { batchId: String(position[0]), deviceId: String(position[1]) } : null,
            limit + 1,
            rowsReadMax,
          );
    const page = toPage(
      placed,
      limit,
      (one) => one,
      ({ row }) => deps.cursors.write([row.batchId, row.deviceId], scope),
    );
    return {
      message_id: encodeId('msg', id),
      status: outcomes.status,
      report: reportOf(outcomes),
      data: await presentDeliveries(deps, caller.appId, page.data),
      has_more: page.has_more || stoppedBefore !== null,
      // The nil id sorts before every device of a batch.
      next_cursor: stoppedBefore === null ? page.next_cursor : deps.cursors.write([stoppedBefore, nilUuid], scope),
    };
  }),
];
