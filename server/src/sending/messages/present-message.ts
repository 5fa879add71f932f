// A message as it is answered: its schema, an example, and the function that shapes a stored one.
import { z } from 'zod';
import { component, count, exampleOf, instant, keyId, messageId } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { audienceSchema } from '../../people/audience/audience.ts';
import { channelIds } from '../channels/channel.ts';
import { contentSchema } from '../content/content.ts';
import { deliveryCode } from '../delivery/delivery.ts';
import { messageStatus, noRuns, report, reportOf } from './message.ts';
import type { ListedMessage, StoredMessage } from './stored-queries.ts';

const channelCounts = component(
  'ChannelCounts',
  z.strictObject({ accepted: count, sent: count, failed: count, skipped: count }),
);

const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };

export const message = component(
  'Message',
  z.strictObject({
    id: messageId,
    status: messageStatus,
    status_reason: z.enum(noRuns).nullable(),
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
  {
    id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    status: 'sent',
    status_reason: null,
    name: 'Autumn sale',
    metadata: { campaign: 'autumn-26' },
    created_by: { type: 'key', id: 'key_02y9GVDsV2ZXUMbsiEJszB', name: 'Backend' },
    audience: { all: true },
    audience_unmatched: 0,
    content: { title: 'Sale', body: 'Now on' },
    idempotency_key: 'sale-2026-11-21',
    run_at: null,
    created_at: '2026-11-21T10:15:29.800Z',
    started_at: '2026-11-21T10:15:29.900Z',
    finished_at: '2026-11-21T10:15:41.200Z',
    expires_at: '2026-11-22T10:15:29.900Z',
    report: { accepted: 3, sent: 2, failed: 1, skipped: 0 },
    by_channel: { webpush: { ...none, accepted: 3, sent: 2, failed: 1 }, apns: none, fcm: none },
    error_counts: { unregistered: 1 },
    engagement: { displayed: 1, clicked: 1, dismissed: 0 },
  },
);

const { audience: _audience, content: _content, ...listedPart } = exampleOf(message);
export const listedMessage = component(
  'ListedMessage',
  message.omit({ audience: true, content: true }).extend({ title: z.string().nullable().describe('Not rendered.') }),
  { ...listedPart, title: 'Sale' },
);

export function presentMessage(stored: StoredMessage) {
  const { id, status, status_reason, name, metadata, created_by, audience_unmatched, ...rest } = presentFigures(stored);
  // Key order is the contract's.
  return {
    id,
    status,
    status_reason,
    name,
    metadata,
    created_by,
    audience: stored.audience,
    audience_unmatched,
    content: stored.content,
    ...rest,
  };
}

/** Shapes a message as lists show it. */
export function presentListed(stored: ListedMessage) {
  return { ...presentFigures(stored), title: stored.title };
}

function presentFigures(stored: ListedMessage) {
  const total = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
  for (const channel of channelIds) {
    for (const name of ['accepted', 'sent', 'failed', 'skipped'] as const)
      total[name] += stored.channels[channel][name];
  }
  // Key order is the contract's: jsonb keeps none.
  const countsOf = (channel: (typeof channelIds)[number]) => {
    const { accepted, sent, failed, skipped } = stored.channels[channel];
    return { accepted, sent, failed, skipped };
  };
  return {
    id: encodeId('msg', stored.id),
    status: stored.status,
    status_reason: stored.statusReason,
    name: stored.name,
    metadata: stored.metadata,
    created_by: stored.createdBy,
    audience_unmatched: stored.audienceUnmatched,
    idempotency_key: stored.idempotencyKey,
    run_at: stored.runAt,
    created_at: stored.createdAt,
    started_at: stored.startedAt,
    finished_at: stored.finishedAt,
    expires_at: stored.expiresAt,
    report: reportOf(total),
    by_channel: { webpush: countsOf('webpush'), apns: countsOf('apns'), fcm: countsOf('fcm') },
    error_counts: stored.errorCounts,
    engagement: { displayed: stored.displayed, clicked: stored.clicked, dismissed: stored.dismissed },
  };
}
