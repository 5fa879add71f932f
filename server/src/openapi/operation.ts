// One endpoint as it is described, and how it is written in OpenAPI. What follows from who may call it (the statuses 401, 403
// and 503, the security scheme) is derived here, so that no endpoint can say it differently.
import type { z } from 'zod';
import type { Access } from '../platform/http-server.ts';
import { queryParameters, refTo } from './components.ts';
import { type RefusalKind, rateLimitHeaders, refusalRef, requestIdHeader } from './refusals.ts';

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

const security: Readonly<Record<Access, object[]>> = {
  server: [{ serverKey: [] }],
  'client-or-server': [{ serverKey: [] }, { clientKey: [] }],
  public: [],
};

const refusalsOfKeyed: readonly RefusalKind[] = [401, 403, 503];

/** The Operation Object of OpenAPI 3.1. */
export function writeOperation(operation: Operation): object {
  const { id, tag, summary, description, access, body, answers, hasQuota, refusals = [] } = operation;
  const isKeyed = access !== 'public';
  const parameters = parametersOf(operation);
  const kinds = new Set<RefusalKind>([400, 500, ...refusals]);
  if (isKeyed) for (const kind of refusalsOfKeyed) kinds.add(kind);
  if (isKeyed) kinds.add(hasQuota ? '429 rate or quota' : '429 rate');
  const responses = {
    ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, writeAnswer(answer, isKeyed)])),
    ...Object.fromEntries([...kinds].map(refusalRef)),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description && { description }),
    security: security[access],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: writeBody(body) }),
    responses,
  };
}

function parametersOf({ path, pathParameters = {}, query, headers = [] }: Operation): object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return [
    ...names.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      ...pathParameters[name],
    })),
    ...(query ? queryParameters(query) : []),
    ...headers.map((header) => ({ ...header, in: 'header', required: false })),
  ];
}

function writeBody({ schema, example, alsoAs }: NonNullable<Operation['body']>): object {
  const media = { schema: refTo(schema), example };
  return { required: true, content: { 'application/json': media, ...(alsoAs && { [alsoAs]: media }) } };
}

function writeAnswer({ description, schema, example, headers = {} }: DescribedAnswer, isKeyed: boolean): object {
  const further = Object.entries(headers).map(([name, says]) => [
    name,
    { description: says, required: true, schema: { type: 'string' } },
  ]);
  return {
    description,
    headers: { ...requestIdHeader, ...(isKeyed && rateLimitHeaders), ...Object.fromEntries(further) },
    ...(schema && { content: { 'application/json': { schema: refTo(schema), example } } }),
  };
}
