// Turns Apple's answer into an outcome (contract 7.6). The reason decides before the status,
// because 400 and 403 each stand for faults of the token, of our credential and of the content.
// Pure. A body that is not JSON counts as an answer without a reason.
import type { OutboundResult } from '../../outbound/http.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import type { ErrorCode } from '../error-code.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';

/**
 * https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
 */
const codeOfReason: Readonly<Record<string, ErrorCode>> = {
  BadCollapseId: 'invalid_payload',
  BadDeviceToken: 'invalid_token',
  BadExpirationDate: 'invalid_payload',
  BadMessageId: 'invalid_payload',
  BadPriority: 'invalid_payload',
  BadTopic: 'auth_failed',
  DeviceTokenNotForTopic: 'credential_mismatch',
  DuplicateHeaders: 'invalid_payload',
  IdleTimeout: 'provider_unavailable',
  InvalidPushType: 'invalid_payload',
  MissingDeviceToken: 'invalid_token',
  MissingTopic: 'auth_failed',
  PayloadEmpty: 'invalid_payload',
  TopicDisallowed: 'auth_failed',
  BadCertificate: 'auth_failed',
  BadCertificateEnvironment: 'credential_mismatch',
  ExpiredProviderToken: 'auth_failed',
  Forbidden: 'auth_failed',
  InvalidProviderToken: 'auth_failed',
  MissingProviderToken: 'auth_failed',
  UnrelatedKeyIdInToken: 'auth_failed',
  BadEnvironmentKeyIdInToken: 'credential_mismatch',
  // Apple documents the reason above, but has been seen to send this one.
  BadEnvironmentKeyInToken: 'credential_mismatch',
  // The path is wrong by a fault of the request: this service never sends a token that is not
  // hexadecimal.
  BadPath: 'invalid_payload',
  MethodNotAllowed: 'invalid_payload',
  ExpiredToken: 'unregistered',
  Unregistered: 'unregistered',
  PayloadTooLarge: 'payload_too_large',
  TooManyProviderTokenUpdates: 'rate_limited',
  TooManyRequests: 'rate_limited',
  InternalServerError: 'provider_unavailable',
  ServiceUnavailable: 'provider_unavailable',
  Shutdown: 'provider_unavailable',
};

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_payload',
  403: 'auth_failed',
  404: 'invalid_payload',
  405: 'invalid_payload',
  410: 'unregistered',
  413: 'payload_too_large',
  429: 'rate_limited',
};

/**
 * Apple: "Too many requests were made consecutively to the same device token" (page above). Apple
 * still accepts pushes to other tokens.
 */
const throttledTokenReason = 'TooManyRequests';

/** The outcome of a push. `nowMs` is the present, for a Retry-After that is a date. */
export function readAnswer(result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('apns', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const { status, headers } = result;
  if (status >= 200 && status < 300) {
    const providerMessageId = presentReason(headerText(headers, 'apns-id'));
    return { kind: 'sent', providerMessageId, provider, latencyMs };
  }
  const { reason, timestamp } = readBody(provider.body);
  const errorCode = errorCodeOf(status, reason);
  const retryAfter = headerText(headers, 'retry-after');
  const refusal = { status, errorCode, reason: presentReason(reason), retryAfter, latencyMs };
  const isGone = errorCode === 'unregistered' && timestamp !== undefined;
  return {
    ...refused(refusal, provider, nowMs),
    ...(isGone && { goneAtMs: timestamp }),
    ...(reason === throttledTokenReason && { isOfToken: true }),
  };
}

/** Apple's reason in an answer that the timeline kept. */
export function reasonOf(provider: ProviderAnswer): string | null {
  return presentReason(readBody(provider.body).reason);
}

function errorCodeOf(status: number, reason: string | undefined): ErrorCode {
  if (reason !== undefined && Object.hasOwn(codeOfReason, reason)) return codeOfReason[reason] ?? 'unknown_error';
  return codeOfStatus[status] ?? (status >= 500 ? 'provider_unavailable' : 'unknown_error');
}

/**
 * The years 2000 to 2100, in milliseconds. A number outside this range is taken for no time at all.
 */
const [timestampMin, timestampMax] = [946_684_800_000, 4_102_444_800_000];

function readBody(body: string | null): { reason?: string; timestamp?: number } {
  let json: { reason?: unknown; timestamp?: unknown } | null;
  try {
    json = JSON.parse(body ?? '');
  } catch {
    return {};
  }
  const { reason, timestamp } = json ?? {};
  const isInstant = typeof timestamp === 'number' && timestamp >= timestampMin && timestamp <= timestampMax;
  return { ...(typeof reason === 'string' && { reason }), ...(isInstant && { timestamp }) };
}
