// The cookie of a sign-in by OpenID Connect, between the start and the callback. State, nonce and
// PKCE verifier are derived from the cookie, each under a key of its own, so a start stores nothing,
// and an altered cookie fits no answer of the provider. Pure.
import { randomBytes } from 'node:crypto';
import { isSame, isSignedBy, sign, signedFormerly } from '../../ground/secrets/signed-text.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import type { ConsoleKeys } from './signed-token.ts';

export const proofSeconds = 600;
/** A mark in the cookie of an attempt. Former releases wrote none. */
const presentForm = 2;

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
  keys: ConsoleKeys,
  nowMs: number,
  link: string | null,
): { readonly cookie: string; readonly proof: Proof } {
  const cookie = encode([nowMs, randomBytes(32).toString('base64url'), link, presentForm]);
  return { cookie, proof: proofOf(keys, cookie) };
}

/** Reads the cookie of an attempt; undefined: it is not ours, or is older than ten minutes. */
export function readProof(keys: ConsoleKeys, cookie: string, nowMs: number): Beginning | undefined {
  const value = decode(cookie);
  if (!Array.isArray(value) || typeof value[0] !== 'number' || !isFresh(value[0], nowMs)) return undefined;
  const proof = value[3] === presentForm ? proofOf(keys, cookie) : formerProofOf(keys, cookie, nowMs);
  return proof && { proof, link: typeof value[2] === 'string' ? value[2] : null };
}

/** Writes the cookie of an identity that waits for the proof of the account's password. */
export function writeWaiting({ oidcIdentity }: ConsoleKeys, identity: WaitingIdentity): string {
  const payload = encode(identity);
  return `${payload}.${sign(oidcIdentity, payload)}`;
}

/** Reads the cookie of `writeWaiting`; undefined: it was altered, or is older than ten minutes. */
export function readWaiting(keys: ConsoleKeys, cookie: string, nowMs: number): WaitingIdentity | undefined {
  const [payload = '', mac = ''] = cookie.split('.');
  const isFormer = () => isSame(mac, signedFormerly(keys.formerOidc, nowMs, `oidc waiting:${payload}`));
  if (!isSignedBy([keys.oidcIdentity], mac, payload) && !isFormer()) return undefined;
  const value = decode(payload);
  if (!isRecord(value)) return undefined;
  // Only `writeWaiting` makes this signature, so the fields have its types.
  const identity = value as unknown as WaitingIdentity;
  return isFresh(identity.atMs, nowMs) ? identity : undefined;
}

function proofOf({ oidcState, oidcNonce, oidcVerifier }: ConsoleKeys, cookie: string): Proof {
  return { state: sign(oidcState, cookie), nonce: sign(oidcNonce, cookie), verifier: sign(oidcVerifier, cookie) };
}

function formerProofOf({ formerOidc }: ConsoleKeys, cookie: string, nowMs: number): Proof | undefined {
  const [state, nonce, verifier] = ['state', 'nonce', 'verifier'].map((use) =>
    signedFormerly(formerOidc, nowMs, `oidc ${use}:${cookie}`),
  );
  return state && nonce && verifier ? { state, nonce, verifier } : undefined;
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
