// Decides which URLs a caller may make the service call: https, a public host name, a usual port.
// Only the result of `new URL()` is checked, and no name server is asked: the address guard checks
// the addresses of a name at every connection.

import { isIP } from 'node:net';
import type { IssueCode } from '../values/issue.ts';
import { parseUrl } from '../values/parse-url.ts';
import { isExempt, type OutboundExceptions } from './address-guard.ts';

const urlLengthMax = 2_048;

// Names that are private by standard or by custom, with all names under them (contract 13.6).
const privateSuffixes = [
  ...['localhost', 'local', 'internal', 'lan', 'home', 'corp', 'home.arpa', 'localdomain', 'svc', 'cluster.local'],
  ...['onion', 'test', 'invalid'],
];

export interface UrlRules {
  /** Ports that are accepted without a setting of the operator. */
  readonly ports: readonly number[];
  readonly exceptions: OutboundExceptions;
  /** The service's own public host names, because no caller may point the service at itself. */
  readonly ownHosts: readonly string[];
}

export interface UrlProblem {
  readonly code: IssueCode;
  readonly message: string;
}

/**
 * A URL that may be called, with the host as a socket needs it (no brackets) and its port as a
 * number.
 */
export interface OutboundUrl {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
}

/** Checks the URL that a caller passed (contract 13.6, R-30). */
export function judgeUrl(text: string, rules: UrlRules): OutboundUrl | UrlProblem {
  if (text.length > urlLengthMax) return problem('too_big', `A URL has at most ${urlLengthMax} characters.`);
  // `new URL()` accepts spaces, line breaks, backslashes and missing slashes; a caller who writes
  // those meant something else.
  if (!/^https:\/\/[^/\\?#]/i.test(text) || /[\s\p{Cc}\\]/u.test(text)) {
    return problem('invalid_format', 'It must be an absolute https URL.');
  }
  const url = parseUrl(text);
  if (!url) return problem('invalid_format', 'It is not a valid URL.');
  if (url.username !== '' || url.password !== '') return problem('invalid_value', 'It must not carry credentials.');
  if (url.hash !== '' || text.includes('#')) return problem('invalid_value', 'It must not have a fragment.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? 443 : Number(url.port);
  const isUsualPort = rules.ports.includes(port);
  if (!isUsualPort && !rules.exceptions.allowPorts.some(([from, to]) => from <= port && port <= to)) {
    const usual = rules.ports.join(' or ');
    const message = `Port ${port} is not accepted: use ${usual}; an operator may allow it by OUTBOUND_ALLOW_PORTS.`;
    return problem('invalid_value', message);
  }
  return hostProblem(host, port, rules) ?? { url, host, port };
}

function problem(code: IssueCode, message: string): UrlProblem {
  return { code, message };
}

function hostProblem(host: string, port: number, { exceptions, ownHosts }: UrlRules): UrlProblem | undefined {
  if (isIP(host) !== 0) {
    if (isExempt(host, exceptions)) return undefined;
    const message =
      'An address is not accepted: use a public host name; an operator may exempt ranges by OUTBOUND_ALLOW_CIDRS.';
    return problem('host_not_allowed', message);
  }
  if (exceptions.resolve.has(`${host}:${port}`)) return undefined;
  const labels = host.split('.');
  if (host.length > 253 || !labels.every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label))) {
    return problem('invalid_format', 'The host is not a valid name.');
  }
  if (isPrivateName(host, labels)) {
    // With exempt ranges a private name may resolve into them; the guard checks that at the
    // connection.
    if (exceptions.allowCidrs.length > 0) return undefined;
    const message = `'${host}' is not a public host name; an operator may exempt private ranges by OUTBOUND_ALLOW_CIDRS.`;
    return problem('host_not_allowed', message);
  }
  if (ownHosts.includes(host)) return problem('host_not_allowed', 'The service does not call itself.');
  return undefined;
}

function isPrivateName(host: string, labels: readonly string[]): boolean {
  return labels.length < 2 || privateSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/**
 * The origin of the operator's https URL. Throws for an invalid URL; the configuration checks it
 * when it is read.
 */
export function originOfUrl(text: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(text);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
}
