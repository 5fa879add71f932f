// The rules for a webhook's address: https, a public name, port 443 or 8443 (contract 13.6). The
// address guard judges the addresses of the name at every connection. Pure.

import { invalid } from '../../ground/http/api-error.ts';
import type { OutboundExceptions } from '../../ground/outbound/address-guard.ts';
import { judgeUrl, type OutboundUrl, type UrlProblem } from '../../ground/outbound/url.ts';
import type { Issue } from '../../ground/values/issue.ts';

export interface EndpointUrlRules {
  readonly exceptions: OutboundExceptions;
  /** The service's own public host names. */
  readonly ownHosts: readonly string[];
}

/**
 * Judges the address when it is saved and again at every request, because a row may have been
 * altered.
 */
export function judgeEndpoint(text: string, rules: EndpointUrlRules): OutboundUrl | UrlProblem {
  return judgeUrl(text, { ports: [443, 8443], ...rules });
}

/** The address in the form that is stored. Throws the 400 at `endpoint`. */
export function checkEndpoint(text: string, rules: EndpointUrlRules): string {
  const judged = judgeEndpoint(text, rules);
  if ('url' in judged) return judged.url.href;
  const issue: Issue = { path: ['endpoint'], code: judged.code, message: judged.message };
  throw invalid([issue]);
}
