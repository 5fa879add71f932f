// The area Reports, except for the routes of /v1: the overview's figures, deliverability, and the
// rebuild of stored results. The results of one message belong to the area Messages.

import { z } from 'zod';
import { invalid, noSuch, readId } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, exampleOf, instant } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import { instantField } from '../../ground/values/instant.ts';
import { timeZoneField } from '../../ground/values/time-zones.ts';
import { askForRebuild } from '../../insight/reports/asked-rebuild.ts';
import { type AskedRebuild, findRebuild } from '../../insight/reports/asked-rebuild-queries.ts';
import { wantsCsv } from '../../insight/reports/csv.ts';
import { reportDeliverability } from '../../insight/reports/deliverability.ts';
import { readMessageFigures, steps } from '../../insight/reports/message-figures.ts';
import { readOverview, spanNames } from '../../insight/reports/overview.ts';
import { periodsOf } from '../../insight/reports/periods.ts';
import {
  deliverabilityAsCsv,
  overviewAsCsv,
  presentDeliverability,
  presentMessageFigures,
  presentOverview,
} from '../../insight/reports/present-console.ts';
import { amount, asCsv, classSum, grouped, range, readerOf } from '../../insight/reports/report-fields.ts';
import { rangeQuery, reportQuery } from '../../insight/reports/report-request.ts';
import { channelIds } from '../../sending/channels/channel.ts';
import { errorCodes } from '../../sending/channels/error-code.ts';
import { vendors } from '../../sending/delivery/push-vendor.ts';
import { inCountTurn, routesOfApp } from './area.ts';

const figures = component(
  'OverviewFigures',
  z.strictObject({
    ...range,
    accepted: count.describe('Messages that began in the range; so are `sent`, `failed` and `clicked`.'),
    sent: count,
    failed: count,
    clicked: count,
    active_devices: count.describe('At the end.'),
    revenue: z.array(z.strictObject({ currency: z.string(), total: amount, direct: amount, influenced: amount })),
  }),
  {
    from: '2026-11-20T00:00:00.000Z',
    to: '2026-11-21T00:00:00.000Z',
    accepted: 120,
    sent: 118,
    failed: 2,
    clicked: 31,
    active_devices: 340,
    revenue: [{ currency: 'EUR', total: '105', direct: '100', influenced: '5' }],
  },
);
const overview = component(
  'Overview',
  z.strictObject({
    tz: z.string(),
    spans: z
      .array(z.strictObject({ name: z.enum(spanNames), now: figures, before: figures }))
      .describe('Yesterday is a whole day. The last 7 and 30 days end now. `before` is the same span, just before.'),
    days: z.array(figures).describe('The last 30 days, oldest first; today is not over.'),
  }),
  {
    tz: 'UTC',
    spans: [{ name: 'yesterday', now: exampleOf(figures), before: exampleOf(figures) }],
    days: [exampleOf(figures)],
  },
);

const service = component(
  'ServiceFigures',
  z.strictObject({
    channel: z.enum(channelIds),
    provider: z.enum(vendors).describe('The vendor of the push service.'),
    sent: count,
    failed: count,
    error_counts: z.partialRecord(z.enum(errorCodes), count),
    p50_ms: count
      .nullable()
      .describe('Milliseconds until the service took half of the pushes, counted in steps of 41 %.'),
    p95_ms: count.nullable(),
  }),
  {
    channel: 'webpush',
    provider: 'mozilla',
    sent: 118,
    failed: 2,
    error_counts: { unregistered: 2 },
    p50_ms: 84,
    p95_ms: 210,
  },
);
const exampleRange = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-03T00:00:00.000Z' };

const series = <Kind extends string>(kinds: readonly Kind[]) =>
  z.strictObject({
    step: z.enum(steps),
    points: z.array(
      z.strictObject({
        at: instant,
        ...(Object.fromEntries(kinds.map((kind) => [kind, count])) as Record<Kind, typeof count>),
      }),
    ),
  });
const marks = z.strictObject({ displayed: count, clicked: count, dismissed: count });
const moments = marks.extend({ sent: count, failed: count });
const noMoments = { sent: 0, failed: 0, displayed: 0, clicked: 0, dismissed: 0 };
const messageFigures = component(
  'MessageFigures',
  z.strictObject({
    accepted: count,
    read: count.describe(
      'Deliveries that the series were counted from. Below `accepted` they are every n-th batch, scaled to the exact totals.',
    ),
    outcomes: series(['sent', 'failed']),
    marks: series(['displayed', 'clicked', 'dismissed']).describe('The marks of the first week.'),
    later_marks: marks.describe('After the first week.'),
    by_channel: z.strictObject({ webpush: moments, apns: moments, fcm: moments }),
    purchases: count.describe('Credited to it, direct or influenced, whenever they were made.'),
    revenue: z.array(z.strictObject({ currency: z.string(), direct: classSum, influenced: classSum })),
  }),
  {
    accepted: 3,
    read: 3,
    outcomes: { step: 'minute', points: [{ at: '2026-11-21T10:15:00.000Z', sent: 2, failed: 1 }] },
    marks: {
      step: 'hour',
      points: [{ at: '2026-11-21T10:00:00.000Z', displayed: 2, clicked: 1, dismissed: 0 }],
    },
    later_marks: { displayed: 0, clicked: 0, dismissed: 0 },
    by_channel: {
      webpush: { sent: 2, failed: 1, displayed: 2, clicked: 1, dismissed: 0 },
      apns: noMoments,
      fcm: noMoments,
    },
    purchases: 2,
    revenue: [{ currency: 'EUR', direct: { amount: '100', purchases: 2 }, influenced: { amount: '0', purchases: 0 } }],
  },
);

const rebuild = component(
  'ReportRebuild',
  z.strictObject({
    status: z.enum(['waiting', 'running', 'done', 'failed']),
    asked_at: instant,
    from: instant.nullable().describe('Null: as far as there are events; as `to`.'),
    to: instant.nullable(),
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
    events: count.nullable().describe('Events that were summed up again.'),
    purchases: count.nullable().describe('Settled purchases that were classed again.'),
  }),
  {
    status: 'waiting',
    asked_at: '2026-11-21T10:15:30.123Z',
    from: null,
    to: null,
    started_at: null,
    finished_at: null,
    events: null,
    purchases: null,
  },
);

const route = routesOfApp('Reports');
const ofMessages = routesOfApp('Messages');

export const reportAreaRoutes = [
  route('getOverview', 'GET /overview', {
    least: 'viewer',
    summary: 'The figures of yesterday, 7 and 30 days, each beside the time before',
    description: `${asCsv}: the days.`,
    query: z.strictObject({ tz: z.string().default('UTC') }),
    readQuery: (given, { timeZones }) =>
      validate(z.strictObject({ tz: timeZoneField(timeZones).default('UTC') }), given),
    answers: ok('The figures.', overview),
    within: inCountTurn,
  }).handle(async (deps, { caller: { app }, query: { tz }, header, gone }) => {
    const { clock, retentionDays } = deps;
    const found = await readOverview({ ...readerOf(deps, gone), clock, retentionDays }, { appId: app.id, zone: tz });
    return wantsCsv(header('accept')) ? overviewAsCsv(found) : presentOverview(tz, found);
  }),
  route('reportDeliverability', 'GET /reports/deliverability', {
    least: 'viewer',
    summary: 'The answers of push services: outcomes and latency by channel and provider',
    description: `Counts the deliveries that ended in the range, in whole quarters of an hour. ${asCsv}.`,
    ...reportQuery(rangeQuery),
    answers: ok(
      'The report.',
      component(
        'DeliverabilityReport',
        z.strictObject({
          ...range,
          ...grouped,
          services: z.array(service).describe('The figures of the whole range.'),
          groups: z.array(z.strictObject({ ...range, services: z.array(service) })).optional(),
        }),
        { ...exampleRange, services: [exampleOf(service)] },
      ),
    ),
    within: inCountTurn,
  }).handle(async (deps, { caller: { app }, query: asked, header, gone }) => {
    const { range, zone, group } = asked;
    const report = await reportDeliverability(readerOf(deps, gone), {
      appId: app.id,
      range,
      periods: periodsOf(range, group, zone),
    });
    return wantsCsv(header('accept')) ? deliverabilityAsCsv(asked, report) : presentDeliverability(asked, report);
  }),
  route('getReportRebuild', 'GET /reports/rebuild', {
    least: 'viewer',
    summary: 'How the last rebuild of reports went',
    answers: ok(
      'The last rebuild; null when none was asked for here.',
      component('LastReportRebuild', z.strictObject({ rebuild: rebuild.nullable() }), { rebuild: exampleOf(rebuild) }),
    ),
  }).handle(async ({ sql }, { caller: { app } }) => {
    const found = await findRebuild(sql, app.id);
    return { rebuild: found ? presentRebuild(found) : null };
  }),
  route('rebuildReports', 'POST /reports/rebuild', {
    least: 'admin',
    summary: 'Compute sums and classes again, as far as events and deliveries are kept',
    description:
      'A worker does it, a day at a time; reports stay readable. While one waits or runs, the answer is that one.',
    body: component(
      'ReportRebuildRange',
      z.strictObject({ from: instantField.nullable().default(null), to: instantField.nullable().default(null) }),
      { from: null, to: null },
    ),
    answers: ok('The rebuild.', rebuild),
  }).handle(async ({ txSql: sql, clock }, { caller: { app, by }, body: { from, to } }) => {
    if (from !== null && to !== null && from.ms >= to.ms)
      throw invalid([{ path: ['to'], code: 'too_small', message: 'to must be later than from.' }]);
    const span = { fromAt: from === null ? null : new Date(from.ms), toAt: to === null ? null : new Date(to.ms) };
    const asked = await askForRebuild({ sql, clock, by }, app.id, span);
    if (!asked) throw new Error('a rebuild that was asked for is not stored');
    return presentRebuild(asked);
  }),
  ofMessages('getMessageFigures', 'GET /messages/:id/figures', {
    least: 'viewer',
    summary: 'The outcomes of a message over time and by channel, and its purchases',
    params: { id: { description: 'The id of a message.', example: 'msg_02y9GVDsTuJUi2BOoCH5G3' } },
    answers: ok('The figures.', messageFigures),
    within: inCountTurn,
  }).handle(async (deps, { caller: { app }, params, gone }) => {
    const id = readId('message', params.id);
    const found = await readMessageFigures({ ...readerOf(deps, gone), clock: deps.clock }, app.id, id);
    if (!found) throw noSuch('message', params.id);
    return presentMessageFigures(found);
  }),
];

function presentRebuild({ askedAt, fromAt, toAt, startedAt, finishedAt, failed, events, purchases }: AskedRebuild) {
  const ended = failed ? ('failed' as const) : ('done' as const);
  return {
    status: finishedAt ? ended : startedAt ? ('running' as const) : ('waiting' as const),
    asked_at: askedAt,
    from: fromAt,
    to: toAt,
    started_at: startedAt,
    finished_at: finishedAt,
    events,
    purchases,
  };
}
