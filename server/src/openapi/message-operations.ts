// Messages as the API's description tells them: send or schedule, list, read, cancel.
import { z } from 'zod';
import { audienceSchema } from '../audience/audience.ts';
import { channelIds } from '../channels/channel.ts';
import { contentSchema } from '../content/content.ts';
import { messageRequestSchema } from '../messages/message.ts';
import { idempotencyKeyPattern, messageListQuery } from '../messages/routes.ts';
import { dryRunWarningCodes, sendWarningCodes } from '../messages/warnings.ts';
import { component, count, instant, keyId, messageId, pageFields } from '../platform/schemas.ts';
import { deliveryCode } from './delivery-operations.ts';
import type { Operation } from './operation-form.ts';
import { messageStatus, report } from './report.ts';

component('Audience', audienceSchema);
component('Content', contentSchema);
const messageRequest = component('MessageRequest', messageRequestSchema);

const acceptedMessage = component(
  'AcceptedMessage',
  z.strictObject({
    id: messageId,
    status: z.literal('sent').describe('How the message was accepted; its status of the moment is on the message.'),
    replayed: z.boolean().describe('True for a repeated Idempotency-Key: nothing was sent again.'),
    report,
    warnings: z
      .array(
        z.strictObject({
          code: z.enum(sendWarningCodes),
          channel: z.enum(channelIds).optional(),
          message: z.string(),
        }),
      )
      .min(1)
      .optional()
      .describe('Why fewer devices were reached than it may seem; only when there is something to say.'),
    audience_unmatched: count
      .min(1)
      .optional()
      .describe('Ids of the audience that name no active device; only when there are any.'),
  }),
);

const scheduledMessage = component(
  'ScheduledMessage',
  z.strictObject({
    id: messageId,
    status: z.literal('scheduled').describe('How the message was accepted, also after it has run.'),
    run_at: instant,
    replayed: z.literal(true).optional().describe('Only for a repeated Idempotency-Key: nothing was scheduled again.'),
  }),
);

const perChannel = z.strictObject({ webpush: count, apns: count, fcm: count });
const dryRun = component(
  'DryRun',
  z.strictObject({
    dry_run: z.literal(true),
    count: count.describe('Active devices that a send would reach.'),
    users: count,
    by_channel: perChannel,
    quota: z
      .strictObject({
        plan: z.string(),
        limit: count,
        used: count,
        requested: count,
        fits: z.boolean(),
        resets_at: instant,
      })
      .nullable()
      .describe('Null on a plan without one.'),
    warnings: z.array(
      z.strictObject({
        code: z.enum(dryRunWarningCodes),
        channel: z.enum(channelIds).optional(),
        message: z.string(),
        limit: z.int().min(1).optional().describe('Of `rate_too_low`: the least `per_second` that would do.'),
      }),
    ),
  }),
);
const messageAnswer = component('MessageAnswer', z.union([acceptedMessage, scheduledMessage, dryRun]));

const channelCounts = component(
  'ChannelCounts',
  z.strictObject({ accepted: count, sent: count, failed: count, skipped: count }),
);
const message = component(
  'Message',
  z.strictObject({
    id: messageId,
    status: messageStatus,
    status_reason: z
      .enum(['quota_exceeded', 'segment_invalid', 'app_suspended', 'expired', 'internal_error'])
      .nullable(),
    name: z.string().nullable(),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable(),
    created_by: z.strictObject({ type: z.enum(['key', 'person']), id: keyId.nullable(), name: z.string() }),
    audience: audienceSchema,
    audience_unmatched: count.describe('Ids of the audience that name no active device.'),
    content: contentSchema,
    idempotency_key: z.string().nullable(),
    run_at: instant.nullable().describe('When a scheduled message runs or ran; null for one that was sent at once.'),
    created_at: instant,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
    expires_at: instant.nullable().describe('The end of the last send window; null before the run.'),
    report,
    by_channel: z.strictObject({ webpush: channelCounts, apns: channelCounts, fcm: channelCounts }),
    error_counts: z.partialRecord(deliveryCode, count).describe('Final failed and skipped deliveries by code.'),
    engagement: z.strictObject({ displayed: count, clicked: count, dismissed: count }),
  }),
);
const listedMessage = component(
  'ListedMessage',
  message.omit({ audience: true, content: true }).extend({ title: z.string().nullable().describe('Not rendered.') }),
);
const messagePage = component('MessagePage', z.strictObject(pageFields(listedMessage)));

const id = 'msg_02y9GVDsTuJUi2BOoCH5G3';
const noneOf = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
const summary = {
  id,
  status: 'sent',
  status_reason: null,
  name: 'Autumn sale',
  metadata: { campaign: 'autumn-26' },
  created_by: { type: 'key', id: 'key_02y9GVDsV2ZXUMbsiEJszB', name: 'Backend' },
};
const progress = {
  idempotency_key: 'sale-2026-11-21',
  run_at: null,
  created_at: '2026-11-21T10:15:29.800Z',
  started_at: '2026-11-21T10:15:29.900Z',
  finished_at: '2026-11-21T10:15:41.200Z',
  expires_at: '2026-11-22T10:15:29.900Z',
  report: { accepted: 3, sent: 2, failed: 1, skipped: 0 },
  by_channel: { webpush: { ...noneOf, accepted: 3, sent: 2, failed: 1 }, apns: noneOf, fcm: noneOf },
  error_counts: { unregistered: 1 },
  engagement: { displayed: 1, clicked: 1, dismissed: 0 },
};

export const messagePath = { id: { description: 'The id of a message.', example: id } };

export const messageOperations: readonly Operation[] = [
  {
    id: 'sendMessage',
    method: 'post',
    path: '/v1/messages',
    tag: 'Messages',
    summary: 'Send a message now, or schedule it',
    description:
      'Without `send_at`, waits up to SEND_WAIT_MS (20 s) for all outcomes, then answers with the numbers so far. With it, answers at once: audience, quota and profiles are those of the run. The body may have 1 MiB.',
    access: 'server',
    headers: [
      {
        name: 'Idempotency-Key',
        description: 'A repeat with the same key and the same request answers the first message and sends nothing.',
        schema: { type: 'string', pattern: idempotencyKeyPattern.source },
      },
    ],
    body: {
      schema: messageRequest,
      example: {
        audience: { external_ids: ['u-42'] },
        content: {
          title: "Hi {{first_name | default: 'there'}}",
          body: 'Your {{properties.plan}} offer is ready.',
          url: 'https://shop.example/offers',
          apns: { sound: 'bell.caf' },
        },
      },
    },
    answers: {
      200: {
        description:
          'Accepted, and mostly done; or, with `send_at`, scheduled; or, with `dry_run`, what a send would do.',
        schema: messageAnswer,
        example: { id, status: 'sent', replayed: false, report: { accepted: 3, sent: 2, failed: 1, skipped: 0 } },
      },
    },
    hasQuota: true,
    refusals: [404],
  },
  {
    id: 'listMessages',
    method: 'get',
    path: '/v1/messages',
    tag: 'Messages',
    summary: 'List messages, newest first',
    access: 'server',
    query: messageListQuery,
    answers: {
      200: {
        description: 'A page of messages, without audience and content.',
        schema: messagePage,
        example: {
          data: [{ ...summary, audience_unmatched: 0, ...progress, title: 'Sale' }],
          has_more: false,
          next_cursor: null,
        },
      },
    },
  },
  {
    id: 'getMessage',
    method: 'get',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary: 'Read a message with its numbers of the moment',
    access: 'server',
    pathParameters: messagePath,
    answers: {
      200: {
        description: 'The message.',
        schema: message,
        example: {
          ...summary,
          audience: { all: true },
          audience_unmatched: 0,
          content: { title: 'Sale', body: 'Now on' },
          ...progress,
        },
      },
    },
    refusals: [404],
  },
  {
    id: 'cancelMessage',
    method: 'post',
    path: '/v1/messages/{id}/cancel',
    tag: 'Messages',
    summary: 'Cancel a message that is scheduled or being sent',
    description:
      'Takes no body. A scheduled message will not run. Of one that is being sent, what is not begun or waits for a retry is skipped as `canceled` and refunded; what is on the wire ends and is recorded. Canceling again changes nothing. A message that was sent or has failed is 400 `not_cancelable`.',
    access: 'server',
    pathParameters: messagePath,
    answers: {
      200: {
        description: 'The canceled message; `report` has `pending` while its deliveries are being ended.',
        schema: message,
        example: {
          ...summary,
          status: 'canceled',
          audience: { all: true },
          audience_unmatched: 0,
          content: { title: 'Sale', body: 'Now on' },
          ...progress,
          run_at: '2026-11-21T12:00:00.000Z',
          started_at: null,
          expires_at: null,
          report: noneOf,
          by_channel: { webpush: noneOf, apns: noneOf, fcm: noneOf },
          error_counts: {},
          engagement: { displayed: 0, clicked: 0, dismissed: 0 },
        },
      },
    },
    refusals: [404],
  },
];
