// CORS: which answers browsers of other origins may read (contract 1). Endpoints that accept client
// keys and public ones under /v1 are open, on every status and never with credentials. Answers of
// endpoints for server keys have no CORS headers.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

interface RouteAddress {
  readonly method: string;
  readonly path: string;
  readonly access: string;
}

export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after, ratelimit, ratelimit-policy, x-request-id',
};
export const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-max-age': '7200',
};

/** Returns whether a route accepts client keys or is public, under /v1. */
export function isOpenRoute(route: Pick<RouteAddress, 'access' | 'path'>): boolean {
  return route.access !== 'server' && route.path.startsWith('/v1/');
}

/**
 * Finds whether browsers of any origin may read an answer. On a shared path (GET /v1/devices) the
 * methods for server keys are not open; the preflight and the other methods are. A URL that cannot
 * be decoded reaches no route, but its path may still match one.
 */
export function openRouteFinder(routes: readonly RouteAddress[]) {
  const open = routes.filter(isOpenRoute).map(({ method, path }) => ({
    method,
    path,
    pattern: new RegExp(`^${path.replace(/:[a-z_]+/g, '[^/]+')}$`),
  }));
  const fits = (wanted: string, method: string): boolean =>
    wanted === 'OPTIONS' || (wanted === 'HEAD' ? 'GET' : wanted) === method;
  return {
    hasRoute: ({ method, routeOptions }: FastifyRequest): boolean =>
      open.some((route) => route.path === routeOptions.url && fits(method, route.method)),
    hasAddress: ({ url = '', method = '' }: IncomingMessage): boolean =>
      open.some((route) => route.pattern.test(url.split('?', 1)[0] ?? '') && fits(method, route.method)),
  };
}
