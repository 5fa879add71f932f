// Checks a sender's VAPID header as a push service does (RFC 8292), with node:crypto alone.
// Browsers never see the header, so the stand-ins must check it. It shares no code with the sender
// that it judges.

import { createPublicKey, verify } from 'node:crypto';

export interface VapidExpectation {
  /** The origin of the endpoint, with its port unless that is 443. */
  audience: string;
  /**
   * The key that the browser subscribed with, in base64url without padding; null when it subscribed
   * without one.
   */
  applicationServerKey: string | null;
  now: number;
}

/** The vendors answer these three faults differently. */
export type VapidProblem = 'missing' | 'key mismatch' | 'invalid';

export type VapidVerdict =
  | { accepted: true; publicKey: Buffer }
  | { accepted: false; problem: VapidProblem; reason: string };

const base64url = /^[A-Za-z0-9_-]+$/;
/** RFC 8292 section 2: `exp` must not be more than 24 hours from the time of the request. */
const lifetimeMaxSeconds = 24 * 3600;

/**
 * Judges `Authorization: vapid t=…, k=…`. Every reason names what a sender would have to change.
 */
export function verifyVapid(authorization: string | undefined, expected: VapidExpectation): VapidVerdict {
  if (authorization === undefined) return refused('there is no Authorization header', 'missing');
  const credentials = parseCredentials(authorization);
  if (credentials === undefined) return refused('the Authorization header is not "vapid t=…, k=…"');
  const publicKey = Buffer.from(credentials.k, 'base64url');
  if (publicKey.length !== 65 || publicKey[0] !== 4) return refused('k is not an uncompressed P-256 point');
  const registered = expected.applicationServerKey;
  if (registered !== null && credentials.k !== registered) {
    return refused('k is not the key this subscription was made with', 'key mismatch');
  }
  const [headerPart, claimsPart, signaturePart, ...more] = credentials.t.split('.');
  if (headerPart === undefined || claimsPart === undefined || signaturePart === undefined || more.length > 0) {
    return refused('t is not a JWT');
  }
  const header = parseJson(headerPart);
  const claims = parseJson(claimsPart);
  if (header === undefined || claims === undefined) return refused('t is not a JWT');
  if (header['alg'] !== 'ES256') return refused('the JWT is not signed with ES256');
  const signature = Buffer.from(signaturePart, 'base64url');
  const signed = Buffer.from(`${headerPart}.${claimsPart}`);
  if (signature.length !== 64 || !signatureHolds(publicKey, signed, signature)) {
    return refused('the signature does not verify with k');
  }
  if (claims['aud'] !== expected.audience) {
    return refused(`aud is ${JSON.stringify(claims['aud'])}, not ${expected.audience}`);
  }
  const exp = claims['exp'];
  const nowSeconds = Math.floor(expected.now / 1000);
  if (typeof exp !== 'number' || !Number.isInteger(exp)) return refused('exp is not a whole number');
  if (exp <= nowSeconds) return refused('exp has passed');
  if (exp > nowSeconds + lifetimeMaxSeconds) return refused('exp is more than 24 hours ahead');
  const sub = claims['sub'];
  if (sub !== undefined && (typeof sub !== 'string' || !/^(mailto:[^\s<>@]+@[^\s<>@]+|https:\/\/\S+)$/.test(sub))) {
    return refused('sub is neither a mailto nor an https address');
  }
  return { accepted: true, publicKey };
}

function refused(reason: string, problem: VapidProblem = 'invalid'): VapidVerdict {
  return { accepted: false, problem, reason };
}

function parseCredentials(authorization: string): { t: string; k: string } | undefined {
  const match = /^vapid (?<parameters>.+)$/i.exec(authorization);
  const parameters = new Map<string, string>();
  for (const part of match?.groups?.['parameters']?.split(',') ?? []) {
    const at = part.indexOf('=');
    parameters.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  const t = parameters.get('t');
  const k = parameters.get('k');
  return t !== undefined && k !== undefined && base64url.test(k) ? { t, k } : undefined;
}

function parseJson(part: string): Record<string, unknown> | undefined {
  if (!base64url.test(part)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function signatureHolds(publicKey: Buffer, signed: Buffer, signature: Buffer): boolean {
  try {
    const key = createPublicKey({
      format: 'jwk',
      key: {
        kty: 'EC',
        crv: 'P-256',
        x: publicKey.subarray(1, 33).toString('base64url'),
        y: publicKey.subarray(33).toString('base64url'),
      },
    });
    return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    // The point is not on the curve.
    return false;
  }
}
