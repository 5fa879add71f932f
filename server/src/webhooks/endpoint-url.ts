// Which addresses a webhook may have: https, a public name, port 443 or 8443 (contract 13.6). Where the name leads is judged at
// every connection, by the address guard. Pure.
import type { OutboundExceptions } from '../platform/address-guard.ts';
import { type Issue, invalid } from '../platform/api-error.ts';
import { judgeUrl } from '../platform/outbound-url.ts';

export interface EndpointUrlRules {
  readonly exceptions: OutboundExceptions;
  /** The service's own public host names. */
  readonly ownHosts: readonly string[];
}

/** The address as it is stored. Throws the 400 at `endpoint`. */
export function checkEndpoint(text: string, rules: EndpointUrlRules): string {
  const judged = judgeUrl(text, { ports: [443, 8443], ...rules });
  if ('url' in judged) return judged.url.href;
  const issue: Issue = { path: ['endpoint'], code: judged.code, message: judged.message };
  throw invalid([issue]);
}
