// Binds the routes of the console to their guard, so that they can be served. A route is one of
// three kinds: of a visitor, of an organisation, or of an app.

import { networkOf } from '../../ground/http/client-address.ts';
import type { Route } from '../../ground/http/route.ts';
import type { BoundRoute, Guarded, RequestHead } from '../../ground/http/server.ts';
import type { Turns } from '../../ground/http/turns.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AreaDeps } from './area.ts';
import type { AppCaller, ConsoleCaller, Visitor } from './caller.ts';
import type { ConsoleGuard, Found } from './guard.ts';
import { hideValues } from './hide-values.ts';

export interface ConsoleRoutes {
  readonly ofVisitor: readonly Route<AreaDeps, Visitor>[];
  readonly ofOrganisation: readonly Route<AreaDeps, ConsoleCaller>[];
  /** The paths of app routes begin with `/console/api/apps/:app`. */
  readonly ofApp: readonly Route<AreaDeps, AppCaller>[];
}

/** Headers of every answer of the console's API. */
const commonHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * The largest body by a stranger, and of a route that only a person calls. The longest password,
 * names and address fit.
 */
const personBodyBytesMax = 4096;

/** All routes, as the description lists them. */
export function listRoutes({ ofVisitor, ofOrganisation, ofApp }: ConsoleRoutes) {
  return [...ofVisitor, ...ofOrganisation, ...ofApp];
}

/**
 * Binds the routes. Reads of an app take turns with the reads of its API. Reads of an organisation
 * take turns of the organisation. So no page of the console delays other apps. Counts and
 * reports take turns of the organisation, so that many apps give it no larger share. Answers omit
 * the fields that the caller's role may not see (contract 19).
 */
export function bindConsole<Caller>(
  { ofVisitor, ofOrganisation, ofApp }: ConsoleRoutes,
  { deps, guard }: { readonly deps: AreaDeps; readonly guard: ConsoleGuard },
): BoundRoute<Caller>[] {
  const { readTurns } = deps;
  const guarded = <Own>(
    route: Route<AreaDeps, Own>,
    find: (head: RequestHead) => Promise<Found<Own>>,
    shareOf: (caller: Own, head: RequestHead) => string,
    around: (caller: Own, work: () => Promise<object>) => Promise<object> = (_caller, work) => work(),
    depsOf: (caller: Own) => AreaDeps = () => deps,
  ): BoundRoute<Caller> => {
    const { answer, ...fields } = route;
    return {
      ...fields,
      async guard(head): Promise<Guarded> {
        const { caller, headers } = await find(head);
        return {
          share: shareOf(caller, head),
          headers: { ...commonHeaders, ...headers },
          handle: (request) => around(caller, () => answer(depsOf(caller), { ...request, caller })),
        };
      },
      handle: () => Promise.reject(new Error(`${route.id} is answered by its guard`)),
    };
  };
  return [
    // Strangers of one network share the room for bodies, and no stranger may send a large one.
    ...ofVisitor.map((route) =>
      guarded(
        { ...route, bodyBytesMax: personBodyBytesMax },
        async (head) => guard.visitor(head),
        (_caller, { address }) => `visitor ${networkOf(address)}`,
      ),
    ),
    ...ofOrganisation
      .map(hideValues)
      .map((route) =>
        guarded(
          route.access === 'session' ? { ...route, bodyBytesMax: personBodyBytesMax } : route,
          (head) => guard.caller(head, route),
          ofOwn,
          route.method === 'GET' ? ({ organisationId }, work) => readTurns.run(organisationId, work) : undefined,
        ),
      ),
    ...ofApp.map(hideValues).map((route) =>
      guarded(
        route,
        (head) => guard.appCaller(head, route),
        ofOwn,
        route.method === 'GET' ? ({ app }, work) => readTurns.run(app.id, work) : undefined,
        ({ organisationId }) => ({ ...deps, countTurns: sharedTurns(deps.countTurns, organisationId) }),
      ),
    ),
  ];
}

/** Counts and reports of an organisation share its turns, whatever app they are about. */
function sharedTurns(turns: Turns, organisationId: Uuid): Turns {
  return { run: (_appId, work) => turns.run(organisationId, work) };
}

function ofOwn({ organisationId }: ConsoleCaller): string {
  return organisationId;
}
