// GET /v1/reports/devices and events, as JSON or CSV (contract 5.21); revenue and engagement have
// files of their own.
import { z } from 'zod';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count } from '../../ground/http/schemas.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { wantsCsv } from './csv.ts';
import { reportDevices } from './devices-report.ts';
import { engagementRoutes } from './engagement-routes.ts';
import { reportEvents, reportedNamesMax } from './events-report.ts';
import { periodsOf } from './periods.ts';
import { devicesAsCsv, eventsAsCsv, presentDevices, presentEvents } from './present.ts';
import { asCsv, exampleRange, grouped, inCountTurn, type ReportDeps, range, readerOf } from './report-fields.ts';
import { rangeQuery, reportQuery } from './report-request.ts';
import { revenueRoutes } from './revenue-routes.ts';

const channelDevices = component(
  'ChannelDevices',
  z.strictObject({
    registered: count.describe('Devices that registered for the first time.'),
    active: count.describe('At the end.'),
    invalid: count.describe('How often a token was found dead.'),
    unsubscribed: count.describe('How often a device opted out.'),
  }),
);
const devices = z.strictObject({ webpush: channelDevices, apns: channelDevices, fcm: channelDevices });
const deviceReport = component(
  'DeviceReport',
  z.strictObject({
    ...range,
    ...grouped,
    devices: devices.optional().describe('Without `group`.'),
    groups: z.array(z.strictObject({ ...range, devices })).optional(),
  }),
  {
    ...exampleRange,
    devices: {
      webpush: { registered: 12, active: 340, invalid: 2, unsubscribed: 1 },
      apns: { registered: 0, active: 0, invalid: 0, unsubscribed: 0 },
      fcm: { registered: 3, active: 41, invalid: 0, unsubscribed: 0 },
    },
  },
);

const eventCounts = z.record(z.string(), component('EventCount', z.strictObject({ count })));
const eventReport = component(
  'EventReport',
  z.strictObject({
    ...range,
    ...grouped,
    events: eventCounts.optional().describe('Without `group`: by name.'),
    groups: z.array(z.strictObject({ ...range, events: eventCounts })).optional(),
  }),
  { ...exampleRange, events: { page_view: { count: 420 }, purchase: { count: 3 } } },
);

const route = routesWith<ReportDeps, Caller>({ tag: 'Reports', access: 'server' });

export const reportRoutes = [
  ...revenueRoutes,
  ...engagementRoutes,
  route('reportDevices', 'GET /v1/reports/devices', {
    summary: 'How many devices registered, were active, died and opted out, by channel',
    description: `${asCsv}.`,
    ...reportQuery(rangeQuery),
    answers: ok('The report.', deviceReport),
    within: inCountTurn,
  }).handle(async (deps, { caller, query: asked, header, gone }) => {
    const { range, group, zone } = asked;
    const periods = await reportDevices(readerOf(deps, gone), {
      appId: caller.appId,
      range,
      periods: periodsOf(range, group, zone),
    });
    return wantsCsv(header('accept')) ? devicesAsCsv(periods) : presentDevices(asked, periods);
  }),
  route('reportEvents', 'GET /v1/reports/events', {
    summary: 'How many events of each name there were',
    description: `Of more than ${reportedNamesMax} names, those with the most events in the range. ${asCsv}.`,
    ...reportQuery(rangeQuery),
    answers: ok('The report.', eventReport),
    within: inCountTurn,
  }).handle(async (deps, { caller, query: asked, header, gone }) => {
    const periods = await reportEvents(readerOf(deps, gone), { appId: caller.appId, ...asked });
    return wantsCsv(header('accept')) ? eventsAsCsv(periods) : presentEvents(asked, periods);
  }),
];
