// One endpoint as it is described, and how it is written in OpenAPI. What follows from who may call it (the statuses 401, 403
// and 503, the security scheme) is derived here, so that no endpoint can say it differently.
import { z } from 'zod';
import type { ApiErrorCode } from '../platform/api-error.ts';
import type { Access } from '../platform/http-server.ts';
import type { DescribedRoute } from './operation.ts';

type RefusalKind = 400 | 401 | 403 | 404 | '429 rate' | '429 rate or quota' | 500 | 503;

export interface DescribedAnswer {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  readonly example?: unknown;
  /** Beside `x-request-id`: name and what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Operation {
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** OpenAPI's form: `/v1/messages/{id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** What the parameters in the path are, by name. */
  readonly pathParameters?: Readonly<Record<string, { description: string; example: string }>>;
  readonly query?: z.ZodObject;
  readonly headers?: readonly { name: string; description: string; schema: object }[];
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown; readonly alsoAs?: string };
  /** Answers that are no refusals, by status. */
  readonly answers: Readonly<Record<number, DescribedAnswer>>;
  /** Beside 400 and 500, which any request can get, and 401, 403, 429 and 503, which any request with a key can. */
  readonly refusals?: readonly RefusalKind[];
  /** True: its 429 may also mean the quota. */
  readonly hasQuota?: boolean;
}

const codeOf: Partial<Record<RefusalKind, ApiErrorCode>> = {
  404: 'not_found',
  '429 rate': 'rate_limited',
  503: 'unavailable',
};

/** An operation as a route describes itself. */
export function asRoute({
  method,
  path,
  pathParameters,
  query,
  body,
  hasQuota,
  refusals = [],
  ...rest
}: Operation): DescribedRoute {
  const codes = refusals.flatMap((kind) => codeOf[kind] ?? []);
  return {
    ...rest,
    method: method.toUpperCase() as DescribedRoute['method'],
    path: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    params: pathParameters ?? {},
    query: query ?? z.strictObject({}),
    body: body ?? null,
    ...(body?.alsoAs && { alsoJson: [body.alsoAs] }),
    refusals: hasQuota ? [...codes, 'quota_exceeded'] : codes,
  };
}
