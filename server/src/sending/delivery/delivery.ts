// A delivery: one message to one device. Its states, the numbers that are stored for them, and its
// timeline.
//
//             ┌─► skipped
//  (pending) ─┼─► sent
//      ▲      ├─► failed
//      │      └─► retrying ──(retry due)──► (pending)
//
// `sent`, `failed` and `skipped` are final. Displayed, clicked and dismissed are marks beside the
// status, and each mark is set once.

import { transportErrors } from '@carillon/http2';
import { z } from 'zod';
import { component, count, instantText } from '../../ground/http/schemas.ts';
import { invalidReason } from '../../people/devices/device.ts';
import { type ChannelId, channelIds, type Outcome, type Platform, type ProviderAnswer } from '../channels/channel.ts';
import { type ErrorCode, errorCodes } from '../channels/error-code.ts';
import { keptHeaders } from '../channels/provider-answer.ts';

export const skipReasons = [
  'not_configured',
  'device_inactive',
  'empty_content',
  'canceled',
  'local_time_past',
] as const;
export type SkipReason = (typeof skipReasons)[number];

export const deliveryStatuses = ['retrying', 'sent', 'failed', 'skipped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export type Mark = 'displayed' | 'clicked' | 'dismissed';

// Stored as small integers, also named in migrations/0005. Never renumber: append.
const skipReasonOffset = 101;

export function statusNumber(status: DeliveryStatus): number {
  return deliveryStatuses.indexOf(status);
}

export function statusOfNumber(number: number): DeliveryStatus {
  return deliveryStatuses[number] ?? 'failed';
}

export function errorNumber(code: ErrorCode): number {
  return errorCodes.indexOf(code) + 1;
}

export function skipNumber(reason: SkipReason): number {
  return skipReasons.indexOf(reason) + skipReasonOffset;
}

/**
 * All numbers of one code of the API. `not_configured` has two: one for the failure and one for the
 * skip.
 */
export function numbersOfCode(code: string): number[] {
  const numbers: number[] = [];
  if (errorCodes.some((known) => known === code)) numbers.push(errorNumber(code as ErrorCode));
  if (skipReasons.some((known) => known === code)) numbers.push(skipNumber(code as SkipReason));
  return numbers;
}

export function codeOfNumber(number: number | null): ErrorCode | SkipReason | null {
  if (number === null) return null;
  return errorCodes[number - 1] ?? skipReasons[number - skipReasonOffset] ?? 'unknown_error';
}

export function channelNumber(channel: ChannelId): number {
  return channelIds.indexOf(channel);
}

export function channelOfNumber(number: number): ChannelId {
  return channelIds[number] ?? 'webpush';
}

export const platformOfChannel: Readonly<Record<ChannelId, Platform>> = { webpush: 'web', apns: 'ios', fcm: 'android' };

const providerAnswer = component(
  'ProviderAnswer',
  z.strictObject({
    name: z.enum(channelIds),
    http_status: z.int().nullable(),
    headers: z.partialRecord(z.enum(keptHeaders), z.string()),
    body: z.string().nullable().describe('As received, up to 4,096 bytes.'),
    truncated: z.boolean(),
    transport_error: z.enum(transportErrors).nullable().describe('Why there is no answer; then http_status is null.'),
  }),
);
const errorCode = component('ErrorCode', z.enum(errorCodes).describe('Why a delivery failed. Closed in v1.'));
const skipReason = component('SkipReason', z.enum(skipReasons).describe('Why a delivery was not tried.'));
/** The values of `error_code`. `not_configured` is both a failure and a skip. */
export const deliveryCode = component('DeliveryCode', z.enum([...new Set([...errorCodes, ...skipReasons])]));

const at = instantText;
/**
 * A provider request with a known outcome, in the form that is stored and that the API shows
 * (contract 5.2).
 */
const attempt = z.strictObject({
  at,
  type: z.literal('attempt'),
  attempt: z.int().min(1),
  outcome: z.enum(['sent', 'retry', 'failed']),
  error_code: errorCode.nullable(),
  latency_ms: count,
  retry_at: instantText.nullable(),
  provider: providerAnswer.nullable().describe('Null when nothing was sent: a check of ours refused the push.'),
});
export const timelineEntry = component(
  'TimelineEntry',
  z.discriminatedUnion('type', [
    z.strictObject({ at, type: z.literal('queued') }),
    attempt,
    z.strictObject({ at, type: z.literal('skipped'), reason: skipReason }),
    z.strictObject({ at, type: z.literal('expired') }),
    z.strictObject({ at, type: z.literal('device_invalidated'), reason: invalidReason }),
    z.strictObject({ at, type: z.literal('displayed') }),
    z.strictObject({ at, type: z.literal('clicked'), action: z.string().nullable() }),
    z.strictObject({ at, type: z.literal('dismissed') }),
  ]),
);
export type Attempt = Readonly<z.output<typeof attempt>>;
export type PresentedAnswer = Readonly<z.output<typeof providerAnswer>>;
export type TimelineEntry = Readonly<z.output<typeof timelineEntry>>;

export function presentAttempt(
  attempt: number,
  made: { readonly outcome: Outcome; readonly atMs: number; readonly retryAtMs: number | null },
): Attempt {
  const { outcome, atMs, retryAtMs } = made;
  return {
    at: new Date(atMs).toISOString(),
    type: 'attempt',
    attempt,
    outcome: outcome.kind === 'sent' ? 'sent' : retryAtMs === null ? 'failed' : 'retry',
    error_code: outcome.kind === 'sent' ? null : outcome.errorCode,
    latency_ms: Math.round(outcome.latencyMs),
    retry_at: retryAtMs === null ? null : new Date(retryAtMs).toISOString(),
    provider: presentAnswer(outcome.provider),
  };
}

export function presentAnswer(answer: ProviderAnswer | null): PresentedAnswer | null {
  return (
    answer && {
      name: answer.name,
      http_status: answer.httpStatus,
      headers: answer.headers,
      body: answer.body,
      truncated: answer.truncated,
      transport_error: answer.transportError,
    }
  );
}
