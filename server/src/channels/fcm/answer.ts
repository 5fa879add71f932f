// Turns Google's answer into an outcome (contract 7.6;
// https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode). FCM's own code decides before
// the status in the body, and that status before HTTP's. `INVALID_ARGUMENT` means a bad token or
// bad content. Only the details tell, and bad content must not retire a good token. Pure.
import type { OutboundResult } from '../../outbound/http.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import type { ErrorCode } from '../error-code.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';

/** The values of `FcmError.errorCode`. */
const codeOfFcmError: Readonly<Record<string, ErrorCode>> = {
  UNREGISTERED: 'unregistered',
  SENDER_ID_MISMATCH: 'credential_mismatch',
  QUOTA_EXCEEDED: 'rate_limited',
  UNAVAILABLE: 'provider_unavailable',
  INTERNAL: 'provider_unavailable',
  THIRD_PARTY_AUTH_ERROR: 'auth_failed',
};

/** The values of `error.status`, which are codes of google.rpc. */
const codeOfRpcStatus: Readonly<Record<string, ErrorCode>> = {
  NOT_FOUND: 'unregistered',
  UNAUTHENTICATED: 'auth_failed',
  PERMISSION_DENIED: 'auth_failed',
  RESOURCE_EXHAUSTED: 'rate_limited',
  UNAVAILABLE: 'provider_unavailable',
  INTERNAL: 'provider_unavailable',
};

/** A 404 without an FCM error means a wrong address or project, and says nothing of the device. */
const codeOfHttpStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_payload',
  401: 'auth_failed',
  403: 'auth_failed',
  404: 'auth_failed',
  405: 'invalid_payload',
  413: 'payload_too_large',
  429: 'rate_limited',
};

/** The outcome of a push. `nowMs` is the present, for a Retry-After that is a date. */
export function readAnswer(result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('fcm', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const { status, headers } = result;
  const json = readJson(provider.body);
  if (status >= 200 && status < 300) {
    const providerMessageId = presentReason(typeof json['name'] === 'string' ? json['name'] : undefined);
    return { kind: 'sent', providerMessageId, provider, latencyMs };
  }
  const error = readError(json);
  const retryAfter = headerText(headers, 'retry-after');
  const refusal = { status, errorCode: errorCodeOf(status, error), reason: reasonIn(error), retryAfter, latencyMs };
  return refused(refusal, provider, nowMs);
}

/**
 * Google's reason in an answer that the timeline kept: from FCM, or from the endpoint that gives
 * access tokens.
 */
export function reasonOf(provider: ProviderAnswer): string | null {
  const json = readJson(provider.body);
  const { error, error_description: description } = json;
  if (typeof error !== 'string') return reasonIn(readError(json));
  return presentReason([error, description].filter((word) => typeof word === 'string').join(': '));
}

function reasonIn({ fcmCode, status, message }: FcmError): string | null {
  return presentReason([fcmCode ?? status, message].filter(Boolean).join(': '));
}

/**
 * Whether Google refused the access token, so that a new token may help. False when Google refused
 * a key that the project uploaded there, such as an APNs key.
 */
export function isTokenRefused(outcome: Outcome): boolean {
  if (outcome.kind === 'sent' || outcome.provider?.httpStatus !== 401) return false;
  return !/^THIRD_PARTY_AUTH_ERROR/.test(outcome.reason ?? '');
}

interface FcmError {
  readonly fcmCode?: string;
  readonly status?: string;
  readonly message: string;
  /** The fields that google.rpc.BadRequest names as violations. */
  readonly fields: readonly string[];
}

function errorCodeOf(httpStatus: number, error: FcmError): ErrorCode {
  const { fcmCode = '', status = '' } = error;
  if (fcmCode === 'INVALID_ARGUMENT' || (fcmCode === '' && status === 'INVALID_ARGUMENT')) return codeOfArgument(error);
  if (Object.hasOwn(codeOfFcmError, fcmCode)) return codeOfFcmError[fcmCode] ?? 'unknown_error';
  if (Object.hasOwn(codeOfRpcStatus, status)) return codeOfRpcStatus[status] ?? 'unknown_error';
  return codeOfHttpStatus[httpStatus] ?? (httpStatus >= 500 ? 'provider_unavailable' : 'unknown_error');
}

function codeOfArgument({ fcmCode, message, fields }: FcmError): ErrorCode {
  const isAboutToken = fcmCode !== undefined && /registration token/i.test(message);
  if (isAboutToken || fields.includes('message.token')) return 'invalid_token';
  return /too (big|large)|exceed/i.test(message) ? 'payload_too_large' : 'invalid_payload';
}

function readError(json: Record<string, unknown>): FcmError {
  const error = recordOf(json['error']);
  const { status, message, details } = error;
  let fcmCode: string | undefined;
  const fields: string[] = [];
  for (const detail of listOf(details).map(recordOf)) {
    const { '@type': type, errorCode, fieldViolations } = detail;
    if (typeof errorCode === 'string' && /\.FcmError$/.test(String(type))) fcmCode ??= errorCode;
    for (const { field } of listOf(fieldViolations).map(recordOf)) if (typeof field === 'string') fields.push(field);
  }
  return {
    ...(fcmCode !== undefined && { fcmCode }),
    ...(typeof status === 'string' && { status }),
    message: typeof message === 'string' ? message : '',
    fields,
  };
}

function readJson(body: string | null): Record<string, unknown> {
  try {
    return recordOf(JSON.parse(body ?? ''));
  } catch {
    return {};
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
