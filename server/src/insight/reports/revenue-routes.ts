// GET /v1/reports/revenue, as JSON or CSV (contract 5.21).

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { noSuch } from '../../ground/http/api-error.ts';
import type { Cursors } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, messageId, pageEnd } from '../../ground/http/schemas.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import { resolveAudience } from '../../people/segments/resolve-audience.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { wantsCsv } from './csv.ts';
import { periodsOf } from './periods.ts';
import { countedNames, presentRevenue, revenueAsCsv } from './present.ts';
import type { MessageRevenue } from './queries.ts';
import {
  amount,
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
import { reportQuery, revenueQuery } from './report-request.ts';
import { checkAskedWindow, reportRevenue } from './revenue.ts';

export interface RevenueRouteDeps extends ReportDeps {
  readonly cursors: Cursors;
  readonly retentionDays: number;
}

const revenueRow = component(
  'RevenueRow',
  z.strictObject({
    currency: z.string(),
    total: amount,
    purchases: count,
    direct: classSum,
    influenced: classSum,
    unattributed: classSum,
    open: classSum.describe(
      'The part of the total whose windows are open, to the quarter of an hour: its classes may still change.',
    ),
  }),
);
const classCount = component(
  'ClassCount',
  z.strictObject({ count, direct: count, influenced: count, unattributed: count }),
);
const revenue = z.array(revenueRow);
const events = z.record(z.enum(countedNames), classCount).optional();
const unknownCounts = 'Left out for a segment over a range whose deliveries are not kept any more.';
export const messageRevenue = component(
  'MessageRevenue',
  z.strictObject({ message_id: messageId, currency: z.string(), direct: classSum, influenced: classSum }),
);
export const revenueReport = component(
  'RevenueReport',
  z.strictObject({
    ...range,
    window_hours: z.int(),
    ...grouped,
    revenue: revenue.optional().describe('Without `group`: by currency.'),
    events: events.describe(`Without \`group\`. ${unknownCounts}`),
    groups: z
      .array(
        z.strictObject({ ...range, revenue: revenue.describe('By currency.'), events: events.describe(unknownCounts) }),
      )
      .optional(),
    messages: z
      .array(messageRevenue)
      .describe('The messages of the whole range. The highest direct amount comes first.'),
    ...pageEnd,
  }),
  {
    ...exampleRange,
    window_hours: 24,
    revenue: [
      {
        currency: 'EUR',
        total: '105',
        purchases: 3,
        direct: exampleSum,
        influenced: { amount: '5', purchases: 1 },
        unattributed: emptySum,
        open: emptySum,
      },
    ],
    messages: [{ message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3', currency: 'EUR', direct: exampleSum, influenced: emptySum }],
    events: {
      install: { count: 12, direct: 3, influenced: 4, unattributed: 5 },
      session_start: { count: 90, direct: 20, influenced: 30, unattributed: 40 },
    },
    has_more: false,
    next_cursor: null,
  },
);

const route = routesWith<RevenueRouteDeps, Caller>({ tag: 'Reports', access: 'server' });

export const revenueRoutes = [
  route('reportRevenue', 'GET /v1/reports/revenue', {
    summary: 'The revenue of purchases, and the messages that it is credited to',
    description:
      'Direct: a push was clicked within the window before it. Influenced: a push was sent within the window and not clicked. ' +
      `Sums are exact and never converted. ${asCsv}, without \`events\`; a further page's cursor is in \`x-next-cursor\`.`,
    ...reportQuery(revenueQuery),
    answers: ok('The report.', revenueReport),
    refusals: ['not_found'],
    within: inCountTurn,
  }).handle(async (deps, { caller: { appId }, query: asked, header, gone }) => {
    const { range, zone, group, limit, cursor } = asked;
    const { window_hours: windowHours = null, message_id: message = null, segment_id: segmentId = null } = asked;
    const scope = [appId, '/v1/reports/revenue', range, zone, group, windowHours, message, segmentId];
    const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
    const after = position && {
      directAmount: String(position[0]),
      messageId: String(position[1]),
      currency: String(position[2]),
    };
    const revenueDeps = { ...readerOf(deps, gone), clock: deps.clock, retentionDays: deps.retentionDays };
    await checkAskedWindow(revenueDeps, { appId, range, windowHours });
    const messageId = message === null ? null : decodeId('msg', message);
    const segment = segmentId === null ? null : await findFilter(deps.sql, appId, segmentId);
    if (messageId === undefined) throw noSuch('message', message ?? '');
    const report = await reportRevenue(revenueDeps, {
      appId,
      range,
      periods: periodsOf(range, group, zone),
      windowHours,
      messageId,
      segment,
      after: after ?? null,
      limit: limit + 1,
    });
    const nextCursor = (last: MessageRevenue): string =>
      deps.cursors.write([last.directAmount, last.messageId, last.currency], scope);
    const ids = report.messages.map((row) => row.messageId);
    const names = await deps.namesOf?.(appId, [...new Set(ids)]);
    return (wantsCsv(header('accept')) ? revenueAsCsv : presentRevenue)(asked, report, nextCursor, names);
  }),
];

async function findFilter(sql: Sql, appId: Uuid, segmentId: string) {
  const paths = { audience: [], exclude: [] };
  const resolved = await resolveAudience(sql, appId, { segment_id: segmentId }, null, paths);
  if (!('filter' in resolved)) throw new Error('a segment has a filter');
  return resolved.filter;
}
