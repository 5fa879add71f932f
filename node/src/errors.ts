// The errors of a call: the service refused it, or no answer came.
import type { Issue } from './types.gen.ts';

/** The base class of all errors of a call. */
export class CarillonError extends Error {
  override readonly name: string = 'CarillonError';
}

/** The quota in a 429 for a month that is used up. */
export interface QuotaState {
  readonly plan: string;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  readonly resets_at: string;
}

/** The service refused the request. `message` is the service's own text. */
export class ApiError extends CarillonError {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /**
   * The service's code, such as `validation_failed` or `rate_limited`; `invalid_answer` when the
   * answer was not the API's JSON.
   */
  readonly error: string;
  /** For a 400, the faults of the request, field by field; otherwise empty. */
  readonly issues: readonly Issue[];
  /** The id to quote to the service's operator; null when the answer had none. */
  readonly requestId: string | null;
  /** How long to wait before the next try; null when the service did not say. */
  readonly retryAfterMs: number | null;
  /** For `quota_exceeded`; otherwise null. */
  readonly quota: QuotaState | null;

  constructor(answer: {
    readonly message: string;
    readonly status: number;
    readonly error: string;
    readonly issues?: readonly Issue[];
    readonly requestId?: string | null;
    readonly retryAfterMs?: number | null;
    readonly quota?: QuotaState | null;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.error = answer.error;
    this.issues = answer.issues ?? [];
    this.requestId = answer.requestId ?? null;
    this.retryAfterMs = answer.retryAfterMs ?? null;
    this.quota = answer.quota ?? null;
  }
}

/**
 * No answer came: the address is wrong, the connection was lost, or the answer took too long.
 * `cause` is the error of `fetch`.
 */
export class NetworkError extends CarillonError {
  override readonly name = 'NetworkError';
  /**
   * True: the request was never sent, so it had no effect. False: it is unknown whether the request
   * arrived.
   */
  readonly wasNotSent: boolean;

  constructor(message: string, { cause, wasNotSent }: { readonly cause: unknown; readonly wasNotSent: boolean }) {
    super(message, { cause });
    this.wasNotSent = wasNotSent;
  }
}
