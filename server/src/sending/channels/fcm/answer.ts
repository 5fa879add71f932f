// Turns Google's answer into an outcome (contract 7.6;
// https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode). FCM's own code decides before
// the status in the body, and that status before HTTP's. `INVALID_ARGUMENT` means a bad token or
// bad content. Only the details tell, and bad content must not retire a good token. Pure.
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import { codeOfStatus, findByReason, readBody } from '../answer-table.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import type { ErrorCode } from '../error-code.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';
import { fcmErrors, googleErrors } from './answers.ts';

/** The outcome of a push. `nowMs` is the present, for a Retry-After that is a date. */
export function readAnswer(result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('fcm', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const { status, headers } = result;
  const { json, words } = readBody(provider.body);
  if (status >= 200 && status < 300) {
    const providerMessageId = presentReason(typeof json['name'] === 'string' ? json['name'] : undefined);
    return { kind: 'sent', providerMessageId, provider, latencyMs };
  }
  const error = readError(json);
  const retryAfter = headerText(headers, 'retry-after');
  const reason = reasonIn(error) ?? presentReason(words);
  const refusal = { status, errorCode: errorCodeOf(status, error), reason, retryAfter, latencyMs };
  return refused(refusal, provider, nowMs);
}

/**
 * Google's reason in an answer that the timeline kept: from FCM, or from the endpoint that gives
 * access tokens.
 */
export function reasonOf(provider: ProviderAnswer): string | null {
  const { json, words } = readBody(provider.body);
  const { error, error_description: description } = json;
  if (typeof error !== 'string') return reasonIn(readError(json)) ?? presentReason(words);
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
  return !/^THIRD_PARTY_AUTH_ERROR/i.test(outcome.reason ?? '');
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
  const isArgument = (fcmCode || status).toUpperCase() === 'INVALID_ARGUMENT';
  const word = isArgument ? kindOfArgument(error) : fcmCode;
  const find = (rows: typeof fcmErrors, said: string) =>
    findByReason(rows, { status: httpStatus, words: [said], text: '' })?.code;
  const code = find(fcmErrors, word);
  if (code !== undefined) return code;
  // An undocumented code of FCM says nothing about the project.
  if (fcmCode !== '' && httpStatus === 404) return 'unknown_error';
  return find(googleErrors, status) ?? codeOfStatus(httpStatus, googleErrors);
}

/**
 * Tells the meanings of `INVALID_ARGUMENT` apart. The token is invalid only if Google's sentence is
 * about it or the violation names its field.
 */
function kindOfArgument({ fcmCode, message, fields }: FcmError): string {
  const isSentence = /registration token/i.test(message) && /not (?:a )?valid|invalid|malformed/i.test(message);
  const isTokenNamed = fcmCode !== undefined && fields.length === 0 && isSentence;
  if (isTokenNamed || fields.includes('message.token')) return 'INVALID_ARGUMENT of the token';
  return /too (big|large)|exceed/i.test(message) ? 'INVALID_ARGUMENT of the size' : 'INVALID_ARGUMENT';
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

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
