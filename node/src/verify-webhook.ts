// Verifies that a request comes from Carillon: HMAC-SHA256 over `<t>.<raw body>`, compared with
// `service-signature`. It works on the received bytes and never on parsed JSON. The body is not
// read before its signature is verified.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isAnyArrayBuffer } from 'node:util/types';
import type { WebhookEvent } from './webhook-event.ts';

/** The reason for which a request was refused. */
export type WebhookRefusal =
  /** The header `service-signature` is missing. */
  | 'missing_header'
  /** The header has no `t`, or its `t` is not a number. */
  | 'invalid_timestamp'
  /** `t` differs from this clock by more than the tolerance, in either direction. */
  | 'timestamp_out_of_tolerance'
  /** The header has no `v1`. */
  | 'missing_signature'
  /**
   * No `v1` matches the body under any of the secrets: the secret is another one, or the bytes were
   * changed.
   */
  | 'wrong_signature'
  /** The signature is valid, but the body is no event. */
  | 'invalid_body';

/** The request cannot be trusted; answer 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface VerifyWebhookOptions {
  /** How far the request's time may differ from this clock, in either direction. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
  /** The current time in milliseconds since 1970. Default: `Date.now()`. */
  readonly nowMs?: number | undefined;
}

/** The value of `service-signature`, in any form that frameworks give it. */
export type SignatureHeader = string | readonly string[] | null | undefined;

/** The bytes of a body as they arrived (a Buffer is a Uint8Array), or the same bytes as text. */
export type RawBody = string | Uint8Array | ArrayBuffer;

const toleranceSecondsDefault = 300;

/**
 * Returns the event of a request if its signature is valid. Throws a `WebhookVerificationError`
 * otherwise.
 *
 * `rawBody`: a parsed object is a `TypeError`, because its original bytes are gone.
 * `secret`: one secret, or several during a rotation; one `v1` that matches one of them is enough.
 * One line break at its end is ignored, because files end with one. A missing or empty secret is a
 * `TypeError`, because anybody could sign with it.
 */
export function verifyWebhook(
  rawBody: RawBody,
  header: SignatureHeader,
  secret: string | readonly string[] | undefined,
  options: VerifyWebhookOptions = {},
): WebhookEvent {
  const body = bytesOf(rawBody);
  const secrets = secretsOf(secret);
  const toleranceSeconds = toleranceOf(options.toleranceSeconds);
  const { t, signatures } = readHeader(header);
  if (!isNumber(t)) throw new WebhookVerificationError('invalid_timestamp', 'The signature has no time.');
  const nowMs = options.nowMs ?? Date.now();
  const ageSeconds = nowMs / 1000 - Number(t);
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    throw new WebhookVerificationError('timestamp_out_of_tolerance', describeAge(ageSeconds, toleranceSeconds));
  }
  if (signatures.length === 0)
    throw new WebhookVerificationError('missing_signature', 'The header has no signature v1.');
  const wanted = secrets.map((each) => signatureOf(each, t, body));
  if (!signatures.some((given) => wanted.some((one) => isSame(given, one)))) {
    const message = 'No signature fits: another secret, or a body that is not the bytes that were sent.';
    throw new WebhookVerificationError('wrong_signature', message);
  }
  return readEvent(body);
}

/**
 * The header that Carillon would send with a body, for tests of your own endpoint. `nowMs`: the
 * time of signing.
 */
export function signWebhook(
  rawBody: RawBody,
  secret: string | readonly string[],
  { nowMs = Date.now() }: { readonly nowMs?: number | undefined } = {},
): string {
  const t = String(Math.floor(nowMs / 1000));
  const body = bytesOf(rawBody);
  return [`t=${t}`, ...secretsOf(secret).map((each) => `v1=${signatureOf(each, t, body)}`)].join(',');
}

function signatureOf(secret: string, t: string, body: Uint8Array): string {
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${t}.`).update(body).digest('hex');
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given, 'utf8'), Buffer.from(wanted, 'utf8')];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Pairs are split at their first `=`, and blanks around keys and values are ignored: gateways that
 * join or fold headers add them. When `t` occurs twice, the last counts. The text of `t` is the
 * text that was signed.
 */
function readHeader(header: SignatureHeader): { t: string; signatures: string[] } {
  const text = typeof header === 'string' ? header : header?.join(',');
  if (!text) throw new WebhookVerificationError('missing_header', 'The request has no service-signature.');
  let t = '';
  const signatures: string[] = [];
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    if (at < 0) continue;
    const key = pair.slice(0, at).trim();
    const value = pair.slice(at + 1).trim();
    if (key === 't') t = value;
    if (key === 'v1') signatures.push(value);
  }
  return { t, signatures };
}

/**
 * An old request was delayed or repeated. A request from the future means that a clock is wrong,
 * usually this one.
 */
function describeAge(ageSeconds: number, toleranceSeconds: number): string {
  const apart = `${Math.round(Math.abs(ageSeconds))} seconds`;
  return ageSeconds > 0
    ? `The request was signed ${apart} ago and ${toleranceSeconds} are tolerated: it came late or again, or this clock is fast.`
    : `The request is dated ${apart} in the future and ${toleranceSeconds} are tolerated: this clock is slow.`;
}

function isNumber(t: string): boolean {
  return t.trim() !== '' && Number.isFinite(Number(t));
}

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return Buffer.from(rawBody, 'utf8');
  // Unlike `instanceof`, both also know the buffers of another realm, as test environments have.
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  if (isAnyArrayBuffer(rawBody)) return new Uint8Array(rawBody);
  throw new TypeError(
    'verifyWebhook needs the raw bytes of the body, before any parser: a string, a Uint8Array or an ArrayBuffer.',
  );
}

function secretsOf(secret: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const secrets = given.map((each) => (typeof each === 'string' ? each.replace(/\r?\n$/, '') : ''));
  if (secrets.length > 0 && !secrets.includes('')) return secrets;
  throw new TypeError('verifyWebhook needs the signing secret of the webhook, whsec_…: is its variable set?');
}

function toleranceOf(seconds: number = toleranceSecondsDefault): number {
  if (seconds >= 0) return seconds;
  throw new TypeError('toleranceSeconds is a number of seconds, 0 or more.');
}

function readEvent(body: Uint8Array): WebhookEvent {
  let event: unknown;
  try {
    event = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    throw new WebhookVerificationError('invalid_body', 'The signature fits, and the body is no JSON.');
  }
  // The sender knows the secret, so its word about the event's shape is trusted.
  if (typeof event === 'object' && event !== null && 'event' in event) return event as WebhookEvent;
  throw new WebhookVerificationError('invalid_body', 'The signature fits, and the body is no event.');
}
