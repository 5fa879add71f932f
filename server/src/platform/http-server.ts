// The HTTP server: Fastify with request ids, limits and one error handler, and the order of checks of contract 1 built in:
// route, key, suspension, scope, then the body. Knows no resource; rooms hand it their routes.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { ApiError, type Issue, invalid, notFound } from './api-error.ts';
import { isDatabaseDown, isStatementTimeout } from './db.ts';
import { encodeId, mintUuid } from './ids.ts';
import { invalidJson, parseJson } from './json.ts';
import type { Log } from './log.ts';

/** Who may call a route. `public` takes no key; an `Authorization` header there is ignored. */
export type Access = 'server' | 'client-or-server' | 'public';

export interface ApiRequest<Caller> {
  /** Who is calling; on a public route there is nobody. */
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
  /** The client's address. */
  readonly address: string;
}

/** An answer that is not the usual 200 with JSON. */
export class Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  constructor(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer = '') {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

export interface Route<Caller> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify's form: `/v1/messages/:id`. */
  readonly path: string;
  readonly access: Access;
  /** Largest body; 256 KiB unless told (contract 1). */
  readonly bodyBytesMax?: number;
  /** Further content types that are read as JSON, such as `text/plain` for receipts. */
  readonly alsoJson?: readonly string[];
  /** True on routes that take any query parameter, such as redirects. */
  readonly ignoresUnknownQuery?: boolean;
  handle(request: ApiRequest<Caller>): Promise<object | Answer>;
}

export interface HttpServerOptions<Caller> {
  readonly routes: readonly Route<Caller>[];
  /** Answers 401, 403 by throwing; runs before a byte of the body is read. */
  authenticate(authorization: readonly string[], access: 'server' | 'client-or-server'): Promise<Caller>;
  /** The caller of public routes. */
  readonly nobody: Caller;
  readonly log: Log;
  /** Peers whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[];
  /** A body must arrive within this time. */
  readonly bodyTimeoutMs?: number;
}

const bodyBytesDefault = 256 * 1024;
const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after, ratelimit, ratelimit-policy, x-request-id',
};

interface RequestState<Caller> {
  caller: Caller;
}

/** Builds the server; `listen` and `close` are the caller's. */
export function createHttpServer<Caller>(options: HttpServerOptions<Caller>): FastifyInstance {
  const { routes, log } = options;
  const states = new WeakMap<FastifyRequest, RequestState<Caller>>();
  const server = fastify({
    bodyLimit: bodyBytesDefault,
    // Slow bodies are cut off by node:http itself, which answers through clientErrorHandler below.
    requestTimeout: options.bodyTimeoutMs ?? 10_000,
    keepAliveTimeout: 75_000,
    http: { maxHeaderSize: 16 * 1024, connectionsCheckingInterval: 500 },
    genReqId: () => encodeId('req', mintUuid()),
    trustProxy: options.trustedProxies && options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    logger: false,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: 1024 },
    forceCloseConnections: 'idle',
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, log),
  });

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    if (isCorsPath(request, routes)) reply.headers(corsHeaders);
  });

  server.setErrorHandler((error, request, reply) => sendError(toApiError(error), request, reply, log));
  server.setNotFoundHandler((request, reply) => sendError(notFound(), request, reply, log));

  for (const route of routes) {
    server.route({
      method: route.method,
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? bodyBytesDefault,
      onRequest: async (request) => {
        const caller =
          route.access === 'public'
            ? options.nobody
            : await options.authenticate(headerValues(request.raw, 'authorization'), route.access);
        states.set(request, { caller });
      },
      handler: async (request, reply) => {
        const body = readBody(request, route);
        const answer = await route.handle({
          caller: states.get(request)?.caller ?? options.nobody,
          method: request.method,
          params: request.params as Record<string, string>,
          query: readQuery(request.raw.url ?? '', route.ignoresUnknownQuery === true),
          body,
          header: (name) => headerValues(request.raw, name),
          id: request.id,
          log,
          address: request.ip,
        });
        if (answer instanceof Answer) return reply.code(answer.status).headers(answer.headers).send(answer.body);
        return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(answer));
      },
    });
  }

  for (const path of corsPaths(routes)) {
    server.options(path, async (_request, reply) =>
      reply
        .code(200)
        .headers({
          'access-control-allow-methods': 'GET, POST, DELETE',
          'access-control-allow-headers': 'authorization, content-type',
          'access-control-max-age': '7200',
        })
        .send(''),
    );
  }
  return server;
}

// Endpoints open to client keys, and public ones under /v1, answer any browser origin (contract 1).
function corsPaths<Caller>(routes: readonly Route<Caller>[]): Set<string> {
  const open = routes.filter((route) => route.access !== 'server' && route.path.startsWith('/v1/'));
  return new Set(open.map((route) => route.path));
}

function isCorsPath<Caller>(request: FastifyRequest, routes: readonly Route<Caller>[]): boolean {
  const path = request.routeOptions.url;
  // Server-only methods of a shared path (GET /v1/devices) send no CORS headers; the preflight and the others do.
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  if (method === 'OPTIONS') return path !== undefined && corsPaths(routes).has(path);
  return routes.some(
    (route) =>
      route.path === path && route.method === method && route.access !== 'server' && route.path.startsWith('/v1/'),
  );
}

function readBody<Caller>(request: FastifyRequest, route: Route<Caller>): unknown {
  const bytes = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !route.alsoJson?.includes(type)) {
    throw invalidJson(`The content type of a body is application/json, not '${type.slice(0, 64)}'.`);
  }
  return parseJson(bytes);
}

// Fastify keeps the last of repeated parameters; the contract refuses them, so the query is read from the address itself.
function readQuery(url: string, ignoresUnknown: boolean): Record<string, string> {
  const start = url.indexOf('?');
  const query: Record<string, string> = Object.create(null);
  if (start < 0) return query;
  const issues: Issue[] = [];
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (name in query && !ignoresUnknown) {
      issues.push({ path: [name], code: 'invalid_value', message: `${name} is given more than once.` });
    } else if (value.includes('\u0000') || value.includes('\uFFFD')) {
      issues.push({ path: [name], code: 'invalid_format', message: `${name} holds U+0000 or is not UTF-8.` });
    }
    query[name] = value;
  }
  if (issues.length > 0) throw invalid(issues);
  return query;
}

function headerValues(raw: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    if (raw.rawHeaders[i]?.toLowerCase() === name) values.push(raw.rawHeaders[i + 1] ?? '');
  }
  return values;
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const code = (error as { code?: unknown }).code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge('The body is too large.');
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return invalidJson('The body is shorter or longer than it says.');
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH' || error instanceof URIError) return notFound();
  if (isDatabaseDown(error) || isStatementTimeout(error))
    return new ApiError('unavailable', { retryAfterMs: 1000, cause: error });
  return new ApiError('internal_error', { cause: error });
}

function bodyTooLarge(message: string): ApiError {
  return new ApiError('body_too_large', { message, issues: [{ path: [], code: 'body_too_large', message }] });
}

function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  if (error.status >= 500) log.error({ request_id: request.id, err: error.cause ?? error }, 'request failed');
  const { retryAfterMs } = error.details;
  if (retryAfterMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  // What is left of an oversize or half-read body must not be taken for the next request.
  if (error.code === 'body_too_large' || error.code === 'invalid_json') reply.header('connection', 'close');
  return reply
    .code(error.status)
    .header('x-request-id', request.id)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(error.present(request.id)));
}

// node:http gives up on a request that never became one: bad bytes, endless headers, or a body slower than its deadline.
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, log: Log): void {
  if (!socket.writable || socket.destroyed) return;
  const id = encodeId('req', mintUuid());
  const isSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const failure =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? bodyTooLarge('The headers are larger than 16 KiB.')
      : invalidJson(isSlow ? 'The request took longer than 10 seconds to arrive.' : 'The request is not valid HTTP.');
  const body = JSON.stringify(failure.present(id));
  log.debug({ request_id: id, code: error.code }, 'broken request');
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nx-request-id: ${id}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
