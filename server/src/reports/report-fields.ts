// Fields that several reports answer, and the turn for which every report waits.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { ApiRequest } from '../platform/http-server.ts';
import { component, count, instant } from '../platform/schemas.ts';
import type { TimeZones } from '../platform/time-zones.ts';
import type { Turns } from '../platform/turns.ts';
import { groups } from './periods.ts';

export interface ReportDeps {
  /**
   * The pool of counts and reports, and its turns: a report must not delay another request or a
   * send.
   */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly timeZones: TimeZones;
}

/**
 * Runs a report when it is the app's turn. It runs aside from the door, because a report mostly
 * waits: for its turn and for the database.
 */
export function inCountTurn<Result>(
  { countTurns }: ReportDeps,
  { caller, aside }: ApiRequest<Caller>,
  work: () => Promise<Result>,
): Promise<Result> {
  return aside(() => countTurns.run(caller.appId, work));
}

export const range = { from: instant, to: instant };
export const grouped = {
  tz: z.string().optional(),
  group: z.enum(groups).optional().describe('With `group`, as is `groups`.'),
};

export const amount = component(
  'Amount',
  z
    .string()
    .regex(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
    .describe('An exact decimal, without trailing zeros.'),
);
export const classSum = component('ClassSum', z.strictObject({ amount, purchases: count }));

export const exampleRange = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-03T00:00:00.000Z' };
export const exampleSum = { amount: '100', purchases: 2 };
export const emptySum = { amount: '0', purchases: 0 };

export const asCsv = 'With `Accept: text/csv` the same rows as CSV';
