// The value of a session cookie: the token and its signature, as better-auth reads them. The key of
// the signature is derived from the master key, so the database alone signs nothing. Pure.
import { createHmac, hkdfSync } from 'node:crypto';

/** The secret of better-auth, which also encrypts the seeds of second factors. */
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
