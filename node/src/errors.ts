// Every way a call can be refused: the service said no, or nobody answered. Knows nothing else.
import type { Issue } from './types.gen.ts';

/** What every refusal of a call is. */
export class CarillonError extends Error {
  override readonly name: string = 'CarillonError';
}

/** What a 429 says when the month is used up. */
export interface QuotaState {
  readonly plan: string;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  readonly resets_at: string;
}

/** The service answered, and not with what was asked for; `message` is its own text. */
export class ApiError extends CarillonError {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The service's code, such as `validation_failed` or `rate_limited`; `invalid_answer` where the answer was not its JSON. */
  readonly error: string;
  /** What is wrong with the request, field by field; of a 400 alone, otherwise empty. */
  readonly issues: readonly Issue[];
  /** To quote to whoever runs the service; null where the answer had none. */
  readonly requestId: string | null;
  /** How long to wait before the next try; null where the service did not say. */
  readonly retryAfterMs: number | null;
  /** Of `quota_exceeded`; otherwise null. */
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

/** No answer came: a wrong address, a lost connection, or too slow. `cause` is what `fetch` said. */
export class NetworkError extends CarillonError {
  override readonly name = 'NetworkError';
  /** True: the request never left, so nothing can have come of it. False: it is not known whether it arrived. */
  readonly wasNotSent: boolean;

  constructor(message: string, { cause, wasNotSent }: { readonly cause: unknown; readonly wasNotSent: boolean }) {
    super(message, { cause });
    this.wasNotSent = wasNotSent;
  }
}
