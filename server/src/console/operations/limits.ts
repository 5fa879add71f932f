// The limits of people in the console, by session and by address, and of the audit entries that
// refusals write. Each process counts for itself, in bounded memory. Operator tokens have a limit
// of their own, which all processes share.
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { networkOf } from '../../ground/http/client-address.ts';
import { createRecentUses } from '../../teams/quotas/recent-uses.ts';

export interface ConsoleLimits {
  /** Counts a request of somebody who is not signed in yet. Throws the 429. */
  admitVisitor(address: string): void;
  /** Counts a request of a session. Throws the 429. */
  admitSession(sessionId: string): void;
  /** Returns whether a refusal is recorded: one of each caller and route in a minute. */
  mayRecordRefusal(callerId: string, routeId: string): boolean;
  /** Returns whether a failed sign-in to no account is recorded: one of each network in a minute. */
  mayRecordStranger(address: string): boolean;
}

/**
 * A guess with room for several tabs: a page of the console makes fewer than ten requests at once.
 */
const sessionPerSecond = 60;
/** A guess: a network may be an office whose people all sign in at the beginning of work. */
const visitorPerSecond = 50;
const subjectsMax = 5000;

export function createConsoleLimits({ steadyMs }: Pick<Clock, 'steadyMs'>): ConsoleLimits {
  const perSecond = { withinMs: 1000, subjectsMax, steadyMs };
  const visitors = createRecentUses({ ...perSecond, usesMax: visitorPerSecond });
  const sessions = createRecentUses({ ...perSecond, usesMax: sessionPerSecond });
  const refusals = createRecentUses({ withinMs: 60_000, usesMax: 1, subjectsMax, steadyMs });
  return {
    admitVisitor(address) {
      refuseUnless(visitors.tryCount(networkOf(address)), `${visitorPerSecond} requests per second of an address`);
    },
    admitSession(sessionId) {
      refuseUnless(sessions.tryCount(sessionId), `${sessionPerSecond} requests per second of a session`);
    },
    mayRecordRefusal: (callerId, routeId) => refusals.tryCount(`${callerId} ${routeId}`) === 0,
    mayRecordStranger: (address) => refusals.tryCount(networkOf(address)) === 0,
  };
}

function refuseUnless(waitMs: number, limit: string): void {
  if (waitMs === 0) return;
  throw new ApiError('rate_limited', {
    message: `The limit of ${limit} is exceeded.`,
    retryAfterMs: Math.ceil(waitMs),
  });
}
