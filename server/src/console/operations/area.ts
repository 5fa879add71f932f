// The console's API has three kinds of areas: of an app, of an organisation, and of a visitor. Each
// kind fixes who may call its routes, how their paths begin, and which parameters they share.
import { type Area, type ParamForms, routesWith } from '../../ground/http/route.ts';
import type { ApiRequest } from '../../ground/http/server.ts';
import type { Turns } from '../../ground/http/turns.ts';
import type { AppCaller, ConsoleCaller, Visitor } from './caller.ts';

/** Facts in which the areas of one kind differ. */
type Shared<Named extends string> = Partial<Pick<Area, 'access' | 'least'>> & { readonly params?: ParamForms<Named> };

const prefix = '/console/api';
const access = 'session-or-token';

export const appPrefix = `${prefix}/apps/:app`;
export const appParam = { app: { description: 'The id of an app.', example: 'app_02y9GVDsTuJUi2BOoCH5G3' } };

/** Routes that let people in. */
export function routesOfVisitor<Deps>(tag: string) {
  return routesWith<Deps, Visitor>({ tag, prefix, access: 'public' });
}

/** Routes of the caller's organisation, and of the caller. */
export function routesOfOrganisation<Deps, Named extends string = never>(tag: string, shared: Shared<Named> = {}) {
  return routesWith<Deps, ConsoleCaller, Named>({ tag, prefix, access, ...shared });
}

/** Routes of one app, which their handlers find in `caller`. */
export function routesOfApp<Deps, Named extends string = never>(tag: string, shared: Shared<Named> = {}) {
  const params = { ...appParam, ...shared.params };
  return routesWith<Deps, AppCaller, Named | 'app'>({ tag, prefix: appPrefix, access, ...shared, params });
}

/** The `within` of routes that count or report: their work waits for a turn of the organisation. */
export function inCountTurn<Result>(
  { countTurns }: { readonly countTurns: Turns },
  { caller, aside }: ApiRequest<ConsoleCaller>,
  work: () => Promise<Result>,
): Promise<Result> {
  return aside(() => countTurns.run(caller.organisationId, work));
}
