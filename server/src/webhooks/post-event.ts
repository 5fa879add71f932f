// One signed POST to a webhook: five seconds in all, no redirect, no decompression, nothing of the answer kept but its status
// (contract 13.4, R-20 to R-23). Whatever goes wrong is a result and never an exception.
import type { Clock } from '../platform/clock.ts';
import type { OutboundHttp, OutboundResult } from '../platform/outbound-http.ts';
import { type EndpointUrlRules, judgeEndpoint } from './endpoint-url.ts';
import { parseRetryAfter } from './retry.ts';
import { signatureOf } from './signature.ts';

export const timeoutMs = 5_000;
const bodyReadMax = 16 * 1024;

/** Why an attempt failed (contract 13.5). */
export type AttemptError =
  | 'timeout'
  | 'dns_error'
  | 'connect_error'
  | 'tls_error'
  | 'reset'
  | 'blocked_address'
  | 'http_status'
  | 'redirect';

export interface PostResult {
  readonly statusCode: number | null;
  /** Null: a 2xx. */
  readonly error: AttemptError | null;
  readonly durationMs: number;
  readonly retryAfterMs: number | null;
  /** No attempt: the endpoint's name was not even asked for, as other names held all places. */
  readonly isUntried?: true;
}

export interface EventPost {
  readonly endpoint: string;
  /** Connections are kept per name and never shared between two. */
  readonly pool: string;
  /** Those that sign at the instant at which the request is written. */
  readonly secretsAt: (nowMs: number) => readonly string[];
  readonly event: string;
  readonly body: Buffer;
  /** `service-id`, `service-attempt` and the like. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PostDeps {
  readonly http: OutboundHttp;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly rules: EndpointUrlRules;
}

/** Redirects by their statuses; 304 and the like are answers that are no 2xx. */
const redirects: readonly number[] = [301, 302, 303, 307, 308];

/** Never rejects for what an endpoint does. */
export async function postEvent(
  { http, clock, rules }: PostDeps,
  { endpoint, pool, secretsAt, event, body, headers }: EventPost,
): Promise<PostResult> {
  const judged = judgeEndpoint(endpoint, rules);
  if (!('url' in judged)) return { statusCode: null, error: 'blocked_address', durationMs: 0, retryAfterMs: null };
  const { url, host, port } = judged;
  const startedAt = performance.now();
  const answer = http.request({
    method: 'POST',
    ...{ host, port },
    path: url.pathname + url.search,
    pool,
    timeoutMs,
    bodyLimits: { readMax: bodyReadMax, keepMax: 0 },
    body,
    headers: {
      'content-type': 'application/json',
      'service-event': event,
      ...headers,
      'user-agent': 'Carillon/1',
      'accept-encoding': 'identity',
    },
    // Receivers refuse what was signed too long ago, and a name or a connection may take seconds.
    lateHeaders() {
      const nowMs = clock.nowMs();
      return { 'service-signature': signatureOf(secretsAt(nowMs), Math.floor(nowMs / 1000), body) };
    },
  });
  // The deadline is for everything: also for whatever may come before the request has a connection.
  const result = await within(timeoutMs, answer);
  const durationMs = Math.round(performance.now() - startedAt);
  if (result === 'timeout' || 'transportError' in result) {
    const error = result === 'timeout' ? 'timeout' : result.transportError;
    const isUntried = result !== 'timeout' && result.isUntried === true;
    return { statusCode: null, error, durationMs, retryAfterMs: null, ...(isUntried && { isUntried }) };
  }
  const { status } = result;
  const isAcknowledged = status >= 200 && status < 300;
  const error = isAcknowledged ? null : redirects.includes(status) ? 'redirect' : 'http_status';
  const retryAfter = result.headers['retry-after'];
  return {
    statusCode: status,
    error,
    durationMs,
    retryAfterMs: parseRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, clock.nowMs()),
  };
}

async function within(ms: number, answer: Promise<OutboundResult>): Promise<OutboundResult | 'timeout'> {
  let timer: NodeJS.Timeout | undefined;
  // A little later than the request's own: it knows whether headers came, which make a success of a slow body.
  const late = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), ms + 100);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
