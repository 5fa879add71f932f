// Fields that several reports answer, and the turn for which every report waits.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { component, count, instant } from '../../ground/http/schemas.ts';
import type { ApiRequest } from '../../ground/http/server.ts';
import type { Turns } from '../../ground/http/turns.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { TimeZones } from '../../ground/values/time-zones.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { groups } from './periods.ts';
import type { ReportReader } from './snapshot.ts';

export interface ReportDeps {
  /** The pool of reads. */
  readonly sql: Sql;
  /**
   * The pool of counts and reports, and its turns: a report must not delay another request or a
   * send.
   */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly timeZones: TimeZones;
  /** Absent: a report has only the ids of its messages. */
  readonly namesOf?: NamesOf;
}

/** The names and titles of messages. A message that is deleted has none. */
export type NamesOf = (appId: Uuid, ids: readonly Uuid[]) => Promise<MessageNames>;
export type MessageNames = ReadonlyMap<Uuid, { readonly name: string | null; readonly title: string | null }>;

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

/** The reader of a request's report, which ends when the caller has gone. */
export function readerOf(
  { sql, countSql }: Pick<ReportDeps, 'sql' | 'countSql'>,
  gone: () => AbortSignal,
): ReportReader {
  return { sql: countSql, cancel: { signal: gone(), sql } };
}

export const range = { from: instant, to: instant };
export const grouped = {
  tz: z.string().optional(),
  group: z.enum(groups).optional().describe('Only with `group`, like `groups`.'),
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
