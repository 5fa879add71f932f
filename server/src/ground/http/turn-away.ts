// Refuses requests of an app that finds no room, before the framework has made anything of them. A
// refusal then costs about half as much, so a flood of five times the capacity leaves most of the
// processor to the requests inside.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../host/log.ts';
import { encodeId, mintUuid } from '../values/ids.ts';
import type { AnsweredRequest } from './answered-request.ts';
import type { ApiError } from './api-error.ts';
import { corsHeaders, isOpenRoute } from './cors.ts';
import type { Door, Visitor } from './door.ts';
import { headerValues, retryAfterOf } from './headers.ts';

interface Route {
  readonly method: string;
  readonly path: string;
  readonly access: string;
}

export interface TurnAwayDeps<Of extends Route, Caller> {
  readonly routes: readonly Of[];
  readonly door: Door;
  /** Returns the caller where no wait and no error is needed. */
  recognize?(authorization: readonly string[], access: 'server' | 'client-or-server'): Caller | undefined;
  visitorOf(route: Of, caller: Caller): Visitor | null;
  noteAnswer?(answer: AnsweredRequest<Caller>): void;
  /** True after the server has begun to close. The framework then answers all requests. */
  isClosing(): boolean;
  readonly log: Log;
}

/**
 * Returns a function that answers a request with the 503 of the door and returns true, or does
 * nothing and returns false. It recognizes routes without ids in their path, and keys that were
 * looked up lately. The framework checks all other requests, in the same order.
 */
export function createTurnAway<Of extends Route, Caller>({
  routes,
  door,
  recognize,
  visitorOf,
  noteAnswer,
  isClosing,
  log,
}: TurnAwayDeps<Of, Caller>): (request: IncomingMessage, response: ServerResponse) => boolean {
  const byAddress = new Map<string, Of>();
  for (const route of routes) if (!route.path.includes(':')) byAddress.set(`${route.method} ${route.path}`, route);

  const answer = (request: IncomingMessage, response: ServerResponse, refused: Refused<Caller>): void => {
    const { route, caller, error, beganAtMs } = refused;
    const id = encodeId('req', mintUuid());
    const body = `${JSON.stringify(error.present(id))}\n`;
    response.writeHead(error.status, {
      ...(isOpenRoute(route) && corsHeaders),
      'x-request-id': id,
      'x-content-type-options': 'nosniff',
      'retry-after': retryAfterOf(error),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      // Closes the connection: the rest of a body must not be read as the next request, and a
      // closing server would wait for it.
      ...((!request.complete || isClosing()) && { connection: 'close' }),
    });
    response.end(body);
    noteAnswer?.({
      id,
      method: route.method,
      route: route.path,
      params: {},
      status: error.status,
      seconds: (performance.now() - beganAtMs) / 1000,
      caller,
      error,
    });
  };

  return (request, response) => {
    if (!door.isTurningAway || isClosing() || recognize === undefined) return false;
    const route = byAddress.get(`${request.method} ${request.url}`);
    if (!route || (route.access !== 'server' && route.access !== 'client-or-server')) return false;
    if (headerValues(request, 'host').length !== 1) return false;
    const caller = recognize(headerValues(request, 'authorization'), route.access);
    const visitor = caller && visitorOf(route, caller);
    const refusal = visitor && door.look(visitor);
    if (!caller || !refusal) return false;
    const beganAtMs = performance.now();
    refusal
      .catch((error: ApiError) => answer(request, response, { route, caller, error, beganAtMs }))
      .catch((error: unknown) => log.error({ err: error }, 'an early refusal failed'));
    return true;
  };
}

interface Refused<Caller> {
  readonly route: Route;
  readonly caller: Caller;
  readonly error: ApiError;
  readonly beganAtMs: number;
}
