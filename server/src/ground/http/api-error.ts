// One table of every error that a caller can see, with its status (contract 2). Any error that is
// not an `ApiError` reaches a caller as `internal_error` and is logged completely.
import { decodeId, type IdPrefix, type Uuid } from '../values/ids.ts';
import { type Issue, issuesMax, nameOfField } from '../values/issue.ts';

export const apiErrors = {
  validation_failed: { status: 400, message: 'The request is invalid.' },
  invalid_json: { status: 400, message: 'The body is not valid JSON.' },
  body_too_large: { status: 400, message: 'The request is too large.' },
  missing_key: { status: 401, message: 'Send an API key as: Authorization: Bearer <API_KEY>' },
  invalid_key: { status: 401, message: 'The API key is not valid.' },
  app_suspended: { status: 403, message: 'The app of this key is suspended.' },
  wrong_key_scope: { status: 403, message: 'This needs a server key.' },
  identity_check_failed: { status: 403, message: 'The identity check failed.' },
  not_found: { status: 404, message: 'There is no such resource.' },
  rate_limited: { status: 429, message: 'Too many requests.' },
  quota_exceeded: { status: 429, message: 'The monthly quota is used up.' },
  internal_error: { status: 500, message: 'Something went wrong on our side. Name the request id when you report it.' },
  unavailable: { status: 503, message: 'The service is unavailable for the moment. Try again.' },
  changed_meanwhile: { status: 400, message: 'This was changed meanwhile. Look at it again.', of: 'console' },
  not_signed_in: { status: 401, message: 'Sign in to the console, or send an operator token.', of: 'console' },
  wrong_credentials: { status: 401, message: 'The e-mail address, password or code is wrong.', of: 'console' },
  role_too_low: { status: 403, message: 'Your role does not allow this.', of: 'console' },
  session_only: { status: 403, message: 'An operator token cannot do this: sign in to the console.', of: 'console' },
  cross_origin: { status: 403, message: 'A request from another origin changes nothing here.', of: 'console' },
  second_factor_required: { status: 403, message: 'Set up your second factor first.', of: 'console' },
  password_off: { status: 403, message: 'People sign in by OpenID Connect here, without a password.', of: 'console' },
  https_required: {
    status: 403,
    message: 'Signing in needs https, through a proxy of TRUSTED_PROXIES.',
    of: 'console',
  },
} as const;

export type ApiErrorCode = keyof typeof apiErrors;

/**
 * Returns whether only the console's API may answer this error, because the errors of /v1 are a
 * closed set.
 */
export function isConsoleError(code: ApiErrorCode): boolean {
  return 'of' in apiErrors[code];
}

export interface ApiErrorDetails {
  readonly message?: string;
  readonly issues?: readonly Issue[];
  /**
   * Sets `Retry-After`, in whole seconds rounded up. On `rate_limited` it also sets
   * `retry_after_ms`.
   */
  readonly retryAfterMs?: number;
  /** Further fields of the body, such as `quota` and `upgrade`. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** For the log only; no answer contains it. */
  readonly cause?: unknown;
  /**
   * The caller, if it is known and the refusal comes before it is admitted. For the request log.
   */
  readonly caller?: unknown;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly details: ApiErrorDetails;

  constructor(code: ApiErrorCode, details: ApiErrorDetails = {}) {
    // Refusals have no stack trace, because a flood of refusals would spend time on traces that
    // nobody reads. `internal_error` keeps its trace for the log.
    const { stackTraceLimit } = Error;
    if (code !== 'internal_error') Error.stackTraceLimit = 0;
    super(details.message ?? apiErrors[code].message, { cause: details.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = apiErrors[code].status;
    this.details = details;
  }

  /** The body of the answer, with its fields in the contract's order. */
  present(requestId: string): Record<string, unknown> {
    const { issues, retryAfterMs, extra } = this.details;
    return {
      error: this.code,
      message: this.message,
      ...(issues && { issues: issues.map(cutLongNames) }),
      ...(this.code === 'rate_limited' && { retry_after_ms: retryAfterMs }),
      ...extra,
      request_id: requestId,
    };
  }
}

/**
 * Characters of a name in an issue's path: far more than any field, key or id may have. Fifty issues
 * would otherwise send a megabyte of unknown names back.
 */
const stepLengthMax = 1024;

function cutLongNames(issue: Issue): Issue {
  if (!issue.path.some(isLongName)) return issue;
  const path = issue.path.map((step) =>
    isLongName(step) ? `${String(step).slice(0, stepLengthMax).toWellFormed()}…` : step,
  );
  return { ...issue, path };
}

function isLongName(step: string | number): boolean {
  return typeof step === 'string' && step.length > stepLengthMax;
}

/**
 * A 400 that lists the issues. Fifty issues may not be all, because the check stops at the 50th.
 */
export function invalid(issues: readonly Issue[]): ApiError {
  const [first] = issues;
  const many = issues.length < issuesMax ? issues.length : `At least ${issuesMax}`;
  const message = first && issues.length === 1 ? nameField(first) : `${many} fields are invalid.`;
  return new ApiError('validation_failed', { issues: issues.slice(0, issuesMax), message });
}

/**
 * Returns an issue's message with the field's name before it, unless the message names the field
 * itself.
 */
function nameField({ path, message }: Issue): string {
  const field = nameOfField(path);
  return path.length === 0 || message.toLowerCase().includes(field.toLowerCase()) ? message : `${field}: ${message}`;
}

/**
 * The 400 for a write that is based on a former state of the object. It contains the present state,
 * so that a person sees what changed.
 */
export function changedMeanwhile(present: object): ApiError {
  const message = 'This has been changed since it was read.';
  const issues: readonly Issue[] = [{ path: ['updated_at'], code: 'invalid_value', message }];
  return new ApiError('changed_meanwhile', { issues, extra: { present } });
}

/** The 404 of a path, a link or anything else without an id. */
export function notFound(message?: string): ApiError {
  return new ApiError('not_found', message === undefined ? {} : { message });
}

const prefixes = {
  message: 'msg',
  device: 'dev',
  segment: 'seg',
  draft: 'drf',
  template: 'tpl',
} as const satisfies Record<string, IdPrefix>;
type Kind = keyof typeof prefixes | 'user' | 'webhook' | 'key';

/**
 * The 404 that repeats the id as the caller wrote it. An id of another app, an unknown id and a
 * malformed one read alike.
 */
export function noSuch(kind: Kind, id: string): ApiError {
  return notFound(`No ${kind} ${clip(id)} in this app.`);
}

/** Decodes the id that a caller wrote. Throws the 404 for a malformed id. */
export function readId(kind: keyof typeof prefixes, text: string): Uuid {
  const id = decodeId(prefixes[kind], text);
  if (id === undefined) throw noSuch(kind, text);
  return id;
}

/**
 * Awaits `work`. When it throws a 404 without a name, throws the 404 that names the requested id.
 */
export async function namingMissing<Result>(
  kind: Kind,
  id: string | null | undefined,
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found' && typeof id === 'string') throw noSuch(kind, id);
    throw error;
  }
}

/**
 * Characters that are shown of an id: enough for every id of ours and for nearly every external id.
 */
const shownMax = 80;

function clip(id: string): string {
  return id.length <= shownMax ? id : `${id.slice(0, shownMax).toWellFormed()}…`;
}
