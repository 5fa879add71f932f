// A message: what a caller asks for. The request, its fingerprint, and the statuses with the moves
// between them.
//
//   (send_at) ─► scheduled ─┬─(run_at)─► sending ─┬─► sent
//   (no send_at) ───────────┼──────────────► ▲    ├─► failed
//                           │                     └─► canceled
//                           ├─► canceled
//                           └─► failed
//
// A scheduled message is canceled by a cancel. It fails for one of the reasons in `noRuns`. A
// sending message ends when all deliveries are final: as failed with sent = 0 and failed > 0,
// otherwise as sent. A cancel or the suspension of its app ends it as canceled.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { component, count, shownName, text } from '../../ground/http/schemas.ts';
import { type Instant, instantField, writeInstant } from '../../ground/values/instant.ts';
import { type Issue, issueOf } from '../../ground/values/issue.ts';
import { audienceSchema } from '../../people/audience/audience.ts';
import { contentSchema } from '../content/content.ts';
import { localTimePasts } from './local-time.ts';

export const messageStatuses = ['scheduled', 'sending', 'sent', 'failed', 'canceled'] as const;
export type MessageStatus = (typeof messageStatuses)[number];
export const messageStatus = component('MessageStatus', z.enum(messageStatuses));

/** The reasons why a scheduled message did not run. */
export const noRuns = ['quota_exceeded', 'segment_invalid', 'app_suspended', 'expired', 'internal_error'] as const;
export type NoRun = (typeof noRuns)[number];

/** The final statuses: a message never leaves them. */
export function isFinalStatus(status: MessageStatus): boolean {
  return status === 'sent' || status === 'failed' || status === 'canceled';
}

const metadataKeysMax = 10;
const metadataKey = /^[A-Za-z0-9_.-]{1,64}$/;
const metadataTextMax = 512;

// The given object itself is kept, because a copy by the schema library would lose a key named
// `__proto__`.
const metadataSchema = z
  .unknown()
  .superRefine((value, ctx) => {
    for (const issue of metadataIssues(value)) ctx.issues.push(issueOf(issue, value));
  })
  .transform((value) => value as Readonly<Record<string, string | number | boolean>>)
  .meta({
    type: 'object',
    maxProperties: metadataKeysMax,
    propertyNames: { pattern: metadataKey.source },
    additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: metadataTextMax },
  });

function metadataIssues(value: unknown): Issue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path: [], code: 'invalid_type', message: 'metadata must be an object.' }];
  }
  const entries = Object.entries(value);
  if (entries.length > metadataKeysMax) {
    return [{ path: [], code: 'too_big', message: `metadata holds at most ${metadataKeysMax} keys.` }];
  }
  return entries.flatMap(([key, item]): Issue[] => {
    const path = [key];
    if (!metadataKey.test(key)) {
      const message = 'A metadata key has 1 to 64 of the characters A-Z a-z 0-9 _ . -';
      return [{ path, code: 'invalid_format', message }];
    }
    if (typeof item === 'string' && item.length > metadataTextMax) {
      return [{ path, code: 'too_big', message: `A metadata value has at most ${metadataTextMax} characters.` }];
    }
    if (['string', 'number', 'boolean'].includes(typeof item)) return [];
    return [{ path, code: 'invalid_type', message: 'A metadata value is a string, a number or a boolean.' }];
  });
}

const requestFields = z.strictObject({
  audience: audienceSchema,
  content: contentSchema,
  exclude_segment_id: z.string().nullish(),
  name: shownName(text(128)).nullish(),
  metadata: metadataSchema.nullish(),
  dry_run: z.boolean().nullish(),
  per_second: z
    .int()
    .min(1)
    .max(100_000)
    .nullish()
    .describe('Upper bound of provider requests per second for this message, over all workers, retries included.'),
  send_at: instantField.nullish().describe('30 seconds to 365 days ahead; without it the message is sent now.'),
  local_time: z
    .boolean()
    .nullish()
    .describe('Only with `send_at`: its date and time of day count in the time zone of each device.'),
  local_time_past: z
    .enum(localTimePasts)
    .nullish()
    .describe(
      'Only with `local_time`: what to do about zones in which that time is past already; `refuse` by default.',
    ),
});

export const messageRequestSchema = component(
  'MessageRequest',
  requestFields.superRefine((request, ctx) => {
    for (const issue of timingIssues(request)) ctx.issues.push(issueOf(issue, request));
  }),
  {
    audience: { external_ids: ['u-42'] },
    content: {
      title: "Hi {{first_name | default: 'there'}}",
      body: 'Your {{properties.plan}} offer is ready.',
      url: 'https://shop.example/offers',
      apns: { sound: 'bell.caf' },
    },
  },
);
export type MessageRequest = z.output<typeof messageRequestSchema>;

function timingIssues(request: z.output<typeof requestFields>): Issue[] {
  const missing = (name: 'send_at' | 'local_time', by: string): Issue[] => [
    { path: [name], code: 'required', message: `${name} is required with ${by}.` },
  ];
  if (request.local_time && !request.send_at) return missing('send_at', 'local_time');
  if (request.local_time_past && !request.local_time) return missing('local_time', 'local_time_past');
  return [];
}

/**
 * The fingerprint of a request (contract 16): SHA-256 over the canonical JSON (RFC 8785) of the
 * validated request. Times are in UTC with milliseconds. Top-level nulls and `dry_run: false` are
 * removed.
 */
export function fingerprintOf(request: MessageRequest): Buffer {
  return createHash('sha256').update(canonicalTextOf(request)).digest();
}

/** The text that is hashed. Two spellings of the same request give the same text. */
export function canonicalTextOf({ send_at: sendAt, ...request }: MessageRequest): string {
  // For a local time the wall-clock time counts. So the same instant in another offset is another
  // request.
  const write = request.local_time ? writeInstant : ({ ms }: Instant) => new Date(ms).toISOString();
  const times = { send_at: sendAt ? write(sendAt) : null };
  const given = Object.entries({ ...request, ...times }).filter(
    ([name, value]) => value !== null && value !== undefined && !(name === 'dry_run' && value === false),
  );
  return canonicalize(Object.fromEntries(given)) ?? '';
}

/** The numbers of contract 5.1. `pending` is present only while some delivery is not final. */
export const report = component(
  'Report',
  z.strictObject({
    accepted: count.describe('Deliveries made.'),
    sent: count.describe('Deliveries that a push service took.'),
    failed: count.describe(
      'Deliveries that ended without the acceptance of a push service; after `timeout` it is unknown whether it took the push.',
    ),
    skipped: count.describe('Deliveries that were deliberately not tried.'),
    pending: z.int().min(1).optional().describe('Only while some delivery is not final.'),
  }),
);
export type Report = Readonly<z.output<typeof report>>;

export function reportOf(counts: { accepted: number; sent: number; failed: number; skipped: number }): Report {
  const { accepted, sent, failed, skipped } = counts;
  const pending = accepted - sent - failed - skipped;
  return { accepted, sent, failed, skipped, ...(pending > 0 && { pending }) };
}
