// GET /v1/reports/engagement, as JSON or CSV (contract 5.21).
import { z } from 'zod';
import type { Cursors } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, instant, messageId, pageEnd } from '../../ground/http/schemas.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { wantsCsv } from './csv.ts';
import { reportEngagement } from './engagement.ts';
import { periodsOf } from './periods.ts';
import { engagementAsCsv, presentEngagement } from './present.ts';
import {
  asCsv,
  classSum,
  emptySum,
  exampleRange,
  exampleSum,
  grouped,
  inCountTurn,
  type ReportDeps,
  range,
  readerOf,
} from './report-fields.ts';
import { engagementQuery, reportQuery } from './report-request.ts';

export interface EngagementRouteDeps extends ReportDeps {
  readonly cursors: Cursors;
}

const funnel = {
  accepted: count,
  sent: count,
  failed: count,
  skipped: count,
  displayed: count,
  clicked: count,
  dismissed: count,
  purchases: count.describe('Credited to it, direct or influenced.'),
  revenue: z.array(
    component('CreditedRevenue', z.strictObject({ currency: z.string(), direct: classSum, influenced: classSum })),
  ),
};
export const messageEngagement = component(
  'MessageEngagement',
  z.strictObject({ message_id: messageId, name: z.string().nullable(), started_at: instant, ...funnel }),
);
export const engagementReport = component(
  'EngagementReport',
  z.strictObject({
    ...range,
    ...grouped,
    groups: z.array(z.strictObject({ ...range, ...funnel })).optional(),
    messages: z.array(messageEngagement).describe('Messages that began in the range, newest first.'),
    ...pageEnd,
  }),
  {
    ...exampleRange,
    messages: [
      {
        message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        name: 'autumn sale',
        started_at: '2026-11-01T10:00:00.000Z',
        accepted: 3,
        sent: 2,
        failed: 1,
        skipped: 0,
        displayed: 2,
        clicked: 1,
        dismissed: 0,
        purchases: 2,
        revenue: [{ currency: 'EUR', direct: exampleSum, influenced: emptySum }],
      },
    ],
    has_more: false,
    next_cursor: null,
  },
);

const route = routesWith<EngagementRouteDeps, Caller>({ tag: 'Reports', access: 'server' });

export const engagementRoutes = [
  route('reportEngagement', 'GET /v1/reports/engagement', {
    summary: 'The outcomes of the messages that began in a range',
    description: `Purchases are those credited to a message, whenever they were made. ${asCsv}; a further page's cursor is in \`x-next-cursor\`.`,
    ...reportQuery(engagementQuery),
    answers: ok('The report.', engagementReport),
    within: inCountTurn,
  }).handle(async (deps, { caller: { appId }, query: asked, header, gone }) => {
    const { clock, cursors } = deps;
    const { range, zone, group, limit, cursor } = asked;
    const scope = [appId, '/v1/reports/engagement', range, zone, group];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { startedAt: String(position[0]), messageId: String(position[1]) } : null;
    const page = { appId, range, periods: periodsOf(range, group, zone), after, limit: limit + 1 };
    const report = await reportEngagement({ ...readerOf(deps, gone), clock }, page);
    const nextCursor = (last: { startedAtText: string; messageId: Uuid }): string =>
      cursors.write([last.startedAtText, last.messageId], scope);
    const ids = report.messages.map((row) => row.messageId);
    const names = await deps.namesOf?.(appId, [...new Set(ids)]);
    return (wantsCsv(header('accept')) ? engagementAsCsv : presentEngagement)(asked, report, nextCursor, names);
  }),
];
