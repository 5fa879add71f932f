// OIDC_ONLY: refuses every route that a password opens. One way stays: after an operator's `owner
// reset-password` the new password opens a session within an hour, with the second factor if the
// account has one.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Route } from '../../ground/http/route.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { hasNewPassword } from '../../teams/accounts/oidc-queries.ts';

const ofPasswords: ReadonlySet<string> = new Set([
  ...['setUp', 'acceptInvite', 'signIn', 'changePassword', 'beginSecondFactor', 'confirmSecondFactor'],
  ...['removeSecondFactor', 'renewRecoveryCodes'],
]);

interface GateDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly oidc: { readonly isOnly: boolean } | null;
}

/** Puts the gate before the routes that use a password. */
export function gatePasswords<Deps extends GateDeps, Caller>(
  routes: readonly Route<Deps, Caller>[],
): Route<Deps, Caller>[] {
  return routes.map((route) => {
    if (!ofPasswords.has(route.id)) return route;
    return {
      ...route,
      refusals: [...(route.refusals ?? []), 'password_off'],
      async answer(deps, request) {
        if (deps.oidc?.isOnly && !(route.id === 'signIn' && (await wasReset(deps, request.body)))) {
          throw new ApiError('password_off');
        }
        return route.answer(deps, request);
      },
    };
  });
}

async function wasReset({ sql, clock }: GateDeps, body: unknown): Promise<boolean> {
  if (!isRecord(body) || typeof body['email'] !== 'string') return false;
  return hasNewPassword(sql, clock, body['email'].trim().toLowerCase());
}
