// The cookie of a browser in which a person has signed in. It opens nothing: failed sign-ins
// with it have a count of their own. Pure, but for chance.
import { createHash, randomBytes } from 'node:crypto';
import { isSigned, signToken, tokenOf } from './signed-token.ts';

export const browserSeconds = 90 * 86_400;

/** Writes the cookie for the person of an address. `id`: the browser keeps its count. */
export function writeBrowser(secret: string, email: string, nowMs: number, id: string | null): string {
  const parts = ['browser', keyOf(email), id ?? randomBytes(16).toString('base64url'), nowMs];
  return signToken(secret, parts.join('.'));
}

/** Returns the browser's id, where the cookie is ours, of this person, and at most 90 days old. */
export function readBrowser(
  secrets: readonly string[],
  cookie: string | undefined,
  email: string | null,
  nowMs: number,
): string | null {
  if (cookie === undefined || email === null || !isSigned(secrets, cookie)) return null;
  const [label, person, id = '', atMs] = tokenOf(cookie).split('.');
  const isFresh = nowMs - Number(atMs) <= browserSeconds * 1000;
  return label === 'browser' && person === keyOf(email) && isFresh ? id : null;
}

function keyOf(email: string): string {
  return createHash('sha256').update(email).digest('base64url');
}
