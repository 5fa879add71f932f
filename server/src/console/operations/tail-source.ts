// The source of the tail of an app's events: first the latest events, then each new one. It shows
// people what an integration sends. It does not count; the catalog does.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type ArrivedEvent, listLastEvents, listLastNames } from '../../insight/events/tail-queries.ts';
import { listErasedSubjects } from '../../people/users/erasure-queries.ts';
import type { Source } from './feeds.ts';

export interface TailDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** The events that a new feed begins with, and the most that one look adds. */
const shownMax = 50;
/** The number of names whose events are read without a filter: the names of the latest events. */
const namesMax = 20;
/**
 * Milliseconds. An event that was received longer ago is not new, such as the last one of a name
 * that was not read for a while. Only ids from this time are remembered.
 */
const newForMs = 60_000;

/** `name` null: events of any name. */
export function beginTail({ sql, clock }: TailDeps, appId: Uuid, name: string | null): Source {
  let last: readonly ArrivedEvent[] = [];
  let told: Set<Uuid> | undefined;

  return {
    async look() {
      const names = name === null ? await listLastNames(sql, appId, namesMax) : [name];
      const erased = await listErasedSubjects(sql, appId);
      const arrived =
        names.length === 0 ? [] : await listLastEvents(sql, clock, appId, names, { erased, limit: shownMax });
      const isFirst = told === undefined;
      const oldest = mintUuid(clock.nowMs() - newForMs);
      const fresh = arrived.filter(({ id }) => id > oldest && !told?.has(id));
      last = arrived.slice(0, shownMax);
      told = new Set([...arrived.map(({ id }) => id), ...(told ?? [])].filter((id) => id > oldest));
      const shown = fresh.slice(0, shownMax);
      return isFirst || shown.length === 0 ? [] : [{ type: 'arrived', events: shown.map(present) }];
    },
    state: () => ({ type: 'recent', events: last.map(present) }),
  };
}

function present({ id, name, at, deviceId, externalId, properties }: ArrivedEvent) {
  return {
    id,
    name,
    occurred_at: at,
    device_id: deviceId === null ? null : encodeId('dev', deviceId),
    external_id: externalId,
    properties,
  };
}
