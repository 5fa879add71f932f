// Checks the rate that a message asks for: whether all of its deliveries can be tried before their
// windows end (contract 5.20). Pure.

import { invalid } from '../../ground/http/api-error.ts';
import { type DueDeliveries, leastPerSecond } from '../delivery/send-window.ts';

export interface RateTooLow {
  /** The least rate that is high enough. */
  readonly limit: number;
  readonly message: string;
}

/** The fault of a rate; undefined when the rate is high enough or none is asked for. */
export function describeLowRate(
  perSecond: number | null,
  due: readonly DueDeliveries[],
  windowMs: number,
): RateTooLow | undefined {
  if (perSecond === null) return undefined;
  const limit = leastPerSecond(due, windowMs);
  if (perSecond >= limit) return undefined;
  const deliveries = due.reduce((sum, group) => sum + group.deliveries, 0);
  const window = `${Math.floor(windowMs / 1000)} s`;
  return {
    limit,
    message: `${deliveries} deliveries do not end within their send window of ${window} at ${perSecond} a second; ${limit} would do.`,
  };
}

/** Throws the 400 of a rate that is too low. */
export function refuseLowRate(perSecond: number | null, due: readonly DueDeliveries[], windowMs: number): void {
  const low = describeLowRate(perSecond, due, windowMs);
  if (low) throw invalid([{ path: ['per_second'], code: 'too_small', ...low }]);
}
