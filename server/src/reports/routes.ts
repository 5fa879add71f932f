// GET /v1/reports/revenue, engagement, devices and events, as JSON or CSV (contract 5.21). Parses, calls one operation, shapes the
// answer.
import type { Caller } from '../apps/caller.ts';
import { noSuch } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Answer, ApiRequest, BoundRoute } from '../platform/http-server.ts';
import { decodeId, type Uuid } from '../platform/ids.ts';
import type { Cursors } from '../platform/page.ts';
import type { TimeZones } from '../platform/time-zones.ts';
import type { Turns } from '../platform/turns.ts';
import { resolveAudience } from '../segments/resolve-audience.ts';
import { wantsCsv } from './csv.ts';
import { reportDevices } from './devices-report.ts';
import { reportEngagement } from './engagement.ts';
import { reportEvents } from './events-report.ts';
import {
  devicesAsCsv,
  engagementAsCsv,
  eventsAsCsv,
  presentDevices,
  presentEngagement,
  presentEvents,
  presentRevenue,
  revenueAsCsv,
} from './present.ts';
import type { MessageRevenue } from './queries.ts';
import { engagementQuery, rangeQuery, readReportQuery, revenueQuery } from './report-request.ts';
import { checkAskedWindow, reportRevenue } from './revenue.ts';

export interface ReportRouteDeps {
  /** Reads. */
  readonly sql: Sql;
  /** The pool of what somebody only asks for, and turns at it: a report must not stand before a request or a send. */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly timeZones: TimeZones;
  readonly retentionDays: number;
}

export function reportRoutes(deps: ReportRouteDeps): BoundRoute<Caller>[] {
  const { countSql: sql, timeZones } = deps;
  const route = (
    name: string,
    handle: (request: ApiRequest<Caller>) => Promise<object | Answer>,
  ): BoundRoute<Caller> => ({
    method: 'GET',
    path: `/v1/reports/${name}`,
    access: 'server',
    // A report is nearly all waiting: for its turn, and for the database.
    handle: (request) => request.aside(() => deps.countTurns.run(request.caller.appId, () => handle(request))),
  });
  return [
    route('revenue', (request) => getRevenue(deps, request)),
    route('engagement', (request) => getEngagement(deps, request)),
    route('devices', async ({ caller, query, header }) => {
      const asked = readReportQuery(rangeQuery, timeZones, query);
      const periods = await reportDevices(sql, { appId: caller.appId, ...asked });
      return wantsCsv(header('accept')) ? devicesAsCsv(periods) : presentDevices(asked, periods);
    }),
    route('events', async ({ caller, query, header }) => {
      const asked = readReportQuery(rangeQuery, timeZones, query);
      const periods = await reportEvents(sql, { appId: caller.appId, ...asked });
      return wantsCsv(header('accept')) ? eventsAsCsv(periods) : presentEvents(asked, periods);
    }),
  ];
}

async function getRevenue(
  deps: ReportRouteDeps,
  { caller, query, header }: ApiRequest<Caller>,
): Promise<object | Answer> {
  const { appId } = caller;
  const asked = readReportQuery(revenueQuery, deps.timeZones, query);
  const { range, zone, group, limit, cursor } = asked;
  const { window_hours: windowHours = null, message_id: message = null, segment_id: segmentId = null } = asked;
  const scope = [appId, '/v1/reports/revenue', range, zone, group, windowHours, message, segmentId];
  const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
  const after = position && {
    directAmount: String(position[0]),
    messageId: String(position[1]) as Uuid,
    currency: String(position[2]),
  };
  const revenueDeps = { sql: deps.countSql, clock: deps.clock, retentionDays: deps.retentionDays };
  await checkAskedWindow(revenueDeps, { appId, range, windowHours });
  const messageId = message === null ? null : decodeId('msg', message);
  const segment = segmentId === null ? null : await findFilter(deps.sql, appId, segmentId);
  if (messageId === undefined) throw noSuch('message', message ?? '');
  const report = await reportRevenue(revenueDeps, {
    ...{ appId, range, zone, group, windowHours, messageId, segment },
    ...{ after: after ?? null, limit: limit + 1 },
  });
  const nextCursor = (last: MessageRevenue): string =>
    deps.cursors.write([last.directAmount, last.messageId, last.currency], scope);
  return wantsCsv(header('accept'))
    ? revenueAsCsv(asked, report, nextCursor)
    : presentRevenue(asked, report, nextCursor);
}

async function findFilter(sql: Sql, appId: Uuid, segmentId: string) {
  const paths = { audience: [], exclude: [] };
  const resolved = await resolveAudience(sql, appId, { segment_id: segmentId }, null, paths);
  if (!('filter' in resolved)) throw new Error('a segment has a filter');
  return resolved.filter;
}

async function getEngagement(
  deps: ReportRouteDeps,
  { caller, query, header }: ApiRequest<Caller>,
): Promise<object | Answer> {
  const { appId } = caller;
  const asked = readReportQuery(engagementQuery, deps.timeZones, query);
  const { range, zone, group, limit, cursor } = asked;
  const scope = [appId, '/v1/reports/engagement', range, zone, group];
  const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
  const after = position ? { startedAt: String(position[0]), messageId: String(position[1]) as Uuid } : null;
  const report = await reportEngagement(
    { sql: deps.countSql, clock: deps.clock },
    { appId, range, zone, group, after, limit: limit + 1 },
  );
  const nextCursor = (last: { startedAtText: string; messageId: Uuid }): string =>
    deps.cursors.write([last.startedAtText, last.messageId], scope);
  return wantsCsv(header('accept'))
    ? engagementAsCsv(asked, report, nextCursor)
    : presentEngagement(asked, report, nextCursor);
}
