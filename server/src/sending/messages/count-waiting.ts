// The messages that a pause holds up: how many would go out now, and how many have no time left.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { LocalInstants } from './local-time.ts';
import { countSending, listDueOf } from './schedule-queries.ts';
import { windowOf } from './start-due.ts';

export interface WaitingDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly localInstants: LocalInstants;
}

/** Scheduled messages whose contents are read, because a content says how long its window is. */
export const dueCountedMax = 1000;

export async function countWaiting(
  { sql, clock, localInstants }: WaitingDeps,
  organisationId: Uuid,
): Promise<{ readonly messages: number; readonly expired: number }> {
  const sending = await countSending(sql, clock, organisationId);
  const due = await listDueOf(sql, clock, organisationId, dueCountedMax);
  const nowMs = clock.nowMs();
  const expired = due.filter((message) => windowOf({ localInstants }, message).endsAtMs <= nowMs).length;
  return { messages: sending.open + due.length - expired, expired: sending.expired + expired };
}
