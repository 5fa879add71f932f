// Reads a push subscription from unknown text: its shape, its keys, and the host that its endpoint
// may name. Asks no name server, because the address guard judges every connection as well.
import { ECDH } from 'node:crypto';
import type { OutboundExceptions } from '../../../ground/outbound/address-guard.ts';
import { findEndpointFault, isPushHost } from '../../../ground/outbound/push-hosts.ts';
import { judgeUrl } from '../../../ground/outbound/url.ts';
import { isRecord } from '../../../ground/values/is-record.ts';
import type { Issue, IssueCode } from '../../../ground/values/issue.ts';
import { decodeBase64 } from './base64.ts';

const tokenBytesMax = 4_096;
const endpointLengthMax = 2_048;
const tokenKeys = ['endpoint', 'expirationTime', 'keys'];
const keyNames = ['p256dh', 'auth'];
/** The number of unknown names that an issue repeats. */
const namesShownMax = 10;

export interface EndpointRules {
  /** The operator's `PUSH_HOSTS`: names, `*.` patterns, or `*` for any public host. */
  readonly pushHosts: readonly string[];
  readonly exceptions: OutboundExceptions;
  /** The service's own public host names. */
  readonly ownHosts: readonly string[];
}

export interface Subscription {
  /** The normalized URL. Two subscriptions are the same when their endpoints are. */
  readonly endpoint: string;
  /** The endpoint's origin, which is the VAPID audience. */
  readonly origin: string;
  readonly host: string;
  readonly port: number;
  /** Path and query, as the push service gave them. */
  readonly path: string;
  /** 65 bytes. */
  readonly p256dh: Buffer;
  /** 16 bytes. */
  readonly auth: Buffer;
}

const tooLong = issue([], 'too_big', `A push subscription has at most ${tokenBytesMax} bytes.`);

export type ParsedSubscription = { readonly subscription: Subscription } | { readonly issues: readonly Issue[] };

/**
 * Judges a subscription that is being registered, given as JSON text or as the object itself. The
 * paths of its issues begin inside the token. A host that is not allowed is an issue of the token
 * as a whole (contract 8).
 */
export function checkSubscription(token: unknown, rules: EndpointRules): ParsedSubscription {
  const parsed = read(token, rules, findEndpointFault);
  if ('issues' in parsed || isOnCurve(parsed.subscription.p256dh)) return parsed;
  return { issues: [issue(['keys', 'p256dh'], 'invalid_format', 'It is not a point on the curve P-256.')] };
}

/**
 * Reads the subscription of a stored device. The form of the vendor's endpoints was judged when the
 * device registered, and encryption tests whether the point is on the curve.
 */
export function readSubscription(token: unknown, rules: EndpointRules): ParsedSubscription {
  return read(token, rules, (host, _path, operatorHosts) =>
    isPushHost(host, operatorHosts) ? null : `'${host}' is not a known push service.`,
  );
}

type FindFault = (host: string, path: string, operatorHosts: readonly string[]) => string | null;

function read(token: unknown, rules: EndpointRules, findFault: FindFault): ParsedSubscription {
  // Measured before parsing, because the limit on the depth of a body does not see JSON inside a
  // string.
  if (typeof token === 'string' && Buffer.byteLength(token) > tokenBytesMax) return { issues: [tooLong] };
  const value = typeof token === 'string' ? parseJson(token) : token;
  if (value === undefined) return { issues: [issue([], 'invalid_format', 'It is not JSON.')] };
  if (!isRecord(value)) return { issues: [issue([], 'invalid_type', 'It must be a push subscription.')] };
  if (typeof token !== 'string' && Buffer.byteLength(JSON.stringify(token)) > tokenBytesMax)
    return { issues: [tooLong] };

  const issues: Issue[] = [];
  const { endpoint, expirationTime, keys } = value as { endpoint?: unknown; expirationTime?: unknown; keys?: unknown };
  checkNames(value, tokenKeys, [], issues);
  if (expirationTime !== undefined && expirationTime !== null && typeof expirationTime !== 'number') {
    issues.push(issue(['expirationTime'], 'invalid_type', 'It must be a number or null.'));
  }
  const where = readEndpoint(endpoint, rules, findFault, issues);
  const { p256dh, auth } = readKeys(keys, issues);
  if (where === undefined || p256dh === undefined || auth === undefined || issues.length > 0) return { issues };
  return { subscription: { ...where, p256dh, auth } };
}

function readEndpoint(endpoint: unknown, rules: EndpointRules, findFault: FindFault, issues: Issue[]) {
  if (typeof endpoint !== 'string') {
    issues.push(missingOrWrong(['endpoint'], endpoint, 'a URL'));
    return undefined;
  }
  const judged = judgeUrl(endpoint, { ports: [443], exceptions: rules.exceptions, ownHosts: rules.ownHosts });
  if (!('url' in judged)) {
    issues.push(issue(judged.code === 'host_not_allowed' ? [] : ['endpoint'], judged.code, judged.message));
    return undefined;
  }
  const { url, host, port } = judged;
  // The normalized form is stored and sent to. It may be longer than the given form: 'ü' becomes
  // '%C3%BC'.
  if (url.href.length > endpointLengthMax) {
    const message = `An endpoint has at most ${endpointLengthMax} characters, percent-encoded.`;
    issues.push(issue(['endpoint'], 'too_big', message));
    return undefined;
  }
  const fault = findFault(host, url.pathname, rules.pushHosts);
  if (fault !== null) {
    issues.push(issue([], 'host_not_allowed', fault));
    return undefined;
  }
  return { endpoint: url.href, origin: url.origin, host, port, path: url.pathname + url.search };
}

function readKeys(keys: unknown, issues: Issue[]): { p256dh?: Buffer | undefined; auth?: Buffer | undefined } {
  if (!isRecord(keys)) {
    issues.push(missingOrWrong(['keys'], keys, 'an object'));
    return {};
  }
  checkNames(keys, keyNames, ['keys'], issues);
  const { p256dh, auth } = keys as { p256dh?: unknown; auth?: unknown };
  return { p256dh: readKey('p256dh', p256dh, 65, issues), auth: readKey('auth', auth, 16, issues) };
}

function readKey(name: string, text: unknown, length: number, issues: Issue[]): Buffer | undefined {
  if (typeof text !== 'string') {
    issues.push(missingOrWrong(['keys', name], text, 'text'));
    return undefined;
  }
  const bytes = decodeBase64(text, length);
  // A p256dh key is an uncompressed point (RFC 8291 section 2.1), so its first byte is 4.
  if (bytes !== undefined && (length === 16 || bytes[0] === 4)) return bytes;
  issues.push(issue(['keys', name], 'invalid_format', `It must be ${length} bytes in base64url or Base64.`));
  return undefined;
}

function isOnCurve(point: Buffer): boolean {
  try {
    ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'uncompressed');
    return true;
  } catch {
    return false;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkNames(value: object, allowed: readonly string[], path: readonly string[], issues: Issue[]): void {
  const unknown = Object.keys(value).filter((name) => !allowed.includes(name));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, namesShownMax).map((name) => `'${name.slice(0, 64)}'`);
  const message = `Unknown: ${named.join(', ')}${unknown.length > namesShownMax ? ' and more' : ''}.`;
  issues.push({ path, code: 'unrecognized_keys', message, allowed });
}

function missingOrWrong(path: readonly string[], value: unknown, expected: string): Issue {
  if (value === undefined) return issue(path, 'required', 'It is missing.');
  return issue(path, 'invalid_type', `It must be ${expected}.`);
}

function issue(path: readonly string[], code: IssueCode, message: string): Issue {
  return { path, code, message };
}
