// The HTTP server: Fastify with request ids, limits and one error handler, and the order of checks
// of contract 1 built in: route, key, suspension, scope, rate limit, then the body. Knows no
// resource; rooms hand it their routes.
import type { OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { CanceledError, isDatabaseState } from '@carillon/postgres';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { z } from 'zod';
import type { Log } from '../host/log.ts';
import { createFairShares } from '../pacing/fair-shares.ts';
import { encodeId, mintUuid } from '../values/ids.ts';
import type { AnsweredRequest } from './answered-request.ts';
import { ApiError, notFound } from './api-error.ts';
import { type BodyShape, shapeOf } from './body-shape.ts';
import { answerBrokenRequest, answerConnect } from './broken-request.ts';
import { clientAddressFinder, type Peer } from './client-address.ts';
import { followConnections } from './closing.ts';
import { corsHeaders, isOpenRoute, openRouteFinder, preflightHeaders } from './cors.ts';
import { pathDescriber } from './describe-path.ts';
import { createDoor, type DoorLimits, usualDoorLimits, type Visitor } from './door.ts';
import { createEventStreams, EventStream } from './event-stream.ts';
import { headerValues, retryAfterOf } from './headers.ts';
import { invalidJson, parseJson } from './json.ts';
import { readQuery } from './query-string.ts';
import { type BodyAllowance, bodyBytesDefault, readBytes } from './request-body.ts';
import { createTurnAway } from './turn-away.ts';
import { validate } from './validate.ts';

/** The API keys that may call a route. */
type KeyAccess = 'server' | 'client-or-server';
/**
 * The callers that a route admits. `public` needs no key and ignores an `Authorization` header. A
 * route for sessions or operator tokens has a guard.
 */
export type Access = KeyAccess | 'public' | 'session' | 'session-or-token';

export interface ApiRequest<Caller> {
  /** The caller; on a public route there is nobody. */
  readonly caller: Caller;
  /** `HEAD` reaches the routes of GET and is answered without a body. */
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters; a repeated one was already refused. */
  readonly query: Readonly<Record<string, string>>;
  /** The parsed body; undefined when the request had none. */
  readonly body: unknown;
  /** All values of a header, as they came on the wire. */
  header(name: string): readonly string[];
  readonly id: string;
  readonly log: Log;
  /** The client's address: the peer's, or what a trusted proxy says. */
  readonly address: string;
  /**
   * Does work that mostly waits, such as a report. From then on the request does not count as load.
   */
  aside<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Makes a signal that aborts when the caller has gone before the answer. */
  gone(): AbortSignal;
}

/**
 * An answer that is not the usual 200 with JSON. A body that is neither text nor bytes is written
 * as JSON.
 */
export class Answer<Status extends number = number, Body = string | Buffer | Readable> {
  readonly status: Status;
  /** A list sets a header several times, such as two cookies. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Body | '';
  constructor(status: Status, headers: Readonly<Record<string, string | string[]>>, body: Body | '' = '') {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** A route that can be served. `route.ts` makes it from a route's description. */
export interface BoundRoute<Caller> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify's form: `/v1/messages/:id`. */
  readonly path: string;
  readonly access: Access;
  /** Largest body; unless told 256 KiB, and 1 KiB on public routes (contract 1). */
  readonly bodyBytesMax?: number;
  /** Largest body by client key; unless told 64 KiB (contract 4). */
  readonly clientBodyBytesMax?: number;
  /** Further content types that are read as JSON, such as `text/plain` for receipts. */
  readonly alsoJson?: readonly string[];
  /** The shape of the body, if the route takes one. */
  readonly body?: { readonly schema: z.ZodType } | null;
  /** True on routes that take any query parameter, such as redirects. */
  readonly ignoresUnknownQuery?: boolean;
  /** Decides who calls, instead of API keys, before any byte of the body is read. */
  guard?(head: RequestHead): Promise<Guarded>;
  handle(request: ApiRequest<Caller>): Promise<object | Answer>;
}

/** A request before its body. */
export interface RequestHead
  extends Pick<ApiRequest<unknown>, 'method' | 'params' | 'header' | 'id' | 'log' | 'address'> {
  readonly peer: Peer;
}

/** A request that a guard has admitted. */
export interface Guarded {
  /** Requests of one share divide the room for bodies among them. */
  readonly share: string;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Answers the request of the caller that the guard found. */
  handle(request: Omit<ApiRequest<unknown>, 'caller'>): Promise<object | Answer>;
}

/** The header fields of a request under a rate limit, and the reason of a refusal. */
export interface Admission {
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: ApiError | null;
}

export interface HttpServerOptions<Caller> {
  readonly routes: readonly BoundRoute<Caller>[];
  /**
   * Throws the 401 or 403, before any byte of the body is read. `address` is computed only if it is
   * called.
   */
  authenticate(authorization: readonly string[], access: KeyAccess, address: () => string): Promise<Caller>;
  /** Returns the same caller as `authenticate`, if no wait is needed and no error occurs. */
  recognize?(authorization: readonly string[], access: KeyAccess): Caller | undefined;
  /** The caller's app: its requests share places and turns. */
  appOf(caller: Caller): string;
  /**
   * Counts a request whose caller is known; null: there is no limit. Its headers stand on every
   * answer from then on.
   */
  admit(caller: Caller): Promise<Admission> | null;
  /** The limits of the caller's bodies on a route beside the route's own; null: there are none. */
  limitBody?(caller: Caller, route: BoundRoute<Caller>): BodyAllowance | null;
  /** Resolves when a 401 may be answered. */
  delayUnauthorized(address: string): Promise<void>;
  /** The caller of public routes. */
  readonly nobody: Caller;
  readonly log: Log;
  /**
   * Called after each answer. `route` is the route's pattern; empty when no route fits, because a
   * path may be anything.
   */
  readonly noteAnswer?: (answer: AnsweredRequest<Caller>) => void;
  /** Peers whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** Called now and then with an untrusted peer that sends X-Forwarded-For. */
  readonly onIgnoredForwarding?: (peer: string) => void;
  /** Headers must arrive within this time, and a body within as much again. */
  readonly bodyTimeoutMs?: number;
  readonly doorLimits?: Partial<DoorLimits>;
  readonly connectionLimits?: Partial<ConnectionLimits>;
}

export interface ConnectionLimits {
  /** Connections open at once. Further ones are closed when they come. */
  readonly connectionsMax: number;
  /**
   * Milliseconds. A connection without any traffic for this long is ended, because its client does
   * not read the answer. Every route takes less time to answer: a report has a minute in the
   * database.
   */
  readonly silenceMs: number;
  /** Bytes of bodies in memory at once, arriving or in use. An app has half of them at most. */
  readonly bodyBytesMax: number;
}

const usualConnectionLimits: ConnectionLimits = {
  connectionsMax: 10_000,
  silenceMs: 120_000,
  bodyBytesMax: 128 * 1024 * 1024,
};

/** A caller without a key cannot make the service hold a larger body. */
const publicBodyBytesDefault = 1024;
/** The body of a route that takes none: an empty object is allowed. */
export const noFields = z.strictObject({});
const headerBytesMax = 16 * 1024;
const idleClosedEveryMs = 1000;
const tellEveryMs = 60_000;

/** Builds the server; `listen` and `close` are the caller's. */
export function createHttpServer<Caller>(options: HttpServerOptions<Caller>): FastifyInstance {
  const { routes, log, bodyTimeoutMs = 10_000 } = options;
  const callers = new WeakMap<FastifyRequest, Caller>();
  const refusals = new WeakMap<FastifyRequest, ApiError>();
  const admitted = new WeakMap<FastifyRequest, Guarded>();
  const door = createDoor({ ...usualDoorLimits, ...options.doorLimits }, log);
  const { connectionsMax, silenceMs, bodyBytesMax } = { ...usualConnectionLimits, ...options.connectionLimits };
  const bodies = createFairShares({ perFree: 1 });
  const streams = createEventStreams();
  const streamed = new WeakSet<FastifyRequest>();
  const open = openRouteFinder(routes);
  const findClient = clientAddressFinder(options.trustedProxies ?? []);
  let hasWarned = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  const server = fastify({
    // `request-body.ts` enforces the deadline of a body. node:http ends slow headers, and after a
    // longer time any other request.
    requestTimeout: 3 * bodyTimeoutMs,
    keepAliveTimeout: 75_000,
    connectionTimeout: silenceMs,
    http: {
      maxHeaderSize: headerBytesMax,
      headersTimeout: bodyTimeoutMs,
      connectionsCheckingInterval: Math.min(500, bodyTimeoutMs),
      // The hook below answers this. node:http would answer without a body and a request id.
      requireHostHeader: false,
    },
    genReqId: () => encodeId('req', mintUuid()),
    logger: false,
    exposeHeadRoutes: true,
    // A path may be as long as the headers allow, because each route checks its identifiers itself.
    routerOptions: { maxParamLength: headerBytesMax },
    forceCloseConnections: 'idle',
    // Requests that arrive while the server closes are still answered, because the database closes
    // last.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, log),
    // An address that cannot be decoded reaches no route and no hook.
    frameworkErrors: (_error, request, reply) => {
      if (open.hasAddress(request.raw)) reply.headers(corsHeaders);
      return sendError(notFound(), request, reply, log);
    },
  });
  let isClosing = false;
  const turnAway = createTurnAway({
    ...options,
    door,
    visitorOf: (route, caller) => visitorOf(route, options.appOf(caller)),
    isClosing: () => isClosing,
  });
  // This listener runs before the framework's.
  for (const handle of server.server.listeners('request') as RequestListener[]) {
    server.server.off('request', handle).on('request', (request, response) => {
      if (!turnAway(request, response)) handle(request, response);
    });
  }
  server.server.maxConnections = connectionsMax;
  let idleClosedAt = Number.NEGATIVE_INFINITY;
  server.server.on('drop', () => {
    // Connections that only stand open keep nobody out: their clients connect again when they have
    // something to ask.
    if (performance.now() - idleClosedAt < idleClosedEveryMs) return;
    idleClosedAt = performance.now();
    log.warn({ connections: connectionsMax }, 'too many connections: turning new ones away and closing idle ones');
    server.server.closeIdleConnections();
  });
  // An expectation that nobody knows may be ignored (RFC 9110 section 10.1.1); 417 is no status of
  // ours.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.server.on('connect', (_request, socket) => answerConnect(socket));
  // Bodies are read by the routes below, whatever the method: Fastify has other statuses for a bad
  // content type.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }

  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    // No browser takes an answer for a page or a script, whatever text it holds.
    reply.header('x-content-type-options', 'nosniff');
    if (open.hasRoute(request)) reply.headers(corsHeaders);
    if (performance.now() - toldAt >= tellEveryMs && findClient(request.raw).isForwardingIgnored) {
      toldAt = performance.now();
      const { remoteAddress: peer = '' } = request.raw.socket;
      options.onIgnoredForwarding?.(peer);
      if (!hasWarned) {
        log.warn({ peer }, 'X-Forwarded-For is ignored: TRUSTED_PROXIES does not name the peer that sent it');
      }
      hasWarned = true;
    }
    if (request.raw.httpVersion === '1.1' && headerValues(request.raw, 'host').length !== 1) {
      throw invalidJson('A request has exactly one Host header.');
    }
  });
  const closing = followConnections(server.server);
  server.addHook('preClose', async () => {
    isClosing = true;
    // A stream would keep the server from closing for as long as somebody reads.
    streams.endAll();
    closing.begin();
  });
  // A client that is told of the end sends no further request, which could be lost with the
  // connection.
  server.addHook('onSend', (request, reply, _payload, done) => {
    if (closing.endsWith(request.raw.socket)) reply.header('connection', 'close');
    done();
  });
  const note = (request: FastifyRequest, reply: FastifyReply): void => {
    const route = request.routeOptions.url ?? '';
    const error = refusals.get(request) ?? null;
    const caller = callers.get(request) ?? (error?.details.caller as Caller | undefined) ?? null;
    const { id, method, params } = request;
    const { statusCode: status, elapsedTime } = reply;
    options.noteAnswer?.({
      id,
      method,
      route,
      params: (params ?? {}) as Record<string, string>,
      status,
      seconds: elapsedTime / 1000,
      caller,
      error,
    });
  };
  // A stream was answered when it began.
  server.addHook('onResponse', async (request, reply) => {
    if (!streamed.has(request)) note(request, reply);
  });
  server.setErrorHandler((error, request, reply) => {
    const refusal = toApiError(error);
    refusals.set(request, refusal);
    return sendError(refusal, request, reply, log);
  });
  const describePath = pathDescriber(routes);
  server.setNotFoundHandler((request, reply) => sendError(notFound(describePath(request.raw)), request, reply, log));

  for (const route of routes) {
    const { access } = route;
    const ofPublic = visitorOf(route, options.appOf(options.nobody));
    const isUnguarded = access === 'public' && route.guard === undefined;
    let shape: BodyShape | undefined;
    // Computed when the first body comes, so that a start reads no schemas.
    const shapeOfBody = (): BodyShape => (shape ??= shapeOf(route.body?.schema ?? noFields));
    const bodyLimit = route.bodyBytesMax ?? (isUnguarded ? publicBodyBytesDefault : bodyBytesDefault);
    server.route({
      method: route.method,
      url: route.path,
      onRequest: async (request, reply) => {
        if (route.guard) {
          const { method, params, id } = request;
          const header = (name: string) => headerValues(request.raw, name);
          const { address, peer } = findClient(request.raw);
          const guarded = await route.guard({
            method,
            id,
            log,
            header,
            address,
            peer,
            params: params as Record<string, string>,
          });
          admitted.set(request, guarded);
          reply.headers(guarded.headers);
          return;
        }
        if (access === 'public') {
          if (ofPublic) await door.look(ofPublic);
          return;
        }
        if (!isKeyAccess(access)) throw new Error(`${route.method} ${route.path} has no guard`);
        const authorization = headerValues(request.raw, 'authorization');
        const address = (): string => findClient(request.raw).address;
        let caller: Caller;
        try {
          caller = await options.authenticate(authorization, access, address);
        } catch (error) {
          if (error instanceof ApiError && error.status === 401) await options.delayUnauthorized(address());
          throw error;
        }
        callers.set(request, caller);
        const visitor = visitorOf(route, options.appOf(caller));
        if (visitor) await door.look(visitor);
        const admission = await options.admit(caller);
        if (admission) reply.headers(admission.headers);
        if (admission?.refusal) throw admission.refusal;
      },
      handler: async (request, reply) => {
        const caller = callers.get(request) ?? options.nobody;
        const guarded = admitted.get(request);
        const app = guarded ? guarded.share : options.appOf(caller);
        // A request passes the door only after its body has arrived, so that a thousand slow bodies
        // delay nobody.
        let bodyBytes = 0;
        const answerWith = async (aside: ApiRequest<Caller>['aside'], bytes: Buffer): Promise<object | Answer> =>
          (guarded ?? route).handle({
            caller,
            method: request.method,
            params: request.params as Record<string, string>,
            body: readBody(bytes, request, route, shapeOfBody),
            query: readQuery(request.raw.url ?? '', route.ignoresUnknownQuery === true),
            header: (name) => headerValues(request.raw, name),
            id: request.id,
            log,
            address: findClient(request.raw).address,
            aside,
            gone: () => signalOfGone(reply.raw),
          });
        let answer: object | Answer;
        try {
          const bytes = await readBytes(request.raw, {
            bytesMax: bodyLimit,
            allowance: isKeyAccess(access) ? (options.limitBody?.(caller, route) ?? null) : null,
            timeoutMs: bodyTimeoutMs,
            mayKeep(count) {
              const isKept = bodies.take(app, count, bodyBytesMax);
              if (isKept) bodyBytes += count;
              return isKept;
            },
          });
          const visitor = visitorOf(route, app);
          answer = visitor
            ? await door.run(visitor, ({ aside }) => answerWith(aside, bytes))
            : await answerWith((work) => work(), bytes);
        } finally {
          bodies.give(app, bodyBytes);
        }
        if (answer instanceof EventStream) {
          if (request.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send('');
          streamed.add(request);
          note(request, reply);
          reply.hijack();
          streams.serve(answer, reply.raw, reply.getHeaders() as OutgoingHttpHeaders);
          return reply;
        }
        if (!(answer instanceof Answer)) return sendJson(reply, answer);
        reply.code(answer.status).headers(answer.headers);
        const { body } = answer;
        if (!(body instanceof Readable)) {
          return typeof body === 'string' || Buffer.isBuffer(body) ? reply.send(body) : sendJson(reply, body);
        }
        if (request.method !== 'HEAD') return reply.send(body);
        // The route does not use the body, so it is not read.
        body.destroy();
        return reply.send('');
      },
    });
  }

  for (const path of new Set(routes.filter(isOpenRoute).map((route) => route.path))) {
    server.options(path, async (_request, reply) => reply.code(200).headers(preflightHeaders).send(''));
  }
  return server;
}

function isKeyAccess(access: Access): access is KeyAccess {
  return access === 'server' || access === 'client-or-server';
}

// Paths outside /v1 (health, pages) do not pass the door and are never refused.
function visitorOf({ access, path }: Pick<BoundRoute<unknown>, 'access' | 'path'>, app: string): Visitor | null {
  return path.startsWith('/v1/') ? { app, kind: access === 'server' ? 'server' : 'device' } : null;
}

function readBody<Caller>(
  bytes: Buffer,
  request: FastifyRequest,
  route: BoundRoute<Caller>,
  shapeOfBody: () => BodyShape,
): unknown {
  if (bytes.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !route.alsoJson?.includes(type)) {
    throw invalidJson(`The content type of a body is application/json, not '${type.slice(0, 64)}'.`);
  }
  const body = parseJson(bytes, shapeOfBody());
  // For a method without a body, every field is unknown.
  const takesBody = route.method !== 'GET' && (route.method !== 'DELETE' || Boolean(route.body));
  if (!takesBody) validate(noFields.nullable(), body);
  return body;
}

function signalOfGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}

const jsonType = 'application/json; charset=utf-8';
/** The line break keeps the JSON apart from the prompt of a terminal. */
const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

function sendJson(reply: FastifyReply, value: object): FastifyReply {
  return reply.header('content-type', jsonType).send(jsonLine(value));
}

/** A 200 with JSON that is written once, for an answer that many requests share. */
export function writtenAnswer<Value extends object>(value: Value): Answer<200, string> {
  return new Answer(200, { 'content-type': jsonType }, jsonLine(value));
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof CanceledError) return new ApiError('unavailable', { message: 'The caller has gone.' });
  if (isDatabaseState(error)) return new ApiError('unavailable', { retryAfterMs: 1000, cause: error });
  return new ApiError('internal_error', { cause: error });
}

function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  // `unavailable` without a cause is a deliberate refusal, whose reason is logged elsewhere.
  if (error.code === 'internal_error' || (error.code === 'unavailable' && error.cause)) {
    log.error({ request_id: request.id, err: error.cause ?? error }, 'request failed');
  }
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  // Closes the connection, so that the rest of a body is not read as the next request.
  if (!request.raw.complete) reply.header('connection', 'close');
  return sendJson(
    reply.code(error.status).header('x-request-id', request.id).header('x-content-type-options', 'nosniff'),
    error.present(request.id),
  );
}
