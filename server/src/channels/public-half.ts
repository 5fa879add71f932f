// The public half of a private key that somebody uploaded. A file may hold a public half that is another's: only what that verifies
// was made with the private one. Throws nothing and shows nothing of either.
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** Undefined where the key does not sign, or signs what its public half does not verify. */
export function publicHalfOf(privateKey: KeyObject): KeyObject | undefined {
  const text = Buffer.from('carillon');
  try {
    const publicKey = createPublicKey(privateKey);
    return verify('sha256', text, publicKey, sign('sha256', text, privateKey)) ? publicKey : undefined;
  } catch {
    return undefined;
  }
}
