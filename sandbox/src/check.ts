// Defines what a check is and contains the checks of RFC 8030 and of the endpoint's vendor; VAPID
// and encryption have files of their own. Pure: headers in, verdicts out.
import type { IncomingHttpHeaders } from 'node:http';
import { appleTopicFault } from './vendors/apple.ts';
import type { Personality, Problem } from './vendors/vendor.ts';

export type CheckName =
  | 'endpoint'
  | 'method'
  | 'authorization'
  | 'vapid_key'
  | 'vapid_signature'
  | 'vapid_audience'
  | 'vapid_expiry'
  | 'vapid_subject'
  | 'content_length'
  | 'size'
  | 'ttl'
  | 'urgency'
  | 'topic'
  | 'content_encoding'
  | 'content_type'
  | 'cache_policy'
  | 'keys_differ'
  | 'decryption'
  | 'payload'
  | PhoneCheckName;

/** The checks of a push to a phone and of the token request before it. */
export type PhoneCheckName =
  | 'team_key'
  | 'token_signature'
  | 'token_age'
  | 'token_updates'
  | 'duplicate_headers'
  | 'apns_id'
  | 'expiration'
  | 'push_type'
  | 'priority'
  | 'collapse_id'
  | 'apns_topic'
  | 'device'
  | 'access_token'
  | 'project'
  | 'message'
  | 'data'
  | 'values'
  | 'grant'
  | 'assertion'
  | 'assertion_claims';

/**
 * One verdict. `warn`: this vendor accepts it, but another would not, or the person sees less than
 * was meant. A `fail` with a problem is refused by the vendor. A `fail` without a problem is
 * dropped silently by the browser, or a phone's provider words the answer.
 */
export interface Check {
  readonly name: CheckName;
  readonly verdict: 'pass' | 'warn' | 'fail' | 'skip';
  readonly detail: string;
  readonly problem: Problem | null;
}

export const pass = (name: CheckName, detail: string): Check => ({ name, verdict: 'pass', detail, problem: null });
export const warn = (name: CheckName, detail: string): Check => ({ name, verdict: 'warn', detail, problem: null });
export const skip = (name: CheckName, detail: string): Check => ({ name, verdict: 'skip', detail, problem: null });
export const fail = (name: CheckName, problem: Problem | null, detail: string): Check => ({
  name,
  verdict: 'fail',
  detail,
  problem,
});

const urgencies = ['very-low', 'low', 'normal', 'high'];

/**
 * Firefox on Android accepts less, because its messages travel base64-encoded inside FCM's 4,096
 * bytes.
 */
const constrainedBodyBytes = 2744;

/**
 * Node joins repeated headers with a comma, which no value here may contain, so a repeated header
 * fails its check.
 */
function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** RFC 8030 section 5.2: required, a whole number of seconds. */
export function checkTtl(headers: IncomingHttpHeaders, vendor: Personality): Check {
  const ttl = single(headers['ttl']);
  if (ttl === undefined) return fail('ttl', 'ttl_missing', 'the TTL header is missing');
  if (/^-\d+$/.test(ttl)) return fail('ttl', 'ttl_negative', `TTL must not be negative, it is ${ttl}`);
  if (!/^\d+$/.test(ttl)) return fail('ttl', 'ttl_invalid', `TTL must be whole seconds, it is ${JSON.stringify(ttl)}`);
  return Number(ttl) > vendor.ttlSecondsMax
    ? warn('ttl', `${ttl} s, kept for ${vendor.ttlSecondsMax} s only`)
    : pass('ttl', `${ttl} s`);
}

/**
 * Seconds that the vendor keeps the message: the TTL, up to the vendor's maximum. Call it only
 * after checkTtl has passed.
 */
export function grantedTtlSeconds(headers: IncomingHttpHeaders, vendor: Personality): number {
  return Math.min(Number(single(headers['ttl'])), vendor.ttlSecondsMax);
}

/** RFC 8030 section 5.3. */
export function checkUrgency(headers: IncomingHttpHeaders): Check {
  const urgency = single(headers['urgency']);
  if (urgency === undefined) return pass('urgency', 'absent, so normal');
  return urgencies.includes(urgency)
    ? pass('urgency', urgency)
    : fail(
        'urgency',
        'urgency_invalid',
        `Urgency must be one of ${urgencies.join(', ')}, it is ${JSON.stringify(urgency)}`,
      );
}

/** Checks RFC 8030 section 5.4 and the vendor's own rule. */
export function checkTopic(headers: IncomingHttpHeaders, vendor: Personality): Check {
  const topic = single(headers['topic']);
  if (topic === undefined) return skip('topic', 'absent');
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(topic)) {
    return fail(
      'topic',
      'topic_invalid',
      `Topic must be 1 to 32 characters of the URL-safe base64 alphabet, it is ${JSON.stringify(topic)}`,
    );
  }
  const fault = vendor.topicFault?.(topic) ?? null;
  if (fault !== null) return fail('topic', 'topic_invalid', fault);
  const elsewhere = appleTopicFault(topic);
  return elsewhere === null ? pass('topic', topic) : warn('topic', `${topic}: Apple would refuse it, ${elsewhere}`);
}

/** RFC 8291 section 4: a body must be encoded with aes128gcm. */
export function checkEncoding(headers: IncomingHttpHeaders, bodyBytes: number): Check {
  const encoding = single(headers['content-encoding']);
  if (bodyBytes === 0) {
    return encoding === undefined
      ? skip('content_encoding', 'no payload')
      : warn('content_encoding', `${encoding}, but there is no payload`);
  }
  if (encoding === undefined) return fail('content_encoding', 'encoding_missing', 'Missing Content-Encoding header');
  return encoding.toLowerCase() === 'aes128gcm'
    ? pass('content_encoding', encoding)
    : fail(
        'content_encoding',
        'encoding_unknown',
        `Content-Encoding must be aes128gcm, it is ${JSON.stringify(encoding)}`,
      );
}

export function checkContentType(headers: IncomingHttpHeaders, bodyBytes: number): Check {
  const type = single(headers['content-type']);
  if (bodyBytes === 0) return skip('content_type', 'no payload');
  return type === 'application/octet-stream'
    ? pass('content_type', type)
    : warn('content_type', `${type ?? 'absent'}; an encrypted body is application/octet-stream`);
}

/** RFC 8030 section 7.2: 4,096 octets must be accepted, and a service may refuse more. */
export function checkSize(bodyBytes: number, vendor: Personality): Check {
  if (bodyBytes > vendor.bodyBytesMax) {
    return fail('size', 'body_too_large', `${bodyBytes} bytes, at most ${vendor.bodyBytesMax} are taken`);
  }
  return bodyBytes > constrainedBodyBytes
    ? warn('size', `${bodyBytes} bytes; Firefox on Android takes about ${constrainedBodyBytes}`)
    : pass('size', `${bodyBytes} bytes`);
}

/** WNS accepts no chunked body. HTTP/2 frames its bodies, so there the length is only advice. */
export function checkLength(headers: IncomingHttpHeaders, isHttp2: boolean, vendor: Personality): Check {
  const length = headers['content-length'];
  if (length !== undefined) return pass('content_length', length);
  if (vendor.name === 'wns' && !isHttp2) {
    return fail('content_length', 'length_missing', 'Content-Length is missing; WNS takes no chunked body');
  }
  return isHttp2 ? skip('content_length', 'absent') : warn('content_length', 'absent; WNS would refuse a chunked body');
}

/**
 * WNS: `TTL: 0` means do not store, and the default cache policy means store. The two must agree.
 */
export function checkCachePolicy(headers: IncomingHttpHeaders): Check {
  const policy = single(headers['x-wns-cache-policy']) ?? 'cache';
  const isStored = Number(single(headers['ttl'])) > 0;
  const isConflict = isStored ? policy === 'no-cache' : policy !== 'no-cache';
  return isConflict
    ? fail('cache_policy', 'cache_policy_conflict', `TTL ${isStored ? 'above 0' : '0'} conflicts with ${policy}`)
    : pass('cache_policy', policy);
}
