// VAPID keys, and the Authorization header that they sign (RFC 8292). One header serves every
// subscription of a push service, and is kept until shortly before its end. Push services remember
// a header, and Apple dislikes a new one with each push.
import { createECDH, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { noExceptions } from '../../../ground/outbound/address-guard.ts';
import { judgeUrl } from '../../../ground/outbound/url.ts';
import type { Issue } from '../../../ground/values/issue.ts';
import type { ChannelClock } from '../channel.ts';
import { decodeBase64 } from './base64.ts';

/** A VAPID key pair ready for use. A subscription is bound to its public key for life. */
export interface WebPushCredential {
  /** Names the key pair. A signed header is kept under this id and the push service's origin. */
  readonly id: string;
  /** 65 bytes in base64url. Browsers subscribe with this key. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  /** `mailto:` or `https:`: the contact that a push service can write to. */
  readonly subject: string;
}

/**
 * A key pair as base64url text: 65 bytes public, 32 bytes private. The tool `web-push` prints the
 * same form.
 */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

export function generateVapidKeys(): VapidKeys {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  // Node answers a private key with leading zeros without them.
  const privateKey = Buffer.alloc(32);
  const bytes = ecdh.getPrivateKey();
  bytes.copy(privateKey, 32 - bytes.length);
  return { publicKey: ecdh.getPublicKey('base64url'), privateKey: privateKey.toString('base64url') };
}

/**
 * Makes a credential of what was configured, or says what is wrong with it: the lengths, the
 * alphabet, the subject, or keys that do not belong together. Apple, for one, answers `BadJwtToken`
 * to a subject with `localhost`, spaces or angle brackets.
 */
export function parseVapidKeys(
  given: VapidKeys & { readonly id: string; readonly subject: string },
): { readonly credential: WebPushCredential } | { readonly issues: readonly Issue[] } {
  const issues: Issue[] = [];
  const publicKey = decodeBase64(given.publicKey, 65);
  const scalar = decodeBase64(given.privateKey, 32);
  if (publicKey === undefined) issues.push(keyIssue('publicKey', 'It must be 65 bytes in base64url or Base64.'));
  if (scalar === undefined) issues.push(keyIssue('privateKey', 'It must be 32 bytes in base64url or Base64.'));
  if (!isVapidSubject(given.subject)) {
    const message = 'It must be mailto: with an address, or https: with a public host.';
    issues.push({ path: ['subject'], code: 'invalid_format', message });
  }
  const privateKey = publicKey && scalar && privateKeyOf(publicKey, scalar);
  if (publicKey && scalar && !privateKey) issues.push(keyIssue('privateKey', 'It does not belong to the public key.'));
  if (privateKey === undefined || issues.length > 0) return { issues };
  const { id, subject } = given;
  return { credential: { id, publicKey: publicKey?.toString('base64url') ?? '', privateKey, subject } };
}

function keyIssue(field: keyof VapidKeys, message: string): Issue {
  return { path: [field], code: 'invalid_format', message };
}

function privateKeyOf(publicKey: Buffer, scalar: Buffer): KeyObject | undefined {
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(scalar);
    if (!ecdh.getPublicKey().equals(publicKey)) return undefined;
    const [x, y] = [publicKey.subarray(1, 33), publicKey.subarray(33)].map((half) => half.toString('base64url'));
    const key = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '', d: scalar.toString('base64url') };
    return createPrivateKey({ key, format: 'jwk' });
  } catch {
    return undefined;
  }
}

export function isVapidSubject(subject: string): boolean {
  if (subject.startsWith('mailto:')) return /^mailto:[^\s<>@]+@[^\s<>@][^\s<>@.]*\.[^\s<>@]+$/.test(subject);
  return 'url' in judgeUrl(subject, { ports: [443], exceptions: noExceptions, ownHosts: [] });
}

const lifetimeSeconds = 12 * 3_600;
const renewBeforeSeconds = 3_600;
/** Far more than there are push services. Only `PUSH_HOSTS=*` could need so many headers. */
const headersKeptMax = 1_000;

const tokenStart = `${Buffer.from('{"typ":"JWT","alg":"ES256"}').toString('base64url')}.`;

/** The text that is signed: `header.payload` of the token. */
export function vapidSigningInput(audience: string, expiresAtSeconds: number, subject: string): string {
  const claims = JSON.stringify({ aud: audience, exp: expiresAtSeconds, sub: subject });
  return tokenStart + Buffer.from(claims).toString('base64url');
}

export interface VapidHeaders {
  /**
   * The Authorization header for a push service, by its origin (`https://host`, with a port only if
   * it is not 443).
   */
  headerFor(origin: string, credential: WebPushCredential): string;
}

/**
 * Keeps one header for each origin and key. A header is valid for 12 h and renewed in its last
 * hour, so no header is renewed sooner than after 11 h, unless a clock was set.
 */
export function createVapidHeaders(clock: Pick<ChannelClock, 'nowMs' | 'steadyMs'>): VapidHeaders {
  const kept = new Map<string, { header: string; subject: string; expiresAtSeconds: number; madeAtMs: number }>();

  const mint = (origin: string, { publicKey, privateKey, subject }: WebPushCredential, nowSeconds: number) => {
    const expiresAtSeconds = nowSeconds + lifetimeSeconds;
    const input = vapidSigningInput(origin, expiresAtSeconds, subject);
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const header = `vapid t=${input}.${signature.toString('base64url')}, k=${publicKey}`;
    return { header, subject, expiresAtSeconds, madeAtMs: clock.steadyMs() };
  };

  return {
    headerFor(origin, credential) {
      const key = `${origin} ${credential.id}`;
      const nowSeconds = Math.floor(clock.nowMs() / 1_000);
      const known = kept.get(key);
      if (known !== undefined && known.subject === credential.subject) {
        // A clock that was set back makes the kept token look too long-lived. Push services reject
        // a token that ends in more than 24 h, and one that has ended by their own time.
        const leftSeconds = known.expiresAtSeconds - nowSeconds;
        const agedSeconds = (clock.steadyMs() - known.madeAtMs) / 1_000;
        const isYoung = leftSeconds > renewBeforeSeconds && agedSeconds < lifetimeSeconds - renewBeforeSeconds;
        if (isYoung && leftSeconds <= 2 * lifetimeSeconds) return known.header;
      }
      const minted = mint(origin, credential, nowSeconds);
      kept.delete(key);
      kept.set(key, minted);
      const oldest = kept.size > headersKeptMax ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      return minted.header;
    },
  };
}
