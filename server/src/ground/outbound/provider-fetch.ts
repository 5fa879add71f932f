// `fetch` for the provider of OpenID Connect, through the address guard. The operator chose the
// issuer, so its host may be a private one. The provider chose every other address, so those are
// judged like the addresses of strangers.
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AnswerHeaders } from '@carillon/http2';
import ipaddr from 'ipaddr.js';
import { createAddressGuard, type OutboundExceptions } from './address-guard.ts';
import { createOutboundHttp, type OutboundHttp } from './http.ts';
import { createOutboundSockets } from './socket.ts';
import { judgeUrl, originOfUrl, type UrlRules } from './url.ts';

/** A description of a provider or its keys has a few kilobytes. */
const bodyBytesMax = 512 * 1024;
const timeoutMs = 10_000;

export interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

type Fetch = (url: string, options: FetchOptions) => Promise<Response>;

/**
 * Makes the function. It rejects with a TypeError, as `fetch` does, when no complete answer came.
 */
export function createProviderFetch(issuer: URL, rules: Omit<UrlRules, 'ports'>): Fetch {
  const doorTo = (exceptions: OutboundExceptions): OutboundHttp =>
    createOutboundHttp(createOutboundSockets(createAddressGuard({ exceptions })));
  const everywhere = ['0.0.0.0/0', '::/0'].map((range) => ipaddr.parseCIDR(range));
  const [toIssuer, toOthers] = [doorTo({ ...rules.exceptions, allowCidrs: everywhere }), doorTo(rules.exceptions)];
  return async (url, options) => {
    const target = new URL(url);
    if (target.origin === issuer.origin && issuer.protocol === 'http:') return fetchHere(target, options);
    const isIssuer = target.protocol === 'https:' && target.hostname === issuer.hostname;
    const judged = isIssuer ? undefined : judgeUrl(url, { ...rules, ports: [443, 8443] });
    if (judged && 'message' in judged) throw new TypeError(`${target.host}: ${judged.message}`);
    const answer = await (isIssuer ? toIssuer : toOthers).request({
      ...originOfUrl(url),
      path: target.pathname + target.search,
      method: options.method === 'POST' ? 'POST' : 'GET',
      headers: options.headers,
      body: bodyOf(options),
      timeoutMs,
      bodyLimits: { readMax: bodyBytesMax, keepMax: bodyBytesMax },
    });
    if ('transportError' in answer) throw new TypeError(`${target.host}: ${answer.transportError}`);
    if (answer.truncated) throw new TypeError(`${target.host}: the answer is not whole`);
    return responseOf(answer.status, answer.headers, answer.body);
  };
}

/** Plain http is only for an issuer on this machine. The configuration enforces it. */
function fetchHere(url: URL, options: FetchOptions): Promise<Response> {
  const { method, headers, signal } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false, ...(signal && { signal }) }, (answer) => {
      text(answer).then((body) => resolve(responseOf(answer.statusCode ?? 500, answer.headers, body)), reject);
    });
    sent.on('error', (error) => reject(new TypeError(error.message, { cause: error })));
    sent.end(bodyOf(options));
  });
}

function bodyOf({ body }: FetchOptions): Buffer {
  return body === undefined || body === null ? Buffer.alloc(0) : Buffer.from(String(body));
}

function responseOf(status: number, headers: AnswerHeaders, body: string | null): Response {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  );
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? body : null, { status, headers: given });
}
