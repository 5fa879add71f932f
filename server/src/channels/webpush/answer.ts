// Turns a push service's answer into an outcome (contract 7.6). The body's reason decides before
// the status, because vendors give the same status for a dead subscription, a wrong key and a bad
// request. Pure. A body that is not JSON counts as an answer without a reason.
import type { OutboundResult } from '../../outbound/http.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import type { ErrorCode } from '../error-code.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';
import { type PushVendor, vendorOf } from './push-hosts.ts';

/**
 * Apple's reasons. Apple lists statuses and reasons without pairing them, so only the reason is
 * read.
 */
const codeOfAppleReason: Readonly<Record<string, ErrorCode>> = {
  BadPath: 'invalid_token',
  Unregistered: 'unregistered',
  ExpiredToken: 'unregistered',
  VapidPkHashMismatch: 'credential_mismatch',
  BadJwtToken: 'auth_failed',
  BadVapidPublicKey: 'auth_failed',
  BadAuthorizationHeader: 'auth_failed',
  PayloadTooLarge: 'payload_too_large',
  BadTtl: 'invalid_payload',
  BadUrgency: 'invalid_payload',
  BadWebPushTopic: 'invalid_payload',
  BadWebPushRequest: 'invalid_payload',
  MethodNotAllowed: 'invalid_payload',
  TooManyRequests: 'rate_limited',
  IdleTimeout: 'provider_unavailable',
  InternalServerError: 'provider_unavailable',
  ServiceUnavailable: 'provider_unavailable',
  Shutdown: 'provider_unavailable',
};

/** Mozilla's errno (autopush-rs, docs/src/errors.md). */
const codeOfMozillaErrno: Readonly<Record<number, ErrorCode>> = {
  101: 'invalid_payload',
  102: 'unregistered',
  103: 'unregistered',
  104: 'payload_too_large',
  105: 'unregistered',
  106: 'unregistered',
  108: 'invalid_payload',
  109: 'auth_failed',
  110: 'invalid_payload',
  111: 'invalid_payload',
  112: 'invalid_payload',
  113: 'invalid_payload',
  114: 'invalid_payload',
  201: 'provider_unavailable',
  202: 'provider_unavailable',
  900: 'provider_unavailable',
  901: 'provider_unavailable',
  902: 'provider_unavailable',
  903: 'provider_unavailable',
  999: 'provider_unavailable',
};

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_payload',
  401: 'auth_failed',
  403: 'auth_failed',
  404: 'unregistered',
  405: 'invalid_payload',
  410: 'unregistered',
  413: 'payload_too_large',
  429: 'rate_limited',
};

/**
 * The outcome of a push. `host` is the push service's; `nowMs` is the present, for a Retry-After
 * that is a date.
 */
export function readAnswer(host: string, result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('webpush', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const header = (name: string) => headerText(result.headers, name);
  const vendor = vendorOf(host);
  const isThrottled = vendor === 'microsoft' && header('x-wns-status') === 'channelthrottled';
  if (result.status >= 200 && result.status < 300 && !isThrottled) {
    const messageId = header('apns-id') ?? header('x-wns-msg-id') ?? header('location');
    return { kind: 'sent', providerMessageId: presentReason(messageId), provider, latencyMs };
  }
  const { status } = result;
  const said = readBody(provider);
  const errorCode = isThrottled ? 'rate_limited' : errorCodeOf(vendor, status, said);
  const retryAfter = header('retry-after') ?? (vendor === 'microsoft' ? header('x-wns-continue-after') : undefined);
  const reason = reasonIn(said, header('x-wns-error-description') ?? header('x-wns-status'));
  return refused({ status, errorCode, reason, retryAfter, latencyMs }, provider, nowMs);
}

/**
 * The push service's reason in an answer that the timeline kept. Microsoft's reason is missing
 * there, because its headers are not kept.
 */
export function reasonOf(provider: ProviderAnswer): string | null {
  return reasonIn(readBody(provider));
}

function reasonIn(said: Said, wnsReason?: string): string | null {
  return presentReason(said.reason ?? wnsReason ?? said.mozilla ?? said.text);
}

/** The readable parts of a refusal's body. */
interface Said {
  readonly reason?: string;
  readonly errno?: number;
  /** Mozilla's error number with its message. */
  readonly mozilla?: string;
  /** The body, if it is neither JSON nor a page for browsers. */
  readonly text?: string;
}

function readBody({ body }: ProviderAnswer): Said {
  const text = body?.trim() ?? '';
  if (!text.startsWith('{')) return text.startsWith('<') ? {} : { text };
  let json: { reason?: unknown; errno?: unknown; message?: unknown; error?: unknown };
  try {
    json = JSON.parse(text);
  } catch {
    return {};
  }
  const { reason, errno, message, error } = json;
  if (typeof reason === 'string') return { reason };
  if (typeof errno !== 'number') return {};
  const word = [message, error].find((candidate) => typeof candidate === 'string') ?? '';
  return { errno, mozilla: `${errno} ${word}` };
}

function errorCodeOf(vendor: PushVendor, status: number, said: Said): ErrorCode {
  return codeOfReason(vendor, status, said) ?? codeOfVendorStatus(vendor, status) ?? codeOfPlainStatus(status);
}

function codeOfReason(
  vendor: PushVendor,
  status: number,
  { reason, errno, mozilla, text }: Said,
): ErrorCode | undefined {
  if (reason !== undefined && Object.hasOwn(codeOfAppleReason, reason)) return codeOfAppleReason[reason];
  if (errno !== undefined) {
    if (status === 429) return 'rate_limited';
    // Mozilla answers 401 and errno 109 for a key other than the subscription's, as for every fault
    // of the VAPID token. Only the message tells.
    if (errno === 109 && /key ?mismatch/i.test(mozilla ?? '')) return 'credential_mismatch';
    return codeOfMozillaErrno[errno];
  }
  if (vendor === 'google' && text !== undefined) {
    if (status === 403 && text.includes('do not correspond to the credentials')) return 'credential_mismatch';
    if (status === 400 && text.includes('UnauthorizedRegistration')) return 'credential_mismatch';
  }
  return undefined;
}

function codeOfVendorStatus(vendor: PushVendor, status: number): ErrorCode | undefined {
  if (vendor !== 'microsoft') return undefined;
  return status === 403 ? 'credential_mismatch' : status === 406 ? 'rate_limited' : undefined;
}

function codeOfPlainStatus(status: number): ErrorCode {
  return codeOfStatus[status] ?? (status >= 500 ? 'provider_unavailable' : 'unknown_error');
}
