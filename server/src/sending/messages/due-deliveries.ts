// Counts the deliveries that a message would have if it ran now, by the time when they are due. Its
// rate is checked against them.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { countDevices } from '../../people/audience/count-queries.ts';
import { countAudienceByZone } from '../../people/audience/queries.ts';
import { resolveAudience } from '../../people/segments/resolve-audience.ts';
import type { DueDeliveries } from '../delivery/send-window.ts';
import { type LocalInstants, wallMsOf, zonesDue } from './local-time.ts';
import type { MessageRequest } from './message.ts';
import { scheduleOf } from './schedule.ts';

export interface DueDeliveriesDeps {
  readonly workSql: Sql;
  readonly clock: Clock;
  readonly localInstants: LocalInstants;
}

/** Counts the present audience. Throws the 400 for a time that is too near, too far or past. */
export async function countDueDeliveries(
  { workSql: tx, clock, localInstants }: DueDeliveriesDeps,
  appId: Uuid,
  { send_at: sendAt, ...request }: MessageRequest,
  nowMs: number,
): Promise<DueDeliveries[]> {
  const schedule = sendAt ? scheduleOf({ ...request, send_at: sendAt }, nowMs) : null;
  const audience = await resolveAudience(tx, appId, request.audience, request.exclude_segment_id ?? null);
  if (!schedule?.local) {
    const deliveries = await countDevices({ tx, clock, appId }, audience);
    return [{ dueAtMs: schedule?.runAt.getTime() ?? nowMs, deliveries }];
  }
  const { runAt, local } = schedule;
  const zones = zonesDue(local, runAt.getTime(), localInstants(wallMsOf(local.sendAt)));
  const dueOf = new Map(zones.map((zone) => [zone.zone, zone]));
  const deliveries = new Map<number, number>();
  for (const { zone, devices } of await countAudienceByZone({ tx, clock, appId }, audience)) {
    const due = (zone !== null && dueOf.get(zone)) || { dueAtMs: local.sendAt.ms, isSkipped: false };
    if (!due.isSkipped) deliveries.set(due.dueAtMs, (deliveries.get(due.dueAtMs) ?? 0) + devices);
  }
  return [...deliveries].map(([dueAtMs, count]) => ({ dueAtMs, deliveries: count }));
}
