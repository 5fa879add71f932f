// Writes a route as an Operation Object of OpenAPI 3.1. Its API decides everything that depends on
// who may call: the statuses 401, 403 and 503, and the security scheme. So routes cannot differ in
// it.
import type { z } from 'zod';
import type { ApiErrorCode } from '../http/api-error.ts';
import type { AnswerForm, Route } from '../http/route.ts';
import { exampleOf } from '../http/schemas.ts';
import type { Access } from '../http/server.ts';
import { queryParameters, refTo } from './json-schema.ts';
import { type Refusal, refusalsOf, requestIdHeader } from './refusals.ts';

export type DescribedRoute = Omit<Route<never, never>, 'answer'>;

/** The meaning of an access in one API. */
interface AccessForm {
  readonly security: readonly object[];
  /** Errors that any request with this access may get, beside the errors of every request. */
  readonly refusals: readonly ApiErrorCode[];
}

/** The part of an API that its operations need. */
export interface ApiTerms {
  readonly access: Readonly<Partial<Record<Access, AccessForm>>>;
  /** Every refusal of this API, in the order of its document. */
  readonly refusals: readonly Refusal[];
  /** Headers by name, on each answer to a request that counts against a key's rate limit. */
  readonly counted: Readonly<Record<string, object>>;
}

const errorsOfAny: readonly ApiErrorCode[] = ['validation_failed', 'invalid_json', 'body_too_large', 'internal_error'];

function accessOf({ access, id }: DescribedRoute, api: ApiTerms): AccessForm {
  const form = api.access[access];
  if (!form) throw new Error(`${id} has an access that its API does not know: ${access}`);
  return form;
}

/** Returns every error that a route may answer. */
export function errorsOf(route: DescribedRoute, api: ApiTerms): ApiErrorCode[] {
  return [...errorsOfAny, ...accessOf(route, api).refusals, ...(route.refusals ?? [])];
}

/** Returns the refusals of a route, one for each status. */
export function refusalsOfRoute(route: DescribedRoute, api: ApiTerms): Refusal[] {
  return refusalsOf(api.refusals, errorsOf(route, api));
}

/** Writes a path in OpenAPI's form: `/v1/messages/{id}`. */
export function pathOf({ path }: DescribedRoute): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

export function writeOperation(route: DescribedRoute, api: ApiTerms): object {
  const { id, tag, summary, description, body, answers, least } = route;
  const { security } = accessOf(route, api);
  const counted = security.length > 0 ? api.counted : {};
  const parameters = parametersOf(route);
  const written = Object.entries(answers).map(([status, answer]) => [status, writeAnswer(answer, counted)] as const);
  const refused = refusalsOfRoute(route, api).map(
    ({ status, name }) => [status, { $ref: `#/components/responses/${name}` }] as const,
  );
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description && { description }),
    security,
    ...(least && { 'x-least-role': least }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: writeBody(body, route.alsoJson) }),
    responses: Object.fromEntries([...refused, ...written]),
  };
}

function parametersOf({ path, params, query, headers = [] }: DescribedRoute): object[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' }, ...params[name] })),
    ...queryParameters(query),
    ...headers.map((header) => ({ ...header, in: 'header', required: false })),
  ];
}

function writeBody({ schema, example }: NonNullable<DescribedRoute['body']>, alsoJson: readonly string[] = []): object {
  const media = writeMedia(schema, example);
  const types = ['application/json', ...alsoJson];
  return { required: true, content: Object.fromEntries(types.map((type) => [type, media])) };
}

function writeAnswer({ description, schema, example, isStream, headers = {} }: AnswerForm, counted: object): object {
  const further = Object.entries(headers).map(([name, says]) => [
    name,
    { description: says, required: true, schema: { type: 'string' } },
  ]);
  return {
    description,
    headers: { ...requestIdHeader, ...counted, ...Object.fromEntries(further) },
    ...(schema && {
      content: { [isStream ? 'text/event-stream' : 'application/json']: writeMedia(schema, example) },
    }),
  };
}

function writeMedia(schema: z.ZodType, example: unknown = exampleOf(schema)): object {
  return { schema: refTo(schema), example };
}
