// A message: what is asked. The request, its fingerprint, and the statuses with the moves between them.
//
//   (send_at) ─► scheduled ─(run_at)─► sending ─┬─► sent       all deliveries final, sent > 0 or failed = 0
//   (no send_at) ──────────────────────► ▲      ├─► failed     all deliveries final, sent = 0 and failed > 0
//                                               └─► canceled   by a cancel, or its app was suspended
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { audienceSchema } from '../audience/audience.ts';
import { contentSchema } from '../content/content.ts';

export const messageStatuses = ['scheduled', 'sending', 'sent', 'failed', 'canceled'] as const;
export type MessageStatus = (typeof messageStatuses)[number];

/** The statuses that nothing moves a message out of. */
export function isFinalStatus(status: MessageStatus): boolean {
  return status === 'sent' || status === 'failed' || status === 'canceled';
}

const metadataKeysMax = 10;
const metadataSchema = z
  .record(
    z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'A metadata key has 1 to 64 of the characters A-Z a-z 0-9 _ . -'),
    z.union([z.string().max(512), z.number(), z.boolean()]),
  )
  .refine((value) => Object.keys(value).length <= metadataKeysMax, {
    params: { code: 'too_big' },
    message: `metadata holds at most ${metadataKeysMax} keys.`,
  })
  .meta({ maxProperties: metadataKeysMax });

export const messageRequestSchema = z.strictObject({
  audience: audienceSchema,
  content: contentSchema,
  name: z.string().max(128).nullish(),
  metadata: metadataSchema.nullish(),
  dry_run: z.boolean().nullish(),
  send_at: z
    .null({ error: () => 'This version sends at once: leave send_at out.' })
    .optional()
    .describe('This version sends at once: null, or left out.'),
});
export type MessageRequest = z.output<typeof messageRequestSchema>;

/**
 * What makes two requests the same (contract 16): SHA-256 over the canonical JSON (RFC 8785) of the validated request
 * without top-level nulls and without `dry_run: false`.
 */
export function fingerprintOf(request: MessageRequest): Buffer {
  const given = Object.entries(request).filter(
    ([name, value]) => value !== null && value !== undefined && !(name === 'dry_run' && value === false),
  );
  return createHash('sha256')
    .update(canonicalize(Object.fromEntries(given)) ?? '')
    .digest();
}

/** The four numbers of contract 5.1; `pending` only while some delivery is not final. */
export interface Report {
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly pending?: number;
}

export function reportOf(counts: { accepted: number; sent: number; failed: number; skipped: number }): Report {
  const { accepted, sent, failed, skipped } = counts;
  const pending = accepted - sent - failed - skipped;
  return { accepted, sent, failed, skipped, ...(pending > 0 && { pending }) };
}
