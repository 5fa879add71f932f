// The value of a session cookie: the token and its signature, as better-auth reads them. The key of
// the signature is derived from the master key, so the database alone signs nothing. Pure.
import { createHash, createHmac, hkdfSync } from 'node:crypto';

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
  const signature = createHmac('sha256', secret).update(token).digest('base64');
  return encodeURIComponent(`${token}.${signature}`);
}

/** Returns the token of a cookie's value. The hash in the database says whether it is a good one. */
export function tokenOf(signed: string): string {
  let text: string;
  try {
    text = decodeURIComponent(signed);
  } catch {
    return '';
  }
  const at = text.lastIndexOf('.');
  return at < 0 ? '' : text.slice(0, at);
}
