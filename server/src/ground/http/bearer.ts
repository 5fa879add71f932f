// Compares the token of an Authorization header with the configured one in constant time.
import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns whether the header is `Bearer` with exactly this token. */
export function hasBearer(authorization: string | undefined, token: string): boolean {
  const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (given === undefined) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
