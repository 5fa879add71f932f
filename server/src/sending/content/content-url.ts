// The urls that a message may carry (contract 7.2, R-38). Only the literal text is judged: scheme
// and host end before the first tag, so no person's value can change the host of a url. Pure.
import { parseUrl } from '../../ground/values/parse-url.ts';

/**
 * The use of a url. A tap opens an `open` url, and a browser opens a `web` url after a tap. A
 * device loads an `https` url as a picture.
 */
export type UrlUse = 'open' | 'web' | 'https';

const refusedSchemes = new Set(['javascript', 'data', 'vbscript', 'file', 'blob', 'about', 'ws', 'wss']);

// Characters that WHATWG parsers strip or read as '/', and other parsers do not. With them, two
// programs could read two different hosts.
const ambiguousCharacter = /[\p{Cc}\p{Z}\\]/u;
const schemeForm = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/**
 * The reason why a url is refused, or null. `texts` is its literal text: one piece for a literal
 * url, otherwise the pieces between tags.
 */
export function urlProblem(texts: readonly string[], use: UrlUse): string | null {
  const head = texts[0] ?? '';
  const hasTags = texts.length > 1;
  if (texts.some((text) => ambiguousCharacter.test(text))) {
    return 'A URL holds no blanks, control characters or backslashes; write them percent-encoded.';
  }
  const scheme = schemeForm.exec(head)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    return hasTags ? literalOrigin : 'A URL starts with its scheme, such as https://';
  }
  if (refusedSchemes.has(scheme)) return `The scheme '${scheme}' is not allowed.`;
  const isWeb = scheme === 'http' || scheme === 'https';
  if (use === 'https' && scheme !== 'https') return 'This must be an https URL.';
  if (use === 'web' && !isWeb) return 'On webpush a URL must be http or https.';
  const rest = head.slice(scheme.length + 1);
  const problem = isWeb ? webProblem(rest, hasTags) : appProblem(rest, hasTags);
  // The literal start decides for the whole url, because nothing after the host can make a url
  // invalid.
  return problem ?? (parseUrl(head) ? null : 'The host of the URL is not valid.');
}

/** Whether a browser can open the url: http or https. Only for urls that passed `urlProblem`. */
export function isWebUrl(url: string): boolean {
  return /^https?:/i.test(url);
}

export function isHttpsUrl(url: string): boolean {
  return /^https:/i.test(url);
}

const literalOrigin =
  'Scheme and host must be literal text: personalize only what follows the host, after a /, ? or #.';

function webProblem(rest: string, hasTags: boolean): string | null {
  const authority = /^\/\/([^/?#]+)([/?#]?)/.exec(rest);
  if (!authority) return hasTags && /^\/{0,2}$/.test(rest) ? literalOrigin : 'A web URL is written https://host/path.';
  const [, host = '', end = ''] = authority;
  if (hasTags && end === '') return literalOrigin;
  return host.includes('@') ? 'A URL must not hold a user name or password.' : null;
}

// An app's own url may have no host (`app:item/7`). When it has tags, a literal character must
// follow the colon or the single slash. Then no person's value can add a host.
function appProblem(rest: string, hasTags: boolean): string | null {
  if (hasTags) return /^(?:[^/]|\/[^/]|\/\/[^/?#]*[/?#])/.test(rest) ? null : literalOrigin;
  return rest === '' ? 'A URL has something after its scheme.' : null;
}
