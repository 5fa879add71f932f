// One signed POST to a webhook: at most five seconds, no redirect, no decompression, and of the
// answer only the status and Retry-After are kept (contract 13.4, R-20 to R-23). Every failure is a
// result and never an exception.
import type { Clock } from '../../ground/database/clock.ts';
import type { OutboundHttp, OutboundResult } from '../../ground/outbound/http.ts';
import { type EndpointUrlRules, judgeEndpoint } from './endpoint-url.ts';
import { parseRetryAfter } from './retry.ts';
import { signatureOf } from './signature.ts';

export const timeoutMs = 5_000;
const bodyReadMax = 16 * 1024;

/** The reason of a failed attempt (contract 13.5). */
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
  /** Null for a 2xx. */
  readonly error: AttemptError | null;
  readonly durationMs: number;
  readonly retryAfterMs: number | null;
  /** No attempt was made, because lookups of other names held all places. */
  readonly isUntried?: true;
  /**
   * The attempt failed, but our own clock may be at fault: the host slept meanwhile, or the
   * signature's time was wrong. The webhook is not blamed.
   */
  readonly isExcused?: true;
}

export interface EventPost {
  readonly endpoint: string;
  /** The name of the connection pool. Two pools never share a connection. */
  readonly pool: string;
  /** The secrets that sign when the request is written. */
  readonly secretsAt: (nowMs: number) => readonly string[];
  readonly event: string;
  readonly body: Buffer;
  /** `service-id`, `service-attempt` and the like. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PostDeps {
  readonly http: OutboundHttp;
  readonly clock: Pick<Clock, 'nowMs' | 'isInDoubt' | 'isTrusted' | 'interruptions'>;
  readonly rules: EndpointUrlRules;
}

/**
 * The statuses of redirects. A 304, for example, is no redirect here, only an answer that is not a
 * 2xx.
 */
const redirects: readonly number[] = [301, 302, 303, 307, 308];

/** Sends one request. Never rejects for anything that an endpoint does. */
export async function postEvent(
  { http, clock, rules }: PostDeps,
  { endpoint, pool, secretsAt, event, body, headers }: EventPost,
): Promise<PostResult> {
  const judged = judgeEndpoint(endpoint, rules);
  if (!('url' in judged)) return { statusCode: null, error: 'blocked_address', durationMs: 0, retryAfterMs: null };
  const { url, host, port } = judged;
  const startedAt = performance.now();
  const { interruptions } = clock;
  let isDropped = false;
  const answer = http.request({
    method: 'POST',
    host,
    port,
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
    // Never signed with a time that may be wrong.
    isWanted() {
      isDropped = clock.isInDoubt();
      return !isDropped;
    },
    // Signed when the request is written: looking up a name or connecting may take seconds, and
    // receivers reject a signature that is too old.
    lateHeaders() {
      const nowMs = clock.nowMs();
      return { 'service-signature': signatureOf(secretsAt(nowMs), Math.floor(nowMs / 1000), body) };
    },
  });
  // One deadline for everything, including the wait for a connection.
  const result = await within(timeoutMs, answer);
  const durationMs = Math.round(performance.now() - startedAt);
  if (result === 'timeout' || 'transportError' in result) {
    const error = result === 'timeout' ? 'timeout' : result.transportError;
    const isUntried = isDropped || (result !== 'timeout' && result.isUntried === true);
    const isExcused = clock.interruptions !== interruptions;
    const why = { ...(isUntried && { isUntried }), ...(isExcused && { isExcused }) } as const;
    return { statusCode: null, error, durationMs, retryAfterMs: null, ...why };
  }
  const { status } = result;
  const isAcknowledged = status >= 200 && status < 300;
  const error = isAcknowledged ? null : redirects.includes(status) ? 'redirect' : 'http_status';
  const isOurs = clock.interruptions !== interruptions || (status >= 400 && status < 500 && !clock.isTrusted());
  const retryAfter = result.headers['retry-after'];
  return {
    statusCode: status,
    error,
    durationMs,
    retryAfterMs: parseRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, clock.nowMs()),
    ...(error !== null && isOurs && { isExcused: true }),
  };
}

async function within(ms: number, answer: Promise<OutboundResult>): Promise<OutboundResult | 'timeout'> {
  let timer: NodeJS.Timeout | undefined;
  // A little later than the request's own deadline, because only the request knows whether headers
  // came. With headers, a slow body still counts as success.
  const late = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), ms + 100);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
