// OIDC_ONLY: refuses every route that a password opens. One way stays: after an operator's `owner
// reset-password` the new password opens a session within an hour, with the second factor if the
// account has one.

import { ApiError } from '../../ground/http/api-error.ts';
import type { Route } from '../../ground/http/route.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { hasNewPassword } from '../../teams/accounts/oidc-queries.ts';
import type { AreaDeps } from './area.ts';

const ofPasswords: ReadonlySet<string> = new Set([
  ...['setUp', 'acceptInvite', 'signIn', 'changePassword', 'beginSecondFactor', 'confirmSecondFactor'],
  ...['removeSecondFactor', 'renewRecoveryCodes'],
]);

/** Puts the gate before the routes that use a password. */
export function gatePasswords<Caller>(routes: readonly Route<AreaDeps, Caller>[]): Route<AreaDeps, Caller>[] {
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

async function wasReset({ sql, clock }: Pick<AreaDeps, 'sql' | 'clock'>, body: unknown): Promise<boolean> {
  if (!isRecord(body) || typeof body['email'] !== 'string') return false;
  return hasNewPassword(sql, clock, body['email'].trim().toLowerCase());
}
