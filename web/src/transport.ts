// Requests to the service from page and worker: a request with bounded retries, and the receipt,
// which has none. It stores nothing. Each repeated request has the same effect as one.
import { ApiError, type Issue, NetworkError } from './errors.ts';

/** The service's address and the app's key. */
export interface Service {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** `ck_live_…`. A server key must never reach a browser. */
  readonly clientKey: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /**
   * Makes the body again for every try, because it may be out of date by then. An exception ends
   * the call.
   */
  readonly bodyNow?: () => Promise<unknown>;
}

/** The body of a receipt (contract 14). */
export interface Receipt {
  readonly token: string;
  readonly event: 'displayed' | 'clicked' | 'dismissed';
  readonly action?: string;
}

type Answer = Readonly<Record<string, unknown>>;

const triesMax = 4;
const timeoutMs = 10_000;
/**
 * A longer Retry-After is not waited for: the caller gets the error, and the next page load tries
 * again.
 */
const waitMsMax = 30_000;

/** Waits between tries; tests pass one that returns at once. */
export type Sleep = (ms: number) => Promise<void>;

const sleepFor: Sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends one request and resolves with the JSON object of its 200. A missing answer, 429 and 502 to
 * 504 are tried again, at most four times in all and never sooner than Retry-After. Throws
 * `ApiError` or `NetworkError`.
 */
export async function callApi(service: Service, request: ApiRequest, sleep: Sleep = sleepFor): Promise<Answer> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await callOnce(service, request);
    } catch (error) {
      const waitMs = waitBeforeNextTry(error, tried);
      if (waitMs === null) throw error;
      await sleep(waitMs);
    }
  }
}

function waitBeforeNextTry(error: unknown, tried: number): number | null {
  if (tried >= triesMax) return null;
  // Half a second, doubling, with jitter, so that browsers that lost a service together do not come
  // back together.
  const backoffMs = 500 * 2 ** (tried - 1) * (0.5 + Math.random());
  if (error instanceof NetworkError) return navigator.onLine === false ? null : backoffMs;
  if (!(error instanceof ApiError) || ![429, 502, 503, 504].includes(error.status)) return null;
  const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
  return waitMs <= waitMsMax ? waitMs : null;
}

async function callOnce(service: Service, request: ApiRequest): Promise<Answer> {
  const body = request.bodyNow ? await request.bodyNow() : request.body;
  const headers: Record<string, string> = { authorization: `Bearer ${service.clientKey}` };
  const init: RequestInit = {
    method: request.method,
    headers,
    credentials: 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(timeoutMs),
  };
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(service.baseUrl + request.path, init);
    text = await response.text();
  } catch (cause) {
    throw new NetworkError(`No answer from ${service.baseUrl}.`, { cause });
  }
  const answer = parseObject(text);
  if (response.ok && answer) return answer;
  throw refusal(response, answer);
}

function refusal(response: Response, answer: Answer | null): ApiError {
  const { error, message, issues, path, request_id: requestId } = answer ?? {};
  return new ApiError({
    status: response.status,
    error: typeof error === 'string' ? error : 'invalid_answer',
    message: typeof message === 'string' ? message : `Expected JSON, got status ${response.status}.`,
    issues: Array.isArray(issues) ? (issues as Issue[]) : [],
    path: Array.isArray(path) ? (path as Issue['path']) : null,
    requestId: typeof requestId === 'string' ? requestId : response.headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(response.headers.get('retry-after'), answer),
  });
}

/**
 * The header has whole seconds, rounded up, so the body's milliseconds are more precise (contract
 * 4).
 */
function retryAfterMs(header: string | null, answer: Answer | null): number | null {
  const fromBody = answer?.['retry_after_ms'];
  if (typeof fromBody === 'number') return fromBody;
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}

function parseObject(text: string): Answer | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null;
  } catch {
    return null;
  }
}

/**
 * Reports one mark and returns whether the service accepted it. Never throws, because a lost
 * receipt must not cost a notification. `text/plain` needs no preflight, and `keepalive` lets the
 * request outlive the worker.
 */
export async function sendReceipt(baseUrl: string, receipt: Receipt): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/v1/receipts`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify(receipt),
      credentials: 'omit',
      keepalive: true,
    });
    return response.ok;
  } catch {
    return false;
  }
}
