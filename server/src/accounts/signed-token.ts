// The value of a session cookie: the token and its signature, as better-auth reads them. The key of
// the signature is derived from the master key, so the database alone signs nothing. Pure.
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** The master key, and the former one while secrets are sealed again. */
export interface AuthKeys {
  readonly key: Buffer;
  readonly previous?: Buffer | undefined;
}

export interface AuthSecret {
  /** Names the secret in what it encrypts, by the master key that it comes from. */
  readonly version: number;
  readonly value: string;
}

/**
 * The secrets of better-auth, which also encrypt the seeds of second factors: the first one
 * encrypts and signs, each of them decrypts.
 */
export function authSecretsOf({ key, previous }: AuthKeys): [AuthSecret, ...AuthSecret[]] {
  const secretOf = (masterKey: Buffer): AuthSecret => {
    const value = authSecretOf(masterKey);
    return { version: createHash('sha256').update(value).digest().readUInt32BE(), value };
  };
  return [secretOf(key), ...(previous ? [secretOf(previous)] : [])];
}

/** The secret that signs cookies. */
export function authSecretOf(masterKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', masterKey, '', 'carillon-accounts', 32)).toString('base64url');
}

export function signToken(secret: string, token: string): string {
  return encodeURIComponent(`${token}.${signatureOf(secret, token)}`);
}

/** Returns whether one of the secrets signed a cookie's value. Strangers can make no such value. */
export function isSigned(secrets: readonly string[], signed: string): boolean {
  const token = tokenOf(signed);
  const given = Buffer.from(decode(signed).slice(token.length + 1));
  return secrets.some((secret) => {
    const wanted = Buffer.from(signatureOf(secret, token));
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  });
}

function signatureOf(secret: string, token: string): string {
  return createHmac('sha256', secret).update(token).digest('base64');
}

/**
 * Returns the token of a cookie's value. The hash in the database says whether it is a good one.
 */
export function tokenOf(signed: string): string {
  const text = decode(signed);
  const at = text.lastIndexOf('.');
  return at < 0 ? '' : text.slice(0, at);
}

function decode(signed: string): string {
  try {
    return decodeURIComponent(signed);
  } catch {
    return '';
  }
}
