// Validates a device's token for each platform, and defines the identity of a token (contract 8,
// Pure.

import { hash, timingSafeEqual } from 'node:crypto';
import type { Issue } from '../../ground/values/issue.ts';
import { parseUrl } from '../../ground/values/parse-url.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import { decodeBase64 } from '../../sending/channels/webpush/base64.ts';
import { checkSubscription, type EndpointRules } from '../../sending/channels/webpush/endpoint.ts';

export interface DeviceToken {
  /** The token as it is stored and passed to the channel. */
  readonly text: string;
  /** SHA-256 of the token's identity: the same identity is the same device. */
  readonly hash: Buffer;
  /** The last characters of the identity, shown to people. */
  readonly hint: string;
}

export type ParsedToken = { readonly token: DeviceToken } | { readonly issues: readonly Issue[] };

const hintLength = 6;
const androidLengthMax = 4_096;
/** The longest accepted previous token. It may be longer than any valid token. */
export const proofLengthMax = 8_192;

/**
 * The forms of a token on any platform, as JSON Schema. The description of the API shows them;
 * `parseToken` checks more than a schema can say.
 */
export const tokenForms = [
  {
    type: 'string',
    minLength: 1,
    maxLength: androidLengthMax,
    description: 'Web: the push subscription as JSON text. iOS: the APNs token in hex. Android: the FCM token.',
  },
  {
    type: 'object',
    description: 'Web: the push subscription, as PushSubscription.toJSON() gives it.',
    properties: {
      endpoint: { type: 'string', format: 'uri' },
      expirationTime: { type: ['number', 'null'] },
      keys: {
        type: 'object',
        properties: {
          p256dh: { type: 'string', description: '65 bytes in base64url or Base64: a point on P-256.' },
          auth: { type: 'string', description: '16 bytes in base64url or Base64.' },
        },
        required: ['p256dh', 'auth'],
        additionalProperties: false,
      },
    },
    required: ['endpoint', 'keys'],
    additionalProperties: false,
  },
] as const;

/**
 * Parses a token. The paths of its issues begin inside the token. Without a valid platform, only a
 * missing token is an issue.
 */
export function parseToken(platform: Platform | undefined, given: unknown, rules: EndpointRules): ParsedToken {
  if (given === undefined) return refuse('required', 'token is required.');
  if (platform === undefined) return { issues: [] };
  if (platform === 'web') return parseWebToken(given, rules);
  if (typeof given !== 'string') return refuse('invalid_type', 'token must be a string.');
  if (platform === 'ios') {
    // The token becomes part of the path of a request to the provider.
    if (!/^(?:[0-9a-fA-F]{2}){32,100}$/.test(given)) {
      return refuse('invalid_format', 'An APNs token is 64 to 200 hexadecimal digits, an even number of them.');
    }
    return { token: tokenOf(given.toLowerCase(), given.toLowerCase()) };
  }
  if (given.length > androidLengthMax)
    return refuse('too_big', `An FCM token has at most ${androidLengthMax} characters.`);
  if (!/^[\x21-\x7e]+$/.test(given))
    return refuse('invalid_format', 'An FCM token is one or more visible ASCII characters.');
  return { token: tokenOf(given, given) };
}

function parseWebToken(given: unknown, rules: EndpointRules): ParsedToken {
  const parsed = checkSubscription(given, rules);
  if ('issues' in parsed) return parsed;
  const { endpoint, p256dh, auth } = parsed.subscription;
  const keys = { p256dh: p256dh.toString('base64url'), auth: auth.toString('base64url') };
  return { token: tokenOf(JSON.stringify({ endpoint, keys }), endpoint) };
}

/**
 * Returns a digest of the secret that only the holder of a token knows; for a subscription, of its
 * endpoint and `auth`. For a text that is no token, the digest matches no stored token. The
 * endpoint's host is not checked, because a host that is no longer allowed still proves the device.
 */
export function proofOf(platform: Platform, given: unknown): Buffer {
  return hash('sha256', platform === 'web' ? secretOfSubscription(given) : secretOfText(platform, given), 'buffer');
}

/**
 * Returns whether the proof matches the stored token, in constant time. A device without a token
 * matches no proof.
 */
export function provesToken(proof: Buffer, platform: Platform, storedText: string | null): boolean {
  return storedText !== null && timingSafeEqual(proof, proofOf(platform, storedText));
}

/**
 * The token of a separate device, for a subscription whose keys differ from those stored with its
 * endpoint. Endpoint and `auth` together identify it.
 */
export function tokenOfOwn(token: DeviceToken): DeviceToken {
  return { ...token, hash: hash('sha256', secretOfSubscription(token.text), 'buffer') };
}

function secretOfText(platform: Platform, given: unknown): string {
  const text = typeof given === 'string' ? given : '';
  return platform === 'ios' ? text.toLowerCase() : text;
}

function secretOfSubscription(given: unknown): string {
  const { endpoint, auth } = readSecrets(given);
  const secret = typeof auth === 'string' ? decodeBase64(auth, 16) : undefined;
  const url = typeof endpoint === 'string' ? parseUrl(endpoint) : null;
  if (!url || !secret) return '';
  return JSON.stringify([url.href, secret.toString('base64url')]);
}

function readSecrets(given: unknown): { readonly endpoint?: unknown; readonly auth?: unknown } {
  try {
    const value = typeof given === 'string' ? JSON.parse(given) : given;
    return { endpoint: value?.endpoint, auth: value?.keys?.auth };
  } catch {
    return {};
  }
}

/**
 * Builds a valid token. `identity` distinguishes it from other tokens of the platform; for a
 * subscription it is the endpoint.
 */
export function tokenOf(text: string, identity: string): DeviceToken {
  return { text, hash: hash('sha256', identity, 'buffer'), hint: `…${identity.slice(-hintLength)}` };
}

function refuse(code: Issue['code'], message: string): ParsedToken {
  return { issues: [{ path: [], code, message }] };
}
