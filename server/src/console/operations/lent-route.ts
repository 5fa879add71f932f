// Lends a route of /v1 to the console: the same query, answer and work, called by a person or an
// operator token of a role, below the address of an app.

import type { Route } from '../../ground/http/route.ts';
import { type Caller, clientEventsDefault } from '../../teams/apps/caller.ts';
import { type AreaDeps, appParam, appPrefix } from './area.ts';
import type { AppCaller } from './caller.ts';

type Role = 'viewer' | 'member' | 'admin' | 'owner';

/**
 * Lends the named routes, each with the least role that may call it. Throws for an unknown name.
 */
export function lendRoutes(
  routes: readonly Route<AreaDeps, Caller>[],
  leastOf: Readonly<Record<string, Role>>,
): Route<AreaDeps, AppCaller>[] {
  return Object.entries(leastOf).map(([id, least]) => {
    const route = routes.find((each) => each.id === id);
    if (!route) throw new Error(`there is no route ${id} to lend`);
    return lend(route, least);
  });
}

function lend(route: Route<AreaDeps, Caller>, least: Role): Route<AreaDeps, AppCaller> {
  return {
    ...route,
    path: route.path.replace(/^\/v1/, appPrefix),
    access: 'session-or-token',
    least,
    params: { ...appParam, ...route.params },
    refusals: [...new Set([...(route.refusals ?? []), 'not_found' as const])],
    answer: (deps, request) => route.answer(deps, { ...request, caller: callerOf(request.caller) }),
  };
}

/** The caller in the form of /v1, with the rights of a server key. */
export function callerOf({ app, by }: AppCaller): Caller {
  return {
    appId: app.id,
    keyId: '',
    keyName: by.name,
    scope: 'server',
    plan: app.plan,
    by,
    clientEvents: clientEventsDefault,
  };
}
