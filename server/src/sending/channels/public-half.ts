// Derives the public half of an uploaded private key. A file may hold the public half of another
// key, so the two halves are tested by a signature. Never throws and shows nothing of either half.
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** Undefined when the key cannot sign, or when its public half does not verify the signature. */
export function publicHalfOf(privateKey: KeyObject): KeyObject | undefined {
  const text = Buffer.from('carillon');
  try {
    const publicKey = createPublicKey(privateKey);
    return verify('sha256', text, publicKey, sign('sha256', text, privateKey)) ? publicKey : undefined;
  } catch {
    return undefined;
  }
}
