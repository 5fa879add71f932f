// The reports that the console takes from /v1, and the results of the messages of each day.

import { z } from 'zod';
import { ok, type Route } from '../../ground/http/route.ts';
import { component, count, exampleOf, instant } from '../../ground/http/schemas.ts';
import { reportEngagement } from '../../insight/reports/engagement.ts';
import { engagementReport, messageEngagement } from '../../insight/reports/engagement-routes.ts';
import { periodsOf } from '../../insight/reports/periods.ts';
import { readerOf } from '../../insight/reports/report-fields.ts';
import { rangeQuery, reportQuery } from '../../insight/reports/report-request.ts';
import { messageRevenue, revenueReport } from '../../insight/reports/revenue-routes.ts';
import { reportRoutes } from '../../insight/reports/routes.ts';
import { listMessageNames } from '../../sending/messages/stored-queries.ts';
import { type AreaDeps, inCountTurn, routesOfApp } from './area.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';

const day = component(
  'DayFigures',
  z.strictObject({
    from: instant,
    to: instant,
    accepted: count,
    sent: count,
    failed: count,
    skipped: count,
    displayed: count,
    clicked: count,
  }),
);

const names = {
  name: z.string().nullable(),
  title: z.string().nullable().describe('Not rendered. Null, like the name, for a message that is deleted.'),
};
const exampleNames = { name: 'autumn sale', title: 'Sale' };
const namedRevenue = component(
  'NamedRevenueReport',
  revenueReport.extend({ messages: z.array(messageRevenue.extend(names)) }),
  {
    ...exampleOf(revenueReport),
    messages: exampleOf(revenueReport).messages.map((row) => ({ ...row, ...exampleNames })),
  },
);
const namedEngagement = component(
  'NamedEngagementReport',
  engagementReport.extend({ messages: z.array(messageEngagement.extend(names)) }),
  {
    ...exampleOf(engagementReport),
    messages: exampleOf(engagementReport).messages.map((row) => ({ ...row, ...exampleNames })),
  },
);

/**
 * Names the messages of a report, as JSON and as CSV. Messages in the report of revenue may have
 * been sent before its range.
 */
const withNames =
  (schema: z.ZodType) =>
  (lent: Route<AreaDeps, AppCaller>): Route<AreaDeps, AppCaller> => ({
    ...lent,
    answers: ok(lent.answers[200]?.description ?? '', schema),
    answer: (deps, request) =>
      lent.answer({ ...deps, namesOf: (appId, ids) => listMessageNames(deps.sql, appId, ids) }, request),
  });

const ofReports = routesOfApp('Reports');

export const lentReportRoutes = [
  ...lendRoutes(reportRoutes, { reportRevenue: 'viewer' }).map(withNames(namedRevenue)),
  ...lendRoutes(reportRoutes, { reportEngagement: 'viewer' }).map(withNames(namedEngagement)),
  ...lendRoutes(reportRoutes, {
    reportDevices: 'viewer',
    reportEvents: 'viewer',
  }),
  ofReports('reportDelivery', 'GET /reports/delivery', {
    least: 'viewer',
    summary: 'The outcomes of messages by the day, week or month in which they began',
    ...reportQuery(rangeQuery),
    answers: ok(
      'The days of the range, oldest first.',
      component('DeliveryReport', z.strictObject({ days: z.array(day) }), {
        days: [
          {
            from: '2026-11-01T00:00:00.000Z',
            to: '2026-11-02T00:00:00.000Z',
            accepted: 3,
            sent: 2,
            failed: 1,
            skipped: 0,
            displayed: 2,
            clicked: 1,
          },
        ],
      }),
    ),
    within: inCountTurn,
  }).handle(async (deps, { caller: { app }, query: { range, zone, group }, gone }) => {
    const asked = { appId: app.id, range, periods: periodsOf(range, group ?? 'day', zone), after: null, limit: 1 };
    const { periods } = await reportEngagement({ ...readerOf(deps, gone), clock: deps.clock }, asked);
    const days = periods.map(({ fromMs, toMs, accepted, sent, failed, skipped, displayed, clicked }) => ({
      from: new Date(fromMs),
      to: new Date(toMs),
      accepted,
      sent,
      failed,
      skipped,
      displayed,
      clicked,
    }));
    return { days };
  }),
];
