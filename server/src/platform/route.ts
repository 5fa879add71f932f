// A route: one endpoint, described once. The same value validates requests, types the handler by them and by the answers, and
// is what a description of the API is written from. Knows no API: paths, tags and callers are those of the room that defines it.
import { z } from 'zod';
import type { ApiErrorCode } from './api-error.ts';
import type { Answer, ApiRequest, BoundRoute } from './http-server.ts';
import { validate } from './validate.ts';

type RawQuery = Readonly<Record<string, string>>;

/** A query that takes more than a schema to read. `schema` describes it; `read` answers its value or throws the 400. */
interface QueryReader<Deps, Value> {
  readonly schema: z.ZodObject;
  read(given: RawQuery, deps: Deps): Value;
}
type QueryForm<Deps> = z.ZodObject | QueryReader<Deps, unknown>;

/** `schema` reads the body too, unless `read` does: it answers the body's value or throws the 400. */
interface BodyForm<Deps, Caller> {
  readonly schema: z.ZodType;
  readonly example: unknown;
  read?(given: unknown, deps: Deps, caller: Caller): unknown;
}

interface ParamForm {
  readonly description: string;
  readonly example: string;
}

export interface AnswerForm {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  readonly example?: unknown;
  /** Beside those that every answer has: name and meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}
type AnswerForms = Readonly<Record<number, AnswerForm>>;

/** Description and limits, which have the same type for every route. */
interface RouteFields extends Omit<BoundRoute<never>, 'handle'> {
  /** The operation's name in the description. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Headers beside the usual ones; a handler reads them with `header`. */
  readonly headers?: readonly { readonly name: string; readonly description: string; readonly schema: object }[];
  /** Errors that this route may answer beside those that any request with its access may get. */
  readonly refusals?: readonly ApiErrorCode[];
}

/** A route of any query, body and answer, still without what it works with: `bind` adds that. */
export interface Route<Deps, Caller> extends RouteFields {
  readonly params: Readonly<Record<string, ParamForm>>;
  readonly query: z.ZodObject;
  readonly body: Pick<BodyForm<never, never>, 'schema' | 'example'> | null;
  readonly answers: AnswerForms;
  readonly answer: (deps: Deps, request: ApiRequest<Caller>) => Promise<object | Answer>;
}

type ParamOf<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamOf<Tail>
    : Rest
  : never;

type QueryOf<Query> = Query extends z.ZodType
  ? z.output<Query>
  : Query extends { read(...given: never[]): infer Value }
    ? Value
    : never;

type BodyOf<Body> = Body extends { read(...given: never[]): infer Value }
  ? Value
  : Body extends { readonly schema: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : undefined;

/** A value as a handler may answer it: what it shows stays as it is. */
type Shown<Value> = Value extends Date
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Shown<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Shown<Value[Key]> }
      : Value;

/** A plain value is 200; any other status needs an `Answer`, and so does a 200 that is no JSON. */
type Answered<Answers> = {
  [Status in keyof Answers & number]: Answers[Status] extends { readonly schema: infer Schema extends z.ZodType }
    ? (Status extends 200 ? Shown<z.output<Schema>> : never) | Answer<Status, Shown<z.output<Schema>> | string | Buffer>
    : Answer<Status>;
}[keyof Answers & number];

interface ReadRequest<Caller, Path extends string, Query, Body>
  extends Omit<ApiRequest<Caller>, 'params' | 'query' | 'body'> {
  readonly params: Readonly<Record<ParamOf<Path>, string>>;
  readonly query: QueryOf<Query>;
  readonly body: BodyOf<Body>;
}

interface RouteForm<Deps, Caller, Path extends string, Query, Body, Answers> extends RouteFields {
  readonly path: Path;
  readonly params?: Readonly<Record<ParamOf<Path>, ParamForm>>;
  /** None unless told: each parameter given is unknown. */
  readonly query?: Query;
  /** None unless told: each field given is unknown. */
  readonly body?: Body;
  /** Answers that are no refusals, by status. */
  readonly answers: Answers;
  /** Work around validation and handler, such as a turn to wait for or a limit that comes first. */
  within?<Result>(deps: Deps, request: ApiRequest<Caller>, work: () => Promise<Result>): Promise<Result>;
  handle(deps: Deps, request: ReadRequest<Caller, Path, Query, Body>): Promise<Answered<Answers>>;
}

const noQuery = z.strictObject({});
const noBody = z.strictObject({}).optional();
const bodyMethods = ['POST', 'PUT', 'PATCH'];

/** What defines the routes of a room, which work with `Deps` and serve `Caller`. */
export function routesWith<Deps, Caller>() {
  return <
    const Path extends string,
    const Answers extends AnswerForms,
    Query extends QueryForm<Deps> = typeof noQuery,
    Body extends BodyForm<Deps, Caller> | undefined = undefined,
  >(
    form: RouteForm<Deps, Caller, Path, Query, Body, Answers>,
  ): Route<Deps, Caller> => {
    const { params, query, body, within, handle, ...fields } = form;
    const readQuery = (given: RawQuery, deps: Deps): unknown => {
      if (query && 'read' in query) return query.read(given, deps);
      return query || !form.ignoresUnknownQuery ? validate(query ?? noQuery, given) : {};
    };
    const readBody = (given: unknown, deps: Deps, caller: Caller): unknown => {
      if (body) return body.read ? body.read(given, deps, caller) : validate(body.schema, given);
      // Where a method takes no body at all, the server has refused one.
      return bodyMethods.includes(form.method) ? validate(noBody, given) : undefined;
    };
    return {
      ...fields,
      params: params ?? {},
      query: query && 'read' in query ? query.schema : (query ?? noQuery),
      body: body ?? null,
      answer(deps, request) {
        const work = async (): Promise<object | Answer> => {
          const read = {
            query: readQuery(request.query, deps),
            body: readBody(request.body, deps, request.caller),
          };
          // The router has matched this very path, and the readers are the ones that gave these types.
          const typed = { ...request, ...read } as ReadRequest<Caller, Path, Query, Body>;
          return (await handle(deps, typed)) as object | Answer;
        };
        return within ? within(deps, request, work) : work();
      },
    };
  };
}

/** The routes with what they work with: ready to be served. */
export function bind<Deps, Caller>(routes: readonly Route<Deps, Caller>[], deps: Deps): BoundRoute<Caller>[] {
  return routes.map((route) => ({ ...route, handle: (request) => route.answer(deps, request) }));
}
