// The caller of the console's API: a person with a session, or a script with an operator token. A
// route of an app has the app too, which belongs to the caller's organisation.

import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from '../../teams/accounts/roles.ts';
import type { Session } from '../../teams/accounts/session.ts';
import type { CookieForm } from '../../teams/accounts/session-cookie.ts';
import { type App, firstOrganisationId } from '../../teams/apps/queries.ts';
import type { Actor } from '../../teams/audit/actor.ts';

/** Anybody, on the few routes for signing in. */
export interface Visitor {
  /** The form of the session cookie on this connection; null: no session can be given. */
  readonly cookieForm: CookieForm | null;
}

export interface ConsoleCaller extends Visitor {
  /** The author of the changes of this request, as the audit log names it. */
  readonly by: Actor;
  readonly organisationId: Uuid;
  readonly role: Role;
  /** Null: an operator token calls. */
  readonly session: Session | null;
}

/** The caller of a route below `/console/api/apps/:app`. */
export interface AppCaller extends ConsoleCaller {
  readonly app: App;
}

/** Refuses people of other organisations: the first one runs the service (decision 99). */
export function refuseGuest({ organisationId }: ConsoleCaller, what: string): void {
  if (organisationId === firstOrganisationId) return;
  throw new ApiError('role_too_low', { message: `Only people of the first organisation may ${what}.` });
}

/** Refuses to send for an app that is suspended (contract 3). */
export function refuseSuspended({ app }: Pick<AppCaller, 'app'>): void {
  if (app.suspendedAt) throw new ApiError('app_suspended', { message: 'This app is suspended.' });
}

/** The session of a caller on a route that takes no operator token. */
export function sessionOf({ session }: ConsoleCaller): Session {
  if (!session) throw new Error('a route for sessions was called by an operator token');
  return session;
}
