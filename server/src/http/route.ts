// A route: one endpoint, described once. The same value validates requests, gives the handler its
// types and is written into the API's description. Knows no API: paths, tags and callers are those
// of the room that defines it.
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ApiErrorCode } from './api-error.ts';
import type { EventStream } from './event-stream.ts';
import type { Answer, ApiRequest, BoundRoute } from './server.ts';
import { validate } from './validate.ts';

type RawQuery = Readonly<Record<string, string>>;

interface ParamForm {
  readonly description: string;
  readonly example: string;
}

export interface AnswerForm {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  /** The answer is a stream, and the schema is that of the data of one event. */
  readonly isStream?: true;
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
  /** Errors that this route may answer beside those that any request with its access may get. */
  readonly refusals?: readonly ApiErrorCode[];
}

/**
 * A route without its dependencies, of any query, body and answer. `bind` adds the dependencies.
 */
export interface Route<Deps, Caller> extends RouteFields {
  readonly tag: string;
  readonly params: Readonly<Record<string, ParamForm>>;
  readonly query: z.ZodObject;
  readonly body: { readonly schema: z.ZodType; readonly example: unknown } | null;
  readonly answers: AnswerForms;
  readonly answer: (deps: Deps, request: ApiRequest<Caller>) => Promise<object>;
}

type ParamOf<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamOf<Tail>
    : Rest
  : never;

/** A value as a handler may return it. Nobody changes it afterwards. */
export type Shown<Value> = Value extends Date
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Shown<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Shown<Value[Key]> }
      : Value;

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

/** Every parameter of a path is described. */
type ParamForms<Path extends string> = [ParamOf<Path>] extends [never]
  ? unknown
  : { readonly params: Readonly<Record<ParamOf<Path>, ParamForm>> };

interface RouteForm<Deps, Caller, Path extends string, QuerySchema, Query, BodySchema, Body, Answers>
  extends RouteFields {
  readonly path: Path;
  readonly params?: Readonly<Record<string, ParamForm>>;
  /** Default: the route has no parameters, and each given one is unknown. */
  readonly query?: QuerySchema;
  /** Reads a query for which the schema is not enough. Returns the value, or throws the 400. */
  readQuery?(given: RawQuery, deps: Deps): Query;
  /** Default: the body has no fields, and each given one is unknown. */
  readonly body?: { readonly schema: BodySchema; readonly example: unknown };
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

/**
 * Defines the routes of a room, which work with `Deps`, serve `Caller` and stand under `tag` in the
 * description: `route({ … }).handle(async (deps, request) => …)`.
 */
export function routesWith<Deps, Caller>(tag: string) {
  return <
    const Path extends string,
    Answers extends AnswerForms,
    QuerySchema extends z.ZodObject = typeof noQuery,
    Query = z.output<QuerySchema>,
    BodySchema extends z.ZodType = z.ZodUndefined,
    Body = z.output<BodySchema>,
  >(
    form: RouteForm<Deps, Caller, Path, QuerySchema, Query, BodySchema, Body, Answers> & ParamForms<Path>,
  ) => ({
    // A separate call, because TypeScript then knows the types of the form and checks literals in
    // answers.
    handle(
      handler: (deps: Deps, request: ReadRequest<Caller, Path, Query, Body>) => Promise<Answered<Answers>>,
    ): Route<Deps, Caller> {
      const own: RouteForm<Deps, Caller, Path, QuerySchema, Query, BodySchema, Body, Answers> = form;
      const { params = {}, query = noQuery, readQuery, body = null, readBody, within, ...fields } = own;
      const queryOf = (given: RawQuery, deps: Deps): unknown => {
        if (readQuery) return readQuery(given, deps);
        // A route that ignores unknown parameters and describes none accepts any query.
        return own.query || !form.ignoresUnknownQuery ? validate(query, given) : {};
      };
      const bodyOf = (given: unknown, deps: Deps, caller: Caller): unknown => {
        if (readBody) return readBody(given, deps, caller);
        if (body) return validate(body.schema, given);
        // The server refuses bodies for methods that take none.
        return bodyMethods.includes(form.method) ? validate(noBody, given) : undefined;
      };
      return {
        ...fields,
        tag,
        params,
        query,
        body,
        answer(deps, request) {
          const work = async (): Promise<object> => {
            const query = queryOf(request.query, deps);
            const read = { ...request, query, body: bodyOf(request.body, deps, request.caller) };
            // The casts are safe: the router matched this path, and the types come from the schemas
            // and readers above.
            return handler(deps, read as ReadRequest<Caller, Path, Query, Body>) as Promise<object>;
          };
          return within ? within(deps, request, work) : work();
        },
      };
    },
  });
}

/** Adds the dependencies to the routes, which can then be served. */
export function bind<Deps, Caller>(routes: readonly Route<Deps, Caller>[], deps: Deps): BoundRoute<Caller>[] {
  return routes.map((route) => ({ ...route, handle: (request) => route.answer(deps, request) }));
}
