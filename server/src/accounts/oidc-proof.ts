// The cookie of a sign-in by OpenID Connect, between the start and the callback. State, nonce and
// PKCE verifier are derived from the cookie under the key of the console's cookies, so a start
// stores nothing, and an altered cookie fits no answer of the provider. Pure.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isRecord } from '../ground/is-record.ts';

export const proofSeconds = 600;

/** Values that tie the provider's answer to one browser and one attempt. */
export interface Proof {
  readonly state: string;
  readonly nonce: string;
  /** The PKCE code verifier (RFC 7636): 43 characters. */
  readonly verifier: string;
}

export interface Beginning {
  readonly proof: Proof;
  /** The secret of a set-up link or an invitation that the person opened; null: none. */
  readonly link: string | null;
}

/** A verified identity at the provider that no account has yet. */
export interface WaitingIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly atMs: number;
}

/** Begins an attempt. Returns the cookie's value and the proof. */
export function beginProof(
  key: string,
  nowMs: number,
  link: string | null,
): { readonly cookie: string; readonly proof: Proof } {
  const cookie = encode([nowMs, randomBytes(32).toString('base64url'), link]);
  return { cookie, proof: proofOf(key, cookie) };
}

/** Reads the cookie of an attempt; undefined: it is none of ours, or older than ten minutes. */
export function readProof(key: string, cookie: string, nowMs: number): Beginning | undefined {
  const value = decode(cookie);
  if (!Array.isArray(value) || typeof value[0] !== 'number' || !isFresh(value[0], nowMs)) return undefined;
  return { proof: proofOf(key, cookie), link: typeof value[2] === 'string' ? value[2] : null };
}

/** Writes the cookie of an identity that waits for the proof of the account's password. */
export function writeWaiting(key: string, identity: WaitingIdentity): string {
  const payload = encode(identity);
  return `${payload}.${macOf(key, 'waiting', payload)}`;
}

/** Reads that cookie; undefined: it is altered, or older than ten minutes. */
export function readWaiting(key: string, cookie: string, nowMs: number): WaitingIdentity | undefined {
  const [payload = '', mac = ''] = cookie.split('.');
  const [given, wanted] = [Buffer.from(mac), Buffer.from(macOf(key, 'waiting', payload))];
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  const value = decode(payload);
  if (!isRecord(value)) return undefined;
  // Only `writeWaiting` makes this code, so the fields are its own.
  const identity = value as unknown as WaitingIdentity;
  return isFresh(identity.atMs, nowMs) ? identity : undefined;
}

function proofOf(key: string, cookie: string): Proof {
  return {
    state: macOf(key, 'state', cookie),
    nonce: macOf(key, 'nonce', cookie),
    verifier: macOf(key, 'verifier', cookie),
  };
}

function macOf(key: string, use: string, text: string): string {
  return createHmac('sha256', key).update(`oidc ${use}:${text}`).digest('base64url');
}

function isFresh(atMs: number, nowMs: number): boolean {
  return nowMs - atMs <= proofSeconds * 1000;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
