// One call of the API with its retries: sends the request as the API's description has it, and
// returns the answer's JSON or throws an error. Every try of a call carries the same bytes and the
// same Idempotency-Key. The API key never appears in an error or in printed text.
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, NetworkError, type QuotaState } from './errors.ts';
import { type RetryRules, retryInMs } from './retry.ts';
import { type Issue, type Operations, operations } from './types.gen.ts';

export type OperationName = keyof Operations;

export interface CallOptions {
  /**
   * Ends the call, also during a wait between tries. The call then rejects with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of each try, its whole answer included. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Tries beyond the first. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /**
   * The service makes one message per key, however often the request arrives. 1 to 255 visible
   * ASCII characters. Default: a new key for each call, so that the tries of one call send once.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface Service extends RetryRules {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly fetch: typeof globalThis.fetch;
}

interface Given {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string | number | null | undefined>> | undefined;
  readonly body?: unknown;
}

/** Waits between tries; tests pass one that returns at once. */
export type Sleep = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

const sleepFor: Sleep = (ms, signal) => sleep(ms, undefined, signal && { signal });

/**
 * Makes one call. Throws `ApiError` or `NetworkError`, and `TypeError` for arguments that cannot be
 * a request.
 */
export async function call<Name extends OperationName>(
  service: Service,
  name: Name,
  given: Operations[Name]['given'],
  options: CallOptions & { readonly isRepeatable: boolean },
  sleepBetween: Sleep = sleepFor,
): Promise<Operations[Name]['answer']> {
  const rules = { maxRetries: options.maxRetries ?? service.maxRetries, maxWaitMs: service.maxWaitMs };
  const request = prepare(service, name, given, options);
  for (let tried = 1; ; tried++) {
    try {
      return (await callOnce(service, request, options)) as Operations[Name]['answer'];
    } catch (error) {
      const waitMs = retryInMs(error, { tried, isRepeatable: options.isRepeatable }, rules, Math.random());
      if (waitMs === undefined) throw error;
      await sleepBetween(waitMs, options.signal).catch((reason: unknown) => {
        options.signal?.throwIfAborted();
        throw reason;
      });
    }
  }
}

interface PreparedRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

function prepare(
  { baseUrl, apiKey, userAgent }: Service,
  name: OperationName,
  { params = {}, query = {}, body }: Given,
  { idempotencyKey }: CallOptions,
): PreparedRequest {
  const { method, path } = operations[name];
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new TypeError('An idempotencyKey is 1 to 255 visible ASCII characters.');
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, field: string) => segmentOf(field, params[field]));
  const search = new URLSearchParams();
  for (const [field, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(field, String(value));
  }
  return {
    url: `${baseUrl}${filled}${search.size > 0 ? `?${search}` : ''}`,
    method,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      'user-agent': userAgent,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

// `.` and `..` would be steps in the URL's path and not names, even when they are escaped.
function segmentOf(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value);
  throw new TypeError(`'${String(value)}' cannot stand in an address as ${field}.`);
}

async function callOnce(service: Service, request: PreparedRequest, options: CallOptions): Promise<object> {
  const { url, method, headers, body } = request;
  const timeoutMs = options.timeoutMs ?? service.timeoutMs;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  let response: Response;
  let text: string;
  try {
    // A redirect would send the key to another address, or turn a POST into a GET.
    const init: RequestInit = { method, headers, redirect: 'manual', signal, ...(body !== undefined && { body }) };
    response = await service.fetch(url, init);
    text = await response.text();
  } catch (cause) {
    options.signal?.throwIfAborted();
    const isLate = timeout.aborted;
    const message = isLate
      ? `No answer from ${service.baseUrl} within ${timeoutMs} ms.`
      : `No answer from ${service.baseUrl}.`;
    throw new NetworkError(message, { cause, wasNotSent: !isLate && wasNotSent(cause) });
  }
  const answer = parseObject(text);
  if (response.status === 200 && answer) return answer;
  throw refusal(response, answer);
}

/** Whether the connection was never made, by the error codes of Node's `fetch`. */
function wasNotSent(error: unknown): boolean {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if ('code' in cause && codes.includes(String(cause.code))) return true;
  }
  return false;
}

type Answer = Readonly<Record<string, unknown>>;

function refusal(response: Response, answer: Answer | null): ApiError {
  const { error, message, issues, quota, request_id: requestId } = answer ?? {};
  return new ApiError({
    status: response.status,
    error: typeof error === 'string' ? error : 'invalid_answer',
    message: typeof message === 'string' ? message : unexpected(response),
    issues: Array.isArray(issues) ? (issues as Issue[]) : [],
    requestId: typeof requestId === 'string' ? requestId : response.headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(response.headers.get('retry-after'), answer),
    quota: typeof quota === 'object' ? (quota as QuotaState | null) : null,
  });
}

function unexpected({ status, headers }: Response): string {
  const where = headers.get('location');
  return where === null
    ? `The answer is none of Carillon's: status ${status}.`
    : `The answer is a redirect to ${where}: is baseUrl the address of the service?`;
}

/** The header has whole seconds, rounded up, so the body's milliseconds are more precise. */
function retryAfterMs(header: string | null, answer: Answer | null): number | null {
  const told = answer?.['retry_after_ms'];
  if (typeof told === 'number') return told;
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

function parseObject(text: string): Answer | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null;
  } catch {
    return null;
  }
}
