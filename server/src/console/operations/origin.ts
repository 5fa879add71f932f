// Whether a request that changes something comes from the console's own pages. A browser
// says so in two headers that no page can set. A request without either header is refused, and so
// is a body that a form can send. Pure.

import { ApiError } from '../../ground/http/api-error.ts';
import type { RequestHead } from '../../ground/http/server.ts';
import { parseUrl } from '../../ground/values/parse-url.ts';

/**
 * Throws the 403 for a request that another origin may have made. Requests that change nothing
 * pass.
 */
export function checkOrigin(
  { method, header }: Pick<RequestHead, 'method' | 'header'>,
  publicUrl: string | null,
): void {
  if (method === 'GET' || method === 'HEAD') return;
  const [site, ...moreSites] = header('sec-fetch-site');
  const [origin, ...moreOrigins] = header('origin');
  const isSaid = site !== undefined || origin !== undefined;
  const isSite = site === undefined || (moreSites.length === 0 && site === 'same-origin');
  const isOrigin =
    origin === undefined || (moreOrigins.length === 0 && isOwnOrigin(origin, publicUrl, header('host')[0]));
  if (!isSaid || !isSite || !isOrigin) throw new ApiError('cross_origin');
  // Absent means JSON. The three types of a plain form could be sent by any page.
  const [type] = header('content-type');
  if (type !== undefined && !/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new ApiError('cross_origin', { message: 'The console takes JSON only.' });
  }
}

/**
 * Throws the 403 for an export that another site's page started in a signed-in browser, because an
 * export costs work and is written to the audit log.
 */
export function checkReader({ header }: Pick<RequestHead, 'header'>): void {
  const sites = header('sec-fetch-site');
  // A browser sends `none` for an address that its person typed.
  if (sites.every((site) => site === 'same-origin' || site === 'none')) return;
  throw new ApiError('cross_origin');
}

/**
 * Returns whether an origin is the service's own: PUBLIC_URL's, or the one of the Host header under
 * PUBLIC_URL's scheme. A foreign host name that resolves to this machine gets no cookie of ours.
 */
function isOwnOrigin(origin: string, publicUrl: string | null, host: string | undefined): boolean {
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return true;
  const own = parseUrl(origin);
  if (own === null || own.host !== host?.toLowerCase()) return false;
  return publicUrl === null || own.protocol === new URL(publicUrl).protocol;
}
