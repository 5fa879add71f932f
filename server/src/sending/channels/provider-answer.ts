// A provider's HTTP answer as the timeline keeps it, and the parts that every channel reads alike.
// An allow-list chooses what is kept: no request header, no key, and nothing the database could not
// store.
import type { AnswerHeaders, HttpFailure, TransportError } from '@carillon/http2';
import type { OutboundResult } from '../../ground/outbound/http.ts';
import type { ChannelId, ProviderAnswer, RefusedOutcome } from './channel.ts';
import type { ErrorCode } from './error-code.ts';

/** The headers that the timeline keeps (contract 5.2). */
export const keptHeaders = [
  ...['apns-id', 'apns-unique-id', 'retry-after', 'location', 'content-type'],
  // WNS explains its answers only in headers.
  ...['x-wns-error-description', 'x-wns-status', 'x-wns-notificationstatus', 'x-wns-deviceconnectionstatus'],
  ...['x-wns-debug-trace', 'ms-cv'],
] as const;
const headerLengthMax = 1_024;
const reasonLengthMax = 200;

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** One header as text; undefined where it is absent. */
export function headerText(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function presentProviderAnswer(name: ChannelId, result: OutboundResult): ProviderAnswer {
  if ('transportError' in result) {
    const { transportError } = result;
    return { name, httpStatus: null, headers: noHeaders, body: null, truncated: false, transportError };
  }
  const headers: Record<string, string> = {};
  for (const kept of keptHeaders) {
    const value = headerText(result.headers, kept);
    if (value !== undefined) headers[kept] = value.slice(0, headerLengthMax);
  }
  const { status: httpStatus, body, truncated } = result;
  return { name, httpStatus, headers, body, truncated, transportError: null };
}

/**
 * The code of a request without an answer. Only after our own time limit is it unknown whether the
 * push arrived.
 */
function codeOfTransportError(error: TransportError): ErrorCode {
  return error === 'timeout' ? 'timeout' : 'provider_unavailable';
}

const retryableCodes: readonly ErrorCode[] = ['rate_limited', 'provider_unavailable', 'timeout'];

/**
 * Whether a refusal may be tried again at all. An undocumented answer may, unless its status blames
 * the request (contract 7.6).
 */
function isRetryable(errorCode: ErrorCode, status: number): boolean {
  const isClientError = status >= 400 && status < 500;
  return retryableCodes.includes(errorCode) || (errorCode === 'unknown_error' && !isClientError);
}

/** A push without an answer, which may be tried again. */
export function unanswered(failure: HttpFailure, provider: ProviderAnswer): RefusedOutcome {
  const errorCode = codeOfTransportError(failure.transportError);
  const latencyMs = Math.round(failure.latencyMs);
  const refusal = {
    kind: 'refused',
    errorCode,
    retryable: true,
    retryAfterMs: null,
    reason: null,
    provider,
    latencyMs,
  } as const;
  return failure.isUntried ? { ...refusal, isUntried: true } : refusal;
}

/** The parts of a refusal, after the channel read them in the provider's own way. */
export interface RefusingAnswer {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly reason: string | null;
  /** The header's text as it came. */
  readonly retryAfter: string | undefined;
  readonly latencyMs: number;
}

/** A push that was refused. `nowMs` is the present, for a Retry-After that is a date. */
export function refused(answer: RefusingAnswer, provider: ProviderAnswer, nowMs: number): RefusedOutcome {
  const { status, errorCode, reason, retryAfter, latencyMs } = answer;
  const retryable = isRetryable(errorCode, status);
  const waitMs = retryable ? retryAfterMs(retryAfter, nowMs) : null;
  return { kind: 'refused', errorCode, retryable, retryAfterMs: waitMs, reason, provider, latencyMs };
}

/** A push that a local check ended before any request. */
export function refuseLocally(errorCode: ErrorCode, reason?: string): RefusedOutcome {
  const base = { kind: 'refused', retryable: false, retryAfterMs: null, provider: null, latencyMs: 0 } as const;
  return { ...base, errorCode, reason: presentReason(reason) };
}

/**
 * A provider's reason, shortened and made storable: its JSON may have escaped any character. Null
 * without a reason.
 */
export function presentReason(text: string | undefined): string | null {
  const word = (text ?? '').trim().slice(0, reasonLengthMax).toWellFormed();
  if (word === '') return null;
  return word.includes('\0') ? word.replaceAll('\0', '\uFFFD') : word;
}

const retryAfterMsMin = 1_000;
const retryAfterMsMax = 3_600_000;

/**
 * The wait of a Retry-After, in seconds or as an HTTP-date (RFC 9110, 10.2.3), clamped to 1 s … 1
 * h; null for anything else. The oldest form of a date names no zone and ends in its year, but is
 * in GMT like the others.
 */
export function retryAfterMs(text: string | undefined, nowMs: number): number | null {
  const value = (text ?? '').trim();
  let waitMs: number;
  if (/^\d+$/.test(value)) waitMs = Number(value) * 1_000;
  else if (/^[A-Z][a-z]{2,8},? /.test(value))
    waitMs = Date.parse(/ \d{4}$/.test(value) ? `${value} GMT` : value) - nowMs;
  else return null;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, retryAfterMsMin), retryAfterMsMax);
}
