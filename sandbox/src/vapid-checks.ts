// Judges the Authorization header of one request, by RFC 8292 and the vendor's own rules. A header's
// contents are remembered, as the RFC encourages, because senders reuse one header for hours.
import type { KeyObject } from 'node:crypto';
import { type Check, fail, pass, skip, warn } from './check.ts';
import type { Subscription } from './subscriptions.ts';
import {
  audienceFault,
  type DecodedToken,
  decodeToken,
  expiryFault,
  farExpiryFault,
  parseVapidHeader,
  readPublicKey,
  signatureFault,
  subjectFault,
} from './vapid.ts';
import { appleSubjectFault } from './vendors/apple.ts';
import type { Personality } from './vendors/vendor.ts';

/** The header's contents, for people to look at. */
export interface VapidSeen {
  readonly header: DecodedToken['header'];
  readonly claims: DecodedToken['claims'];
  readonly key: string;
}

export interface VapidVerdict {
  readonly checks: readonly Check[];
  readonly seen: VapidSeen | null;
  /** The 65 octets of `k` if they are a key. */
  readonly publicKey: Buffer | null;
}

/** The contents of a header, which are the same for every endpoint. */
interface Contents {
  readonly key: string;
  readonly publicKey: KeyObject | string;
  readonly point: Buffer | null;
  readonly decoded: DecodedToken | string;
  /** Undefined when the token or the key cannot be read. */
  readonly signature: Check | undefined;
}

const rememberedMax = 1000;

/** Judges Authorization headers. One per sandbox, so that its memory is shared. */
export class VapidJudge {
  readonly #remembered = new Map<string, Contents | string>();

  judge(
    authorization: string | undefined,
    vendor: Personality,
    subscription: Subscription | undefined,
    origin: string,
    nowSeconds: number,
  ): VapidVerdict {
    const boundKey = subscription?.pool.vapidKey ?? null;
    if (authorization === undefined) {
      const check =
        boundKey === null && !vendor.isVapidRequired
          ? warn('authorization', 'absent; only a subscription without applicationServerKey is open to anyone')
          : fail('authorization', 'authorization_missing', 'the Authorization header is missing');
      return { checks: [check], seen: null, publicKey: null };
    }
    const contents = this.#read(authorization);
    if (typeof contents === 'string') {
      return { checks: [fail('authorization', 'authorization_malformed', contents)], seen: null, publicKey: null };
    }
    const { key, publicKey, point, decoded, signature } = contents;
    const checks = [pass('authorization', 'vapid with t and k'), checkKey(key, publicKey, boundKey)];
    if (typeof decoded === 'string') checks.push(fail('vapid_signature', 'vapid_token_malformed', decoded));
    else {
      if (signature) checks.push(signature);
      checks.push(...checkClaims(decoded.claims, vendor, origin, nowSeconds));
    }
    return {
      checks,
      seen: typeof decoded === 'string' ? null : { header: decoded.header, claims: decoded.claims, key },
      publicKey: point,
    };
  }

  /** The contents of a header, or a sentence about why it has none. */
  #read(authorization: string): Contents | string {
    const known = this.#remembered.get(authorization);
    if (known !== undefined) return known;
    const contents = readContents(authorization);
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear();
    this.#remembered.set(authorization, contents);
    return contents;
  }
}

function readContents(authorization: string): Contents | string {
  const parameters = parseVapidHeader(authorization);
  if (typeof parameters === 'string') return parameters;
  const { key, token } = parameters;
  const publicKey = readPublicKey(key);
  const decoded = decodeToken(token);
  const isReadable = typeof publicKey !== 'string' && typeof decoded !== 'string';
  return {
    key,
    publicKey,
    point: typeof publicKey === 'string' ? null : Buffer.from(key, 'base64url'),
    decoded,
    signature: isReadable ? checkSignature(decoded, publicKey) : undefined,
  };
}

function checkSignature(decoded: DecodedToken, key: KeyObject): Check {
  const fault = signatureFault(decoded, key);
  return fault === null
    ? pass('vapid_signature', 'ES256, made by the owner of k')
    : fail('vapid_signature', 'vapid_signature', fault);
}

/**
 * RFC 8292 section 4.2: the token must be signed by the key that the subscription was made with.
 */
function checkKey(text: string, key: KeyObject | string, boundKey: string | null): Check {
  if (typeof key === 'string') return fail('vapid_key', 'vapid_key_invalid', key);
  if (boundKey === null) return pass('vapid_key', 'any key: the subscription is bound to none');
  return text === boundKey
    ? pass('vapid_key', 'the key that the subscription was made with')
    : fail('vapid_key', 'vapid_key_mismatch', 'not the key that the subscription was made with');
}

function checkClaims(claims: DecodedToken['claims'], vendor: Personality, origin: string, nowSeconds: number): Check[] {
  const audience = audienceFault(claims, origin);
  const expired = expiryFault(claims, nowSeconds);
  const far = farExpiryFault(claims, nowSeconds);
  const hoursLeft = ((Number(claims['exp']) - nowSeconds) / 3600).toFixed(1);
  return [
    audience === null ? pass('vapid_audience', origin) : fail('vapid_audience', 'vapid_audience', audience),
    expired !== null
      ? fail('vapid_expiry', 'vapid_expired', expired)
      : far !== null
        ? fail('vapid_expiry', 'vapid_expiry_far', far)
        : pass('vapid_expiry', `${hoursLeft} hours left`),
    checkSubject(claims, vendor),
  ];
}

function checkSubject(claims: DecodedToken['claims'], vendor: Personality): Check {
  const fault = subjectFault(claims);
  if (fault !== null) return fail('vapid_subject', 'vapid_subject', fault);
  const subject = typeof claims['sub'] === 'string' ? claims['sub'] : undefined;
  const vendorFault = vendor.subjectFault?.(subject) ?? null;
  if (vendorFault !== null) return fail('vapid_subject', 'vapid_subject', vendorFault);
  const elsewhere = appleSubjectFault(subject);
  if (elsewhere !== null) return warn('vapid_subject', `Apple would refuse it: ${elsewhere}`);
  return subject === undefined ? skip('vapid_subject', 'absent') : pass('vapid_subject', subject);
}
