// The cookie of a browser in which a person has signed in. It opens nothing: failed sign-ins
// with it have a count of their own. Pure, but for chance.
import { createHash, randomBytes } from 'node:crypto';
import { isSignedBy, type SigningKey, sign } from '../../ground/secrets/signed-text.ts';
import { type ConsoleKeys, isSignedFormerly, signatureIn, tokenOf } from './signed-token.ts';

export const browserSeconds = 90 * 86_400;
/** Cookies of former releases named their use in the text, because all had the same key. */
const formerStart = 'browser.';

/**
 * Writes the cookie for the person with an address. `id`: the browser's former id, which keeps its
 * count.
 */
export function writeBrowser(key: SigningKey<'browser'>, email: string, nowMs: number, id: string | null): string {
  const parts = [keyOf(email), id ?? randomBytes(16).toString('base64url'), `${nowMs}`] as const;
  return `${parts.join('.')}.${sign(key, ...parts)}`;
}

/**
 * Returns the browser's id if the cookie is ours, belongs to this person and is at most 90 days
 * old.
 */
export function readBrowser(
  keys: readonly ConsoleKeys[],
  cookie: string | undefined,
  email: string | null,
  nowMs: number,
): string | null {
  if (cookie === undefined || email === null) return null;
  const token = tokenOf(cookie);
  const isFormer = token.startsWith(formerStart);
  const [person = '', id = '', atMs = '', ...more] = (isFormer ? token.slice(formerStart.length) : token).split('.');
  const isOurs = isFormer
    ? isSignedFormerly(keys, cookie, nowMs)
    : more.length === 0 &&
      isSignedBy(
        keys.map(({ browser }) => browser),
        signatureIn(cookie),
        person,
        id,
        atMs,
      );
  const isFresh = nowMs - Number(atMs) <= browserSeconds * 1000;
  return isOurs && person === keyOf(email) && isFresh ? id : null;
}

function keyOf(email: string): string {
  return createHash('sha256').update(email).digest('base64url');
}
