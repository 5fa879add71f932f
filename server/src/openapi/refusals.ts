// Every refusal a caller can get, by status (contract 2): the body with its closed sets of codes, the headers, an example.
import { z } from 'zod';
import { type ApiErrorCode, apiErrors, issueCodes } from '../platform/api-error.ts';
import { component, count, instant, refTo, requestId } from './components.ts';

/** A status, or what it is of several: a 429 of the quota is another thing than one of a rate. */
export type RefusalKind = 400 | 401 | 403 | 404 | '429 rate' | '429 rate or quota' | 500 | 503;

interface Refusal {
  /** Its name in `components.responses`. */
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
  /** `sometimes`: of several forms, one has it. */
  readonly retryAfter?: 'always' | 'sometimes';
}

const exampleId = 'req_3OHYx2g8zVpD6AIcbF7kjW';

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

function codesOf(status: number): ApiErrorCode[] {
  return (Object.keys(apiErrors) as ApiErrorCode[]).filter((code) => apiErrors[code].status === status);
}

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
): Refusal {
  return {
    name,
    description,
    schema: component(`${name}Error`, bodyOf(codesOf(status), further)),
    example: { error: code, message: apiErrors[code].message, request_id: exampleId },
  };
}

const badRequest: Refusal = {
  name: 'BadRequest',
  description: 'The request is invalid; `issues` lists what is wrong, at most 50 things.',
  schema: component('BadRequestError', bodyOf(codesOf(400), { issues: z.array(issue).min(1).max(50) })),
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
  bodyOf(['rate_limited'], { retry_after_ms: z.int().min(1).describe('So long is enough.') }),
);
const rateLimited: Refusal = {
  name: 'RateLimited',
  description: 'Too many requests: of the key, of the address or of the token.',
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
  name: 'RateLimitedOrQuotaExceeded',
  description:
    'Too many requests of the key, with `Retry-After`; or the audience does not fit what is left of the month, without it. Nothing was sent.',
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

const refusals: Readonly<Record<RefusalKind, Refusal>> = {
  400: badRequest,
  401: plain(401, 'Unauthorized', 'No key, or one that is not valid.', 'missing_key'),
  403: plain(
    403,
    'Forbidden',
    'The app is suspended, the key is a client key, or a proof of identity is missing or wrong.',
    'wrong_key_scope',
    { path: place.describe('The event of `POST /v1/events` that needs a server key.').optional() },
  ),
  404: plain(404, 'NotFound', 'There is no such resource, or it belongs to another app.', 'not_found'),
  '429 rate': rateLimited,
  '429 rate or quota': rateLimitedOrQuotaExceeded,
  500: plain(500, 'InternalError', 'A fault of the service, logged under the request id.', 'internal_error'),
  503: {
    ...plain(
      503,
      'Unavailable',
      'The database cannot be reached, a statement ran over its time, or too many requests are under way.',
      'unavailable',
      { path: place.describe('The slowest part of a filter whose count took too long.').optional() },
    ),
    retryAfter: 'always',
  },
};

/** A refusal's status, with a reference to its answer. */
export function refusalRef(kind: RefusalKind): [status: string, answer: { $ref: string }] {
  return [String(kind).slice(0, 3), { $ref: `#/components/responses/${refusals[kind].name}` }];
}

/** `components.headers`: what every answer carries, what a 429 and a 503 add, and what tells of the limit of a key. */
export const componentHeaders = {
  RequestId: { description: 'Names the request in the log.', required: true, schema: refTo(requestId) },
  RetryAfter: { description: 'Whole seconds.', required: true, schema: { type: 'integer', minimum: 1 } },
  RetryAfterRate: {
    description: 'Whole seconds. Not where the quota is the reason: the month does not pass sooner.',
    required: false,
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimitPolicy: {
    description: 'On plans with a limit: `"key";q=10;w=1` are 10 requests per second of this key.',
    required: false,
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'On plans with a limit: `"key";r=9;t=1` says that 9 are left for now, and all again in a second.',
    required: false,
    schema: { type: 'string' },
  },
};

export const requestIdHeader = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

/** On every answer to a key of a plan with a limit, from the moment that it was counted. */
export const rateLimitHeaders = {
  'ratelimit-policy': { $ref: '#/components/headers/RateLimitPolicy' },
  ratelimit: { $ref: '#/components/headers/RateLimit' },
};

/** What a caller without a good key, or without the right one, is told: it was not counted. */
const uncounted = ['Unauthorized', 'Forbidden'];

const retryAfterHeaders = { always: 'RetryAfter', sometimes: 'RetryAfterRate' };

/** `components.responses`. */
export function componentResponses(): Record<string, object> {
  return Object.fromEntries(
    Object.values(refusals).map(({ name, description, schema, example, retryAfter }) => [
      name,
      {
        description,
        headers: {
          ...requestIdHeader,
          ...(retryAfter && { 'retry-after': { $ref: `#/components/headers/${retryAfterHeaders[retryAfter]}` } }),
          ...(!uncounted.includes(name) && rateLimitHeaders),
        },
        content: { 'application/json': { schema: refTo(schema), example } },
      },
    ]),
  );
}
