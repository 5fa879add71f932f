// Every refusal that a caller can get, by status (contract 2): the body with its closed sets of
// codes, the headers and an example.
import { z } from 'zod';
import { type ApiErrorCode, apiErrors, isConsoleError } from '../http/api-error.ts';
import { component, count, idSchema, instant } from '../http/schemas.ts';
import { issueCodes } from '../values/issue.ts';
import { refTo } from './json-schema.ts';

export interface Refusal {
  readonly status: number;
  /** Its name in `components.responses`. */
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
  /** `sometimes`: the status has several forms, and only one of them has the header. */
  readonly retryAfter?: 'always' | 'sometimes';
}

const exampleId = 'req_3OHYx2g8zVpD6AIcbF7kjW';

const requestId = component('RequestId', idSchema('req').describe('Also in the header x-request-id, and in the log.'));
const issueCode = component('IssueCode', z.enum(issueCodes));
const place = z.array(z.union([z.string(), z.int()]));
const issue = component(
  'Issue',
  z.strictObject({
    path: place.describe('The place in the body; a query parameter by its name, a header by its lower-case name.'),
    code: issueCode,
    message: z.string().describe('For people; may change.'),
    allowed: z.array(z.unknown()).optional().describe('Only when a closed list applies.'),
    limit: z.union([z.number(), z.string()]).optional().describe('Only where a limit is named.'),
  }),
);

function codesOf(status: number, isOfApi: (code: ApiErrorCode) => boolean): ApiErrorCode[] {
  const codes = Object.keys(apiErrors) as ApiErrorCode[];
  return codes.filter((code) => apiErrors[code].status === status && isOfApi(code));
}

const isOfV1 = (code: ApiErrorCode): boolean => !isConsoleError(code);
/** The console answers its own errors, and those errors of /v1 that name no API key. */
const keyErrors: readonly ApiErrorCode[] = ['missing_key', 'invalid_key', 'wrong_key_scope', 'identity_check_failed'];
const isOfConsole = (code: ApiErrorCode): boolean => !keyErrors.includes(code);

function bodyOf<Further extends z.ZodRawShape>(codes: readonly ApiErrorCode[], further: Further) {
  const message = z.string().describe('For people; may change.');
  return z.strictObject({ error: z.enum(codes), message, ...further, request_id: requestId });
}

function plain(
  status: number,
  name: string,
  description: string,
  code: ApiErrorCode,
  further: z.ZodRawShape = {},
  isOfApi = isOfV1,
): Refusal {
  return {
    status,
    name,
    description,
    schema: component(`${name}Error`, bodyOf(codesOf(status, isOfApi), further)),
    example: { error: code, message: apiErrors[code].message, request_id: exampleId },
  };
}

const issueList = z.array(issue).min(1).max(50);
const badRequest: Refusal = {
  status: 400,
  name: 'BadRequest',
  description: 'The request is invalid; `issues` lists what is wrong, at most 50 things.',
  schema: component('BadRequestError', bodyOf(codesOf(400, isOfV1), { issues: issueList })),
  example: {
    error: 'validation_failed',
    message: 'content.titel is not a known field.',
    issues: [
      {
        path: ['content', 'titel'],
        code: 'unrecognized_keys',
        message: 'content.titel is not a known field.',
        allowed: ['title', 'body', 'url'],
      },
    ],
    request_id: exampleId,
  },
};

const quota = z.strictObject({ plan: z.string(), limit: count, used: count, requested: count, resets_at: instant });
const quotaExceededError = component('QuotaExceededError', bodyOf(['quota_exceeded'], { quota, upgrade: z.string() }));
const rateLimitedError = component(
  'RateLimitedError',
  bodyOf(['rate_limited'], { retry_after_ms: z.int().min(1).describe('Waiting this long is enough.') }),
);
const rateLimited: Refusal = {
  status: 429,
  name: 'RateLimited',
  description: 'Too many requests with this key, from this address or with this token.',
  schema: rateLimitedError,
  example: {
    error: 'rate_limited',
    message: 'Rate limit of 10 requests per second exceeded.',
    retry_after_ms: 100,
    request_id: exampleId,
  },
  retryAfter: 'always',
};
const rateLimitedOrQuotaExceeded: Refusal = {
  status: 429,
  name: 'RateLimitedOrQuotaExceeded',
  description:
    'Too many requests with this key (with `Retry-After`), or the audience is larger than what is left of the monthly quota (without). Nothing was sent.',
  schema: component('TooManyError', z.union([rateLimitedError, quotaExceededError])),
  example: {
    error: 'quota_exceeded',
    message: 'This message needs 25 deliveries; 10 are left this month.',
    quota: { plan: 'free', limit: 10000, used: 9990, requested: 25, resets_at: '2026-12-01T00:00:00.000Z' },
    upgrade: 'Upgrade the plan of this app to send more this month.',
    request_id: exampleId,
  },
  retryAfter: 'sometimes',
};

/** The refusals of /v1. */
export const refusalsOfV1: readonly Refusal[] = [
  badRequest,
  plain(401, 'Unauthorized', 'No key, or one that is not valid.', 'missing_key'),
  plain(
    403,
    'Forbidden',
    'The app is suspended, the key is a client key, or a proof of identity is missing or wrong.',
    'wrong_key_scope',
    { path: place.describe('The event of `POST /v1/events` that needs a server key.').optional() },
  ),
  plain(404, 'NotFound', 'There is no such resource, or it belongs to another app.', 'not_found'),
  plain(500, 'InternalError', 'A fault of the service, logged under the request id.', 'internal_error'),
  {
    ...plain(
      503,
      'Unavailable',
      'The database cannot be reached, a statement ran over its time, or too many requests are under way.',
      'unavailable',
      { path: place.describe('The slowest part of a filter whose count took too long.').optional() },
    ),
    retryAfter: 'always',
  },
  rateLimited,
  rateLimitedOrQuotaExceeded,
];

const [internalError, unavailable] = [500, 503].map((status) => refusalsOfV1.find((each) => each.status === status));
if (!internalError || !unavailable) throw new Error('the refusals of /v1 are incomplete');

/** The refusals of the console's API. */
export const refusalsOfConsole: readonly Refusal[] = [
  {
    ...badRequest,
    name: 'ConsoleBadRequest',
    description:
      'The request is invalid, or the object was changed since it was read: then `present` shows it as it is.',
    schema: component(
      'ConsoleBadRequestError',
      bodyOf(codesOf(400, isOfConsole), {
        issues: issueList,
        present: z.looseObject({}).optional().describe('Only on `changed_meanwhile`.'),
      }),
    ),
  },
  plain(
    401,
    'ConsoleUnauthorized',
    'No session and no operator token, or wrong credentials.',
    'not_signed_in',
    {},
    isOfConsole,
  ),
  plain(
    403,
    'ConsoleForbidden',
    'The role, the origin or the kind of caller does not allow this.',
    'role_too_low',
    {},
    isOfConsole,
  ),
  plain(404, 'ConsoleNotFound', 'There is no such resource in this organisation.', 'not_found', {}, isOfConsole),
  internalError,
  unavailable,
  rateLimited,
  rateLimitedOrQuotaExceeded,
];

/** Returns the answers that carry these errors, one for each status. */
export function refusalsOf(refusals: readonly Refusal[], codes: readonly ApiErrorCode[]): Refusal[] {
  const statuses = new Set<number>(codes.map((code) => apiErrors[code].status));
  const otherForm = codes.includes('quota_exceeded') ? rateLimited : rateLimitedOrQuotaExceeded;
  return refusals.filter((refusal) => statuses.has(refusal.status) && refusal !== otherForm);
}

/**
 * `components.headers` of any API. All answers carry RequestId; a 429 and a 503 carry one of the
 * other two.
 */
export const commonHeaders = {
  RequestId: { description: 'Names the request in the log.', required: true, schema: refTo(requestId) },
  RetryAfter: { description: 'Whole seconds.', required: true, schema: { type: 'integer', minimum: 1 } },
  RetryAfterRate: {
    description: 'Whole seconds. Absent where the monthly quota is the reason: waiting some seconds does not help.',
    required: false,
    schema: { type: 'integer', minimum: 1 },
  },
};

export const requestIdHeader = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

/** A caller without a valid key, or with a key of the wrong scope, was not counted. */
const uncounted = [401, 403];

const retryAfterHeaders = { always: 'RetryAfter', sometimes: 'RetryAfterRate' };

/**
 * Writes `components.responses`. `counted` are the headers of an answer to a request that was
 * counted.
 */
export function componentResponses(
  refusals: readonly Refusal[],
  used: ReadonlySet<Refusal>,
  counted: object,
): Record<string, object> {
  const written = refusals.filter((refusal) => used.has(refusal));
  return Object.fromEntries(
    written.map(({ status, name, description, schema, example, retryAfter }) => [
      name,
      {
        description,
        headers: {
          ...requestIdHeader,
          ...(retryAfter && { 'retry-after': { $ref: `#/components/headers/${retryAfterHeaders[retryAfter]}` } }),
          ...(!uncounted.includes(status) && counted),
        },
        content: { 'application/json': { schema: refTo(schema), example } },
      },
    ]),
  );
}
