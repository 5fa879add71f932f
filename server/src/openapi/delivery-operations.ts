// The timeline of a message as the API's description tells it: per device what happened, with the provider's raw answers.
import { z } from 'zod';
import { channelIds, platforms } from '../channels/channel.ts';
import { errorCodes } from '../channels/error-code.ts';
import { deliveryStatuses, skipReasons } from '../delivery/delivery.ts';
import { deliveryListQuery } from '../delivery/routes.ts';
import type { InvalidReason } from '../devices/device.ts';
import type { TransportError } from '../platform/outbound-socket.ts';
import { component, count, deviceId, instant, messageId, pageFields } from '../platform/schemas.ts';
import type { Operation } from './operation-form.ts';
import { messageStatus, report } from './report.ts';

const errorCode = component('ErrorCode', z.enum(errorCodes).describe('Why a delivery failed. Closed in v1.'));
const skipReason = component('SkipReason', z.enum(skipReasons).describe('Why a delivery was not tried.'));
/** The values of `error_code`; `not_configured` is of both kinds. */
export const deliveryCode = component('DeliveryCode', z.enum([...new Set([...errorCodes, ...skipReasons])]));

const transportErrors = [
  'timeout',
  'dns_error',
  'connect_error',
  'tls_error',
  'reset',
  'blocked_address',
] as const satisfies readonly TransportError[];
const invalidReasons = [
  'unregistered',
  'invalid_token',
  'credential_mismatch',
  'replaced',
] as const satisfies readonly InvalidReason[];
export const invalidReason = component('InvalidReason', z.enum(invalidReasons));

const providerAnswer = component(
  'ProviderAnswer',
  z.strictObject({
    name: z.enum(channelIds),
    http_status: z.int().nullable(),
    headers: z.partialRecord(
      z.enum(['apns-id', 'apns-unique-id', 'retry-after', 'location', 'content-type']),
      z.string(),
    ),
    body: z.string().nullable().describe('As it came, up to 4,096 bytes.'),
    truncated: z.boolean(),
    transport_error: z.enum(transportErrors).nullable().describe('Why there is no answer; then http_status is null.'),
  }),
);

const at = instant;
const timelineEntry = component(
  'TimelineEntry',
  z.discriminatedUnion('type', [
    z.strictObject({ at, type: z.literal('queued') }),
    z.strictObject({
      at,
      type: z.literal('attempt'),
      attempt: z.int().min(1),
      outcome: z.enum(['sent', 'retry', 'failed']),
      error_code: errorCode.nullable(),
      latency_ms: count,
      retry_at: instant.nullable(),
      provider: providerAnswer.nullable().describe('Null when nothing was sent: a check of ours refused the push.'),
    }),
    z.strictObject({ at, type: z.literal('skipped'), reason: skipReason }),
    z.strictObject({ at, type: z.literal('expired') }),
    z.strictObject({ at, type: z.literal('device_invalidated'), reason: invalidReason }),
    z.strictObject({ at, type: z.literal('displayed') }),
    z.strictObject({ at, type: z.literal('clicked'), action: z.string().nullable() }),
    z.strictObject({ at, type: z.literal('dismissed') }),
  ]),
);

const delivery = component(
  'Delivery',
  z.strictObject({
    device_id: deviceId,
    external_id: z.string().nullable().describe('Whose the device was when it was sent.'),
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
);
const deliveryPage = component(
  'DeliveryPage',
  z.strictObject({ message_id: messageId, status: messageStatus, report, ...pageFields(delivery) }),
);

const id = 'msg_02y9GVDsTuJUi2BOoCH5G3';
const location = 'https://updates.push.services.mozilla.com/m/gAAAAABpIEc2';

export const deliveryOperations: readonly Operation[] = [
  {
    id: 'listDeliveries',
    method: 'get',
    path: '/v1/messages/{id}/deliveries',
    tag: 'Messages',
    summary: 'Why did this person get nothing?',
    description: 'One record per device, with every attempt and the raw answer of the push service.',
    access: 'server',
    pathParameters: { id: { description: 'The id of a message.', example: id } },
    query: deliveryListQuery,
    answers: {
      200: {
        description: 'The numbers of the moment and a page of deliveries.',
        schema: deliveryPage,
        example: {
          message_id: id,
          status: 'sent',
          report: { accepted: 3, sent: 2, failed: 1, skipped: 0 },
          data: [
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
          ],
          has_more: false,
          next_cursor: null,
        },
      },
    },
    refusals: [404],
  },
];
