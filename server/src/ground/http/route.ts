// A route: one endpoint, described once. The same value validates requests, gives the handler its
// types and is written into the API's description. What the routes of an area have in common, their
// area says. Knows no API: paths, tags and callers are those of the room that defines it.
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ApiErrorCode } from './api-error.ts';
import type { EventStream } from './event-stream.ts';
import { exampleOf, type Shown } from './schemas.ts';
import type { Access, Answer, ApiRequest, BoundRoute } from './server.ts';
import { validate } from './validate.ts';

type RawQuery = Readonly<Record<string, string>>;

interface ParamForm {
  readonly description: string;
  readonly example: string;
}

export type ParamForms<Name extends string = string> = Readonly<Record<Name, ParamForm>>;

export interface AnswerForm {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  /** The answer is a stream, and the schema is that of the data of one event. */
  readonly isStream?: true;
  /** Default: the example of the schema. */
  readonly example?: unknown;
  /** Names and meanings of headers, beside those of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
}
type AnswerForms = Readonly<Record<number, AnswerForm>>;

/** Fields whose types are the same for every route. */
interface RouteFields extends Omit<BoundRoute<never>, 'handle' | 'guard' | 'body'> {
  /** The operation's name in the description. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /**
   * The least role of a caller, in an API with roles. `person` admits every role that has a
   * session.
   */
  readonly least?: string;
  /** Headers beside the usual ones; a handler reads them with `header`. */
  readonly headers?: readonly { readonly name: string; readonly description: string; readonly schema: object }[];
  /**
   * Errors that this route may answer beside those that any request with its access may get. A
   * route whose path has a parameter may also answer `not_found`.
   */
  readonly refusals?: readonly ApiErrorCode[];
}

/**
 * A route without its dependencies, of any query, body and answer. `bind` adds the dependencies.
 */
export interface Route<Deps, Caller> extends RouteFields {
  readonly tag: string;
  readonly params: ParamForms;
  readonly query: z.ZodObject;
  readonly body: { readonly schema: z.ZodType; readonly example: unknown } | null;
  readonly answers: AnswerForms;
  readonly answer: (deps: Deps, request: ApiRequest<Caller>) => Promise<object>;
}

/** The facts that the routes of an area have in common. */
export interface Area {
  /** The heading of the routes in the description. */
  readonly tag: string;
  /** The callers, unless a route names others. */
  readonly access: Access;
  /** The least role, unless a route names another. */
  readonly least?: string;
  /** The beginning of every path. */
  readonly prefix?: string;
  /** Parameters of the prefix, and those that several routes have. */
  readonly params?: ParamForms;
}

type ParamOf<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamOf<Tail>
    : Rest
  : never;

/** A plain value becomes a 200 with JSON. Any other status or type needs an `Answer`. */
type Answered<Answers> = {
  [Status in keyof Answers & number]: Answers[Status] extends { readonly isStream: true }
    ? EventStream
    : Answers[Status] extends { readonly schema: infer Schema extends z.ZodType }
      ?
          | (Status extends 200 ? Shown<z.output<Schema>> : never)
          | Answer<Status, Shown<z.output<Schema>> | string | Buffer | Readable>
      : Answer<Status>;
}[keyof Answers & number];

interface ReadRequest<Caller, Path extends string, Query, Body>
  extends Omit<ApiRequest<Caller>, 'params' | 'query' | 'body'> {
  readonly params: Readonly<Record<ParamOf<Path>, string>>;
  readonly query: Query;
  readonly body: Body;
}

/** A route describes the parameters of its path that its area does not describe. */
type OwnParams<Own extends string> = [Own] extends [never] ? unknown : { readonly params: ParamForms<Own> };

interface RouteForm<Deps, Caller, QuerySchema, Query, BodySchema, Body, Answers>
  extends Omit<RouteFields, 'id' | 'method' | 'path' | 'access'>,
    Partial<Pick<RouteFields, 'access'>> {
  readonly params?: ParamForms;
  /** Default: the route has no parameters, and each given one is unknown. */
  readonly query?: QuerySchema;
  /** Reads a query for which the schema is not enough. Returns the value, or throws the 400. */
  readQuery?(given: RawQuery, deps: Deps): Query;
  /** Default: the body has no fields, and each given one is unknown. */
  readonly body?: BodySchema;
  /** Reads a body for which the schema is not enough. Returns the value, or throws the 400. */
  readBody?(given: unknown, deps: Deps, caller: Caller): Body;
  /** Answers that are no refusals, by status. */
  readonly answers: Answers;
  /** Wraps validation and handler, for example to wait for a turn or to check a limit first. */
  within?<Result>(deps: Deps, request: ApiRequest<Caller>, work: () => Promise<Result>): Promise<Result>;
}

const noQuery = z.strictObject({});
const noBody = z.strictObject({}).optional();
const bodyMethods = ['POST', 'PUT', 'PATCH'];

/** `GET /v1/devices/:id` */
type Address<Path extends string> = `${RouteFields['method']} ${Path}`;

/**
 * Defines a route:
 * `route('getDevice', 'GET /v1/devices/:id', { … }).handle(async (deps, request) => …)`.
 */
export type DefineRoute<Deps, Caller, Named extends string = never> = <
  const Path extends string,
  Answers extends AnswerForms,
  QuerySchema extends z.ZodObject = typeof noQuery,
  Query = z.output<QuerySchema>,
  BodySchema extends z.ZodType = z.ZodUndefined,
  Body = z.output<BodySchema>,
>(
  id: string,
  address: Address<Path>,
  form: RouteForm<Deps, Caller, QuerySchema, Query, BodySchema, Body, Answers> &
    OwnParams<Exclude<ParamOf<Path>, Named>>,
) => {
  // A separate call, because TypeScript then knows the types of the form and checks literals in
  // answers.
  handle(
    handler: (deps: Deps, request: ReadRequest<Caller, Path, Query, Body>) => Promise<Answered<Answers>>,
  ): Route<Deps, Caller>;
};

/**
 * Defines the routes of an area, which work with `Deps` and serve `Caller`. The area describes the
 * parameters `Named`. In an area with a prefix, the path `/` is the prefix itself.
 */
export function routesWith<Deps, Caller, Named extends string = never>(area: Area): DefineRoute<Deps, Caller, Named> {
  return (id, address, form) => ({ handle: (handler) => makeRoute(area, id, address, form, handler) });
}

type AnyForm<Deps, Caller> = RouteForm<Deps, Caller, z.ZodObject, unknown, z.ZodType, unknown, AnswerForms>;

function makeRoute<Deps, Caller>(
  { tag, access, least, prefix = '', params: shared }: Area,
  id: string,
  address: Address<string>,
  form: AnyForm<Deps, Caller>,
  handler: (deps: Deps, request: never) => Promise<unknown>,
): Route<Deps, Caller> {
  const { query = noQuery, readQuery, body = null, readBody, within, refusals = [], ...fields } = form;
  const [method, below] = address.split(' ') as [RouteFields['method'], string];
  const path = prefix && below === '/' ? prefix : `${prefix}${below}`;
  const described: ParamForms = { ...shared, ...form.params };
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  // An area describes more than the parameters of this path.
  const params = Object.fromEntries(
    names.map((name) => {
      const param = described[name];
      if (!param) throw new Error(`${id} does not describe its parameter ${name}`);
      return [name, param];
    }),
  );
  const queryOf = (given: RawQuery, deps: Deps): unknown => {
    if (readQuery) return readQuery(given, deps);
    // A route that ignores unknown parameters and describes none accepts any query.
    return form.query || !form.ignoresUnknownQuery ? validate(query, given) : {};
  };
  const bodyOf = (given: unknown, deps: Deps, caller: Caller): unknown => {
    if (readBody) return readBody(given, deps, caller);
    if (body) return validate(body, given);
    // The server refuses bodies for methods that take none.
    return bodyMethods.includes(method) ? validate(noBody, given) : undefined;
  };
  return {
    access,
    ...(least !== undefined && { least }),
    ...fields,
    id,
    tag,
    method,
    path,
    params,
    query,
    body: body && { schema: body, example: exampleOf(body) },
    refusals: path.includes(':') ? ['not_found', ...refusals] : refusals,
    answer(deps, request) {
      const work = async (): Promise<object> => {
        const read = {
          ...request,
          query: queryOf(request.query, deps),
          body: bodyOf(request.body, deps, request.caller),
        };
        // The casts are safe: the router matched this path, and the handler's types come from the
        // schemas and readers of its form.
        return handler(deps, read as never) as Promise<object>;
      };
      return within ? within(deps, request, work) : work();
    },
  };
}

/** The answers of a route that only answers 200, with a body of the schema. */
export function ok<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  further: Pick<AnswerForm, 'example' | 'headers'> = {},
) {
  return { 200: { description, schema, ...further } } as const;
}

/** Adds the dependencies to the routes, which can then be served. */
export function bind<Deps, Caller>(routes: readonly Route<Deps, Caller>[], deps: Deps): BoundRoute<Caller>[] {
  return routes.map((route) => ({ ...route, handle: (request) => route.answer(deps, request) }));
}
