// RFC 8292 on the push service's side: reads the Authorization header and judges each claim. It
// follows the RFC alone; additional rules of vendors are in vendors.ts. It knows no secret key.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { parseUrl } from './parse-url.ts';

/** The two parameters of `Authorization: vapid t=…, k=…`. */
export interface VapidParameters {
  readonly token: string;
  readonly key: string;
}

/** The parts of a JWT, whether or not its signature is valid. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** A sentence about what is wrong; `null` when nothing is. */
export type Fault = string | null;

/** RFC 8292 section 2: not more than 24 hours from the time of the request. */
const expirySecondsMax = 24 * 60 * 60;

const base64url = /^[A-Za-z0-9_-]+$/;

/**
 * The parameters, or a sentence about why there are none. Scheme and names may have any case (RFC
 * 7235).
 */
export function parseVapidHeader(value: string): VapidParameters | string {
  const scheme = /^vapid +/i.exec(value);
  if (scheme === null) return 'the scheme is not vapid';
  const parameters = new Map<string, string>();
  for (const part of value.slice(scheme[0].length).split(',')) {
    const at = part.indexOf('=');
    if (at < 0) return `the parameter ${JSON.stringify(part.trim())} has no value`;
    const name = part.slice(0, at).trim().toLowerCase();
    if (parameters.has(name)) return `the parameter ${name} is given twice`;
    parameters.set(name, unquoted(part.slice(at + 1).trim()));
  }
  const token = parameters.get('t');
  const key = parameters.get('k');
  if (token === undefined || token === '') return 'the parameter t is missing';
  if (key === undefined || key === '') return 'the parameter k is missing';
  return { token, key };
}

function unquoted(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}

/** The parts of a compact JWS, or a sentence about what is malformed. */
export function decodeToken(token: string): DecodedToken | string {
  const parts = token.split('.');
  const [header = '', claims = '', signature = ''] = parts;
  if (parts.length !== 3) return `a JWT has three parts, this one has ${parts.length}`;
  if (![header, claims, signature].every((part) => base64url.test(part))) return 'the JWT is not base64url';
  const headerObject = parseObject(header);
  const claimsObject = parseObject(claims);
  if (headerObject === undefined) return 'the JWT header is not a JSON object';
  if (claimsObject === undefined) return 'the JWT claims are not a JSON object';
  return {
    header: headerObject,
    claims: claimsObject,
    signingInput: `${header}.${claims}`,
    signature: Buffer.from(signature, 'base64url'),
  };
}

function parseObject(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The public key of `k` (65 octets, uncompressed, on the curve), or a sentence about what is wrong.
 */
export function readPublicKey(key: string): KeyObject | string {
  if (!base64url.test(key)) return 'k is not base64url without padding';
  const point = Buffer.from(key, 'base64url');
  if (point.length !== 65 || point[0] !== 0x04) return 'k is not an uncompressed P-256 point of 65 octets';
  try {
    const x = point.subarray(1, 33).toString('base64url');
    const y = point.subarray(33).toString('base64url');
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  } catch {
    return 'k is not a point on P-256';
  }
}

/** Section 2: signed with ES256 by the owner of `k`. */
export function signatureFault(decoded: DecodedToken, key: KeyObject): Fault {
  if (decoded.header['alg'] !== 'ES256') return `alg must be ES256, it is ${JSON.stringify(decoded.header['alg'])}`;
  if (decoded.signature.length !== 64)
    return `an ES256 signature has 64 octets, this one has ${decoded.signature.length}`;
  const isSigned = verify(
    'sha256',
    Buffer.from(decoded.signingInput, 'ascii'),
    { key, dsaEncoding: 'ieee-p1363' },
    decoded.signature,
  );
  return isSigned ? null : 'the signature was not made by the owner of k';
}

/**
 * Section 2: `aud` is exactly the origin of the push resource, without a path or a trailing slash.
 */
export function audienceFault(claims: DecodedToken['claims'], origin: string): Fault {
  const audience = claims['aud'];
  if (audience === undefined) return 'aud is missing';
  // RFC 7519 section 4.1.3 allows a list in `aud`; one entry must match.
  const isMeant = Array.isArray(audience) ? audience.includes(origin) : audience === origin;
  return isMeant ? null : `aud must be ${origin}, it is ${JSON.stringify(audience)}`;
}

/** Section 2: `exp` must be in the future. */
export function expiryFault(claims: DecodedToken['claims'], nowSeconds: number): Fault {
  const expiry = claims['exp'];
  if (typeof expiry !== 'number' || !Number.isFinite(expiry)) return 'exp is missing or not a number';
  return expiry > nowSeconds ? null : `exp passed ${Math.round(nowSeconds - expiry)} s ago`;
}

/** Section 2: `exp` must be at most 24 hours ahead. */
export function farExpiryFault(claims: DecodedToken['claims'], nowSeconds: number): Fault {
  const ahead = Number(claims['exp']) - nowSeconds;
  return ahead > expirySecondsMax ? `exp is ${Math.round(ahead)} s away, more than 24 hours` : null;
}

/** Section 2.1: `sub`, if given, is a mailto: or https: URI. */
export function subjectFault(claims: DecodedToken['claims']): Fault {
  const subject = claims['sub'];
  if (subject === undefined) return null;
  if (typeof subject !== 'string') return 'sub is not a string';
  if (/^mailto:[^@]+@[^@]+$/i.test(subject)) return null;
  return /^https:\/\//i.test(subject) && parseUrl(subject)
    ? null
    : `sub must be a mailto: or https: URI, it is ${JSON.stringify(subject)}`;
}
