// Measures the work `events`: how many tracked events a second are stored durably through HTTP, on
// the machine that also runs the load generator. It compares this with the rows a second that the
// same database takes without the service.

import type { Sql } from '@carillon/postgres';
import { findDatabaseUrl, type Service } from '../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { decodeId, encodeId } from '../../server/src/ground/values/ids.ts';
import { startChild } from './child.ts';
import { readPeakRssMb, totalOf, watchCosts, watchOthers } from './costs.ts';
import type { BareRun, ToBareInserts } from './events/bare-inserts.ts';
import type { LoadRun, ToLoad } from './events/load.ts';
import { figure, figuresOf } from './figures.ts';
import { countProcesses, startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

const scales = {
  full: { devices: 100_000, seconds: 30, warmUpSeconds: 5 },
  quick: { devices: 500, seconds: 1, warmUpSeconds: 1 },
};
const connections = 12;
const bareConnections = 4;

export async function measureEvents(
  workbench: Workbench,
  { isQuick, profile: profileDir }: RunOptions,
): Promise<Measured> {
  const { devices, seconds, warmUpSeconds } = isQuick ? scales.quick : scales.full;
  const { service, sql, processes, postgres } = await startOwnService(workbench, { profileDir });
  progress(`filling ${devices} devices`);
  const app = await fill(service, sql, devices);

  const bare = await insertBare(workbench, service, { ...app, seconds: isQuick ? seconds : seconds / 3 });
  const load = startChild<ToLoad>(workbench, 'the load', new URL('events/load.ts', import.meta.url));
  await load.ask({ type: 'open', port: service.port, key: app.serverKey, deviceIds: app.deviceIds });
  await load.ask({ type: 'run', seconds: warmUpSeconds, connections });
  const stored = await countStored(sql, app.appId);
  const countCosts = await watchCosts({ ...processes, 'the load': [load.pid] });
  const run = await load.ask<LoadRun>({ type: 'run', seconds, connections });
  const { cpu, foreignCores } = await countCosts(run.events);
  const added = (await countStored(sql, app.appId)) - stored;
  if (added !== run.events) throw new RunError(`${run.events} events were accepted and ${added} are stored`);
  const rssMb = await readPeakRssMb(processes);
  progress(`Carillon: ${Math.round(run.events / run.seconds)} events a second`);

  // Again with devices that were last seen an hour ago: the first session of each device moves its
  // `last_seen_at`.
  await sql`UPDATE audience SET last_seen_at = now() - interval '1 hour' WHERE app_id = ${app.appId}`;
  await sql`VACUUM audience`;
  const woken = await load.ask<LoadRun>({ type: 'run', seconds: isQuick ? seconds : seconds / 3, connections });
  const bytes = await readBytes(sql, app.appId);
  await service.stop();

  const perSecond = run.events / run.seconds;
  const side = 'bare multi-row inserts into one table, without HTTP';
  return {
    params: { devices, seconds, batch: 50, connections, ...countProcesses(processes) },
    figures: [
      figure('events a second, stored and summed up', perSecond, '/s', { atLeast: 20_000 }),
      figure('events a second', perSecond, '/s', { beside: { side, value: bare.perSecond } }),
      figure('events a second, while every device wakes', woken.events / woken.seconds, '/s'),
      figure('a request of fifty: p50', run.msP50, 'ms'),
      figure('a request of fifty: p99', run.msP99, 'ms'),
      figure('CPU for 1,000', totalOf(cpu), 's'),
      ...figuresOf('CPU for 1,000', cpu, 's'),
      ...figuresOf('peak memory', rssMb, 'MB'),
      ...figuresOf('an event', bytes, 'B'),
    ],
    foreignCores: Math.max(foreignCores, bare.foreignCores),
    postgres,
  };
}

interface FilledApp {
  readonly appId: string;
  readonly serverKey: string;
  /** Device ids in the form that the API uses. */
  readonly deviceIds: readonly string[];
}

/** Makes an app with the devices of the `seed` command, all seen just now. */
async function fill(service: Service, sql: Sql, devices: number): Promise<FilledApp> {
  const seeded = await service.run<{ app: { id: string }; server_key: string }>('seed', '--devices', String(devices));
  const appId = decodeId('app', seeded.app.id);
  if (appId === undefined) throw new RunError('the app has no id');
  await sql`UPDATE audience SET last_seen_at = now() WHERE app_id = ${appId}`;
  const rows = await sql<{ id: string }[]>`SELECT device_id AS id FROM audience WHERE app_id = ${appId}`;
  // Otherwise autovacuum would start in the middle of the measurement.
  await sql`VACUUM (ANALYZE) people, users, device_tokens, devices, device_changes, audience, events, subject_events`;
  await sql`CHECKPOINT`;
  return { appId, serverKey: seeded.server_key, deviceIds: rows.map(({ id }) => encodeId('dev', id)) };
}

async function insertBare(
  workbench: Workbench,
  service: Service,
  { appId, deviceIds, seconds }: { appId: string; deviceIds: readonly string[]; seconds: number },
): Promise<{ perSecond: number; foreignCores: number }> {
  const name = 'bare inserts';
  const child = startChild<ToBareInserts>(workbench, name, new URL('events/bare-inserts.ts', import.meta.url));
  const ids = deviceIds.flatMap((id) => decodeId('dev', id) ?? []);
  await child.ask({ type: 'open', databaseUrl: await findDatabaseUrl(service), appId, deviceIds: ids });
  await child.ask({ type: 'run', seconds: seconds / 5, connections: bareConnections });
  const countOthers = await watchOthers();
  const run = await child.ask<BareRun>({ type: 'run', seconds, connections: bareConnections });
  const foreignCores = await countOthers();
  await child.stop();
  const perSecond = run.events / run.seconds;
  progress(`${name}: ${Math.round(perSecond)} events a second`);
  return { perSecond, foreignCores };
}

/** Counts stored events by their sums, which is faster than counting rows. */
async function countStored(sql: Sql, appId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT sum(count)::bigint AS count
    FROM (
      SELECT count FROM rollups WHERE app_id = ${appId}
      UNION ALL SELECT count FROM rollup_deltas WHERE app_id = ${appId}
    ) AS s`;
  return row?.count ?? 0;
}

/** Bytes that one event takes on disk, by table, indexes included. */
async function readBytes(sql: Sql, appId: string): Promise<Record<'events' | 'event_ids' | 'subject_events', number>> {
  const [row] = await sql<{ events: number; eventIds: number; subjectEvents: number; stored: number; ids: number }[]>`
    SELECT
      (SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'events'::regclass) AS events,
      pg_total_relation_size('event_ids') AS event_ids,
      (SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'subject_events'::regclass)
        AS subject_events,
      (SELECT count(*) FROM events WHERE app_id = ${appId}) AS stored,
      (SELECT count(*) FROM event_ids WHERE app_id = ${appId}) AS ids`;
  if (!row) throw new RunError('nothing is stored');
  return {
    events: Math.round(row.events / row.stored),
    event_ids: Math.round(row.eventIds / row.ids),
    subject_events: Math.round(row.subjectEvents / row.stored),
  };
}
