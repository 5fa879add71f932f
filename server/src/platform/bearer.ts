// Compares the token of an Authorization header with the one that is set, in a time that tells nothing of it.
import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether the header is `Bearer` and this very token. */
export function hasBearer(authorization: string | undefined, token: string): boolean {
  const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (given === undefined) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
