// The web push service: checks a request, answers in the vendor's words with the first failed
// check, and opens an accepted push as the browser would. It never refuses for what a vendor cannot
// see: a push that cannot be decrypted is accepted, and the log says that nobody saw it.

import { randomUUID } from 'node:crypto';
import {
  type Check,
  checkCachePolicy,
  checkContentType,
  checkEncoding,
  checkLength,
  checkSize,
  checkTopic,
  checkTtl,
  checkUrgency,
  fail,
  grantedTtlSeconds,
  pass,
  skip,
  warn,
} from './check.ts';
import { DecryptError, decryptPush, parseCodingHeader } from './decrypt.ts';
import { readNotification } from './notification.ts';
import { parseUrl } from './parse-url.ts';
import type { Payload, Provider, PushRequest, Reception, Target } from './provider.ts';
import { receiverKeys, type Subscription, type Subscriptions } from './subscriptions.ts';
import { VapidJudge } from './vapid-checks.ts';
import type { Answer, Personality } from './vendors/vendor.ts';
import { personality, readEndpoint, vendorOfHost } from './vendors/vendors.ts';

export class WebPushService implements Provider {
  readonly goawayWords = { shutdown: '', idle: '' };
  readonly #subscriptions: Subscriptions;
  readonly #now: () => number;
  readonly #vapid = new VapidJudge();

  /** `now` returns milliseconds since the epoch; the expiry of VAPID tokens is judged by it. */
  constructor(subscriptions: Subscriptions, now: () => number) {
    this.#subscriptions = subscriptions;
    this.#now = now;
  }

  target(authority: string, path: string): Target {
    return { service: 'webpush', vendor: vendorOf(authority, path).name, token: readEndpoint(path)?.token ?? '' };
  }

  refuseWithStatus(target: Target, status: number): Answer {
    return personality(target.vendor).refuseWithStatus(status);
  }

  refuseWithReason(target: Target, reason: string): Answer | undefined {
    const { named } = personality(target.vendor);
    return Object.hasOwn(named, reason) ? named[reason] : undefined;
  }

  acceptBlindly(_target: Target, _request: PushRequest, id: number): Answer {
    return { status: 201, headers: { location: `/message/${id}` }, body: '' };
  }

  receive(request: PushRequest): Reception {
    const target = this.target(request.authority, request.path);
    const vendor = vendorOf(request.authority, request.path);
    const subscription = this.#subscriptions.find(target.token);
    const vapid = this.#vapid.judge(
      request.headers.authorization,
      vendor,
      subscription,
      subscription?.origin ?? `https://${request.authority}`,
      this.#now() / 1000,
    );
    const checks = [
      checkEndpoint(request, vendor, subscription, this.#subscriptions.isGone(target.token)),
      checkMethod(request.method),
      ...vapid.checks,
      ...checkHeaders(request, vendor),
    ];
    if (vapid.publicKey !== null && request.bodyBytes > 0) checks.push(checkKeysDiffer(request.body, vapid.publicKey));

    const opened = subscription === undefined ? null : open(request, subscription);
    if (opened !== null) checks.push(...opened.checks);
    const refused = checks.find((check) => check.problem !== null);
    return {
      ...target,
      endpoint: subscription?.endpoint ?? null,
      checks,
      vapid: vapid.seen,
      providerToken: null,
      payload: opened?.payload ?? null,
      notification: opened?.payload ? readNotification(opened.payload.text, opened.payload.json) : null,
      answer: refused?.problem ? vendor.refuse(refused.problem, refused.detail) : accept(request, vendor, subscription),
      isDelivered: refused === undefined && (opened?.isOpened ?? false),
      streamsMax: null,
    };
  }
}

/** The vendor of a request: by its path, else by its host. */
function vendorOf(authority: string, path: string): Personality {
  return readEndpoint(path)?.vendor ?? vendorOfHost(hostOf(authority));
}

function accept(request: PushRequest, vendor: Personality, subscription: Subscription | undefined): Answer {
  return vendor.accept({
    origin: subscription?.origin ?? `https://${request.authority}`,
    messageId: randomUUID(),
    ttlSeconds: grantedTtlSeconds(request.headers, vendor),
  });
}

function checkMethod(method: string): Check {
  return method === 'POST' ? pass('method', method) : fail('method', 'method_not_allowed', `${method} instead of POST`);
}

/**
 * The whole address must equal the subscription's: it is opaque, and a sender may not rebuild it.
 */
function checkEndpoint(
  request: PushRequest,
  vendor: Personality,
  subscription: Subscription | undefined,
  isGone: boolean,
): Check {
  if (subscription === undefined) return fail('endpoint', 'endpoint_unknown', 'no subscription has this endpoint');
  if (subscription.pool.vendor !== vendor.name) {
    return fail('endpoint', 'endpoint_unknown', `the token is of a ${subscription.pool.vendor} endpoint`);
  }
  const asked = `https://${request.authority}`;
  const origin = parseUrl(asked)?.origin ?? asked;
  if (origin !== subscription.origin) {
    return fail('endpoint', 'endpoint_unknown', `the endpoint is at ${subscription.origin}, not at ${origin}`);
  }
  return isGone
    ? fail('endpoint', 'endpoint_gone', 'the browser has unsubscribed')
    : pass('endpoint', subscription.endpoint);
}

function checkHeaders(request: PushRequest, vendor: Personality): Check[] {
  const { headers, bodyBytes } = request;
  const checks = [
    checkLength(headers, request.protocol === 'h2', vendor),
    checkSize(bodyBytes, vendor),
    checkTtl(headers, vendor),
    checkUrgency(headers),
    checkTopic(headers, vendor),
    checkEncoding(headers, bodyBytes),
    checkContentType(headers, bodyBytes),
  ];
  if (vendor.name === 'wns') checks.push(checkCachePolicy(headers));
  return checks;
}

/** RFC 8292 section 3.2: the signing key must differ from the encryption key. */
function checkKeysDiffer(body: Buffer, publicKey: Buffer): Check {
  try {
    return parseCodingHeader(body).keyId.equals(publicKey)
      ? fail('keys_differ', 'keys_equal', 'the VAPID key also encrypts the message')
      : pass('keys_differ', 'VAPID and encryption use different keys');
  } catch {
    return skip('keys_differ', 'the body has no key id');
  }
}

interface Opened {
  readonly checks: readonly Check[];
  readonly payload: Payload | null;
  readonly isOpened: boolean;
}

/** The browser's part: decrypts the body and gives it to the service worker. */
function open(request: PushRequest, subscription: Subscription): Opened {
  if (request.bodyBytes === 0) {
    return { checks: [skip('decryption', 'no payload')], payload: null, isOpened: true };
  }
  let text: string;
  try {
    text = decryptPush(request.body, receiverKeys(subscription.pool, subscription.index)).toString('utf8');
  } catch (error) {
    if (!(error instanceof DecryptError)) throw error;
    return {
      checks: [fail('decryption', null, `the browser drops it: ${error.message}`)],
      payload: null,
      isOpened: false,
    };
  }
  const payload = { text, json: parseJson(text) };
  return {
    checks: [pass('decryption', `${Buffer.byteLength(text)} bytes`), checkPayload(payload)],
    payload,
    isOpened: true,
  };
}

function checkPayload(payload: Payload): Check {
  if (readNotification(payload.text, payload.json) === null) {
    return warn('payload', 'no title and no body: the service worker has nothing to show');
  }
  return typeof payload.json === 'object' && payload.json !== null
    ? pass('payload', 'JSON with a notification')
    : warn('payload', 'not a JSON object; shown as plain text');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hostOf(authority: string): string {
  return parseUrl(`https://${authority}`)?.hostname ?? '';
}
