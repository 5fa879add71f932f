// The value of a session cookie: the token and its signature. The key of the signature is derived
// from the master key, so the database alone is not enough to sign. Pure.
import {
  isSame,
  isSignedBy,
  type SigningKey,
  type SigningKeys,
  sign,
  signedFormerly,
  signingKeys,
} from '../../ground/secrets/signed-text.ts';

/** The master key, and the former one while secrets are sealed again. */
export interface AuthKeys {
  readonly key: Buffer;
  readonly previous?: Buffer | undefined;
}

const names = [
  ...(['session', 'step', 'browser', 'formerCookie', 'formerOidc'] as const),
  ...(['oidcState', 'oidcNonce', 'oidcVerifier', 'oidcIdentity'] as const),
];

/** The keys under one master key that sign the console's cookies. */
export type ConsoleKeys = SigningKeys<(typeof names)[number]>;

/** Derives the keys of cookies: the first ones sign, each of them verifies. */
export function consoleKeysOf({ key, previous }: AuthKeys): [ConsoleKeys, ...ConsoleKeys[]] {
  return [signingKeys(names, key), ...(previous ? [signingKeys(names, previous)] : [])];
}

export function signToken(key: SigningKey<'session' | 'step'>, token: string): string {
  return `${token}.${sign(key, token)}`;
}

/**
 * Returns whether one of the keys signed the cookie of a session. A stranger cannot make such a
 * value.
 */
export function isSigned(keys: readonly ConsoleKeys[], cookie: string, nowMs: number): boolean {
  const [token, signature] = [tokenOf(cookie), signatureIn(cookie)];
  return (
    isSignedBy(
      keys.map(({ session }) => session),
      signature,
      token,
    ) || isSignedFormerly(keys, cookie, nowMs)
  );
}

/** Returns whether one of the keys signed a cookie of any kind in the form of former releases. */
export function isSignedFormerly(keys: readonly ConsoleKeys[], cookie: string, nowMs: number): boolean {
  return keys.some(({ formerCookie }) =>
    isSame(signatureIn(cookie), signedFormerly(formerCookie, nowMs, tokenOf(cookie))),
  );
}

/**
 * Returns the token of a cookie's value. The hash in the database says whether it is a good one.
 */
export function tokenOf(cookie: string): string {
  const text = decode(cookie);
  const at = text.lastIndexOf('.');
  return at < 0 ? '' : text.slice(0, at);
}

/** Returns the signature of a cookie's value. */
export function signatureIn(cookie: string): string {
  const text = decode(cookie);
  return text.slice(text.lastIndexOf('.') + 1);
}

// Former signatures were in base64, whose letters a cookie carries in percent encoding.
function decode(cookie: string): string {
  try {
    return decodeURIComponent(cookie);
  } catch {
    return '';
  }
}
