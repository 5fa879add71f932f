// A delivery: one message to one device. Its states, the numbers they are stored as, and its timeline.
//
//             ┌─► skipped (not_configured, device_inactive, empty_content, canceled, local_time_past)
//  (pending) ─┼─► sent
//      ▲      ├─► failed
//      │      └─► retrying ──(retry due)──► (pending)
//
// `sent`, `failed` and `skipped` are final. Displayed, clicked and dismissed are marks beside the status, each set once.
import { type ChannelId, channelIds, type Outcome, type Platform, type ProviderAnswer } from '../channels/channel.ts';
import { type ErrorCode, errorCodes } from '../channels/error-code.ts';

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

// Stored as small integers; migrations/0005 says the same. Never renumber: append.
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

/** All numbers that a code of the API stands for: `not_configured` is both a failure and a skip. */
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

/** One provider request whose outcome is known, as it is stored and as the API shows it (contract 5.2). */
export interface Attempt {
  readonly at: string;
  readonly type: 'attempt';
  readonly attempt: number;
  readonly outcome: 'sent' | 'retry' | 'failed';
  readonly error_code: ErrorCode | null;
  readonly latency_ms: number;
  readonly retry_at: string | null;
  readonly provider: PresentedAnswer | null;
}

export interface PresentedAnswer {
  readonly name: ChannelId;
  readonly http_status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly truncated: boolean;
  readonly transport_error: string | null;
}

export type TimelineEntry =
  | Attempt
  | { readonly at: string; readonly type: 'queued' | 'displayed' | 'dismissed' }
  | { readonly at: string; readonly type: 'clicked'; readonly action: string | null }
  | { readonly at: string; readonly type: 'skipped'; readonly reason: string }
  | { readonly at: string; readonly type: 'expired' }
  | { readonly at: string; readonly type: 'device_invalidated'; readonly reason: string };

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
