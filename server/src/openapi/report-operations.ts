// Reports as the API's description tells them.
import { z } from 'zod';
import { component, count, instant, messageId, pageEnd } from '../platform/schemas.ts';
import { attributedNames } from '../reports/attribution.ts';
import { reportedNamesMax } from '../reports/events-report.ts';
import { groups } from '../reports/periods.ts';
import { engagementQuery, rangeQuery, revenueQuery } from '../reports/report-request.ts';
import type { Operation } from './operation-form.ts';

const amount = component(
  'Amount',
  z
    .string()
    .regex(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
    .describe('An exact decimal, without trailing zeros.'),
);
const range = { from: instant, to: instant };
const grouped = {
  tz: z.string().optional(),
  group: z.enum(groups).optional().describe('With `group`, as is `groups`.'),
};
const classSum = component('ClassSum', z.strictObject({ amount, purchases: count }));
const byClass = { direct: classSum, influenced: classSum, unattributed: classSum };
const revenueRow = component(
  'RevenueRow',
  z.strictObject({ currency: z.string(), total: amount, purchases: count, ...byClass }),
);
const classCount = component(
  'ClassCount',
  z.strictObject({ count, direct: count, influenced: count, unattributed: count }),
);
const countedNames = attributedNames.filter((name) => name !== 'purchase');
const revenueSums = {
  revenue: z.array(revenueRow).describe('By currency.'),
  events: z.record(z.enum(countedNames), classCount),
};
const messageRevenue = component(
  'MessageRevenue',
  z.strictObject({ message_id: messageId, currency: z.string(), direct: classSum, influenced: classSum }),
);
const unknownCounts = 'Left out for a segment over a range whose deliveries are not kept any more.';
const revenueReport = component(
  'RevenueReport',
  z.strictObject({
    ...range,
    window_hours: z.int(),
    ...grouped,
    revenue: revenueSums.revenue.optional().describe('Without `group`: by currency.'),
    events: revenueSums.events.optional().describe(`Without \`group\`. ${unknownCounts}`),
    groups: z
      .array(
        z.strictObject({ ...range, ...revenueSums, events: revenueSums.events.optional().describe(unknownCounts) }),
      )
      .optional(),
    messages: z.array(messageRevenue).describe('Of the whole range, highest direct amount first.'),
    ...pageEnd,
  }),
);

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
const engagementReport = component(
  'EngagementReport',
  z.strictObject({
    ...range,
    ...grouped,
    groups: z.array(z.strictObject({ ...range, ...funnel })).optional(),
    messages: z
      .array(
        component(
          'MessageEngagement',
          z.strictObject({ message_id: messageId, name: z.string().nullable(), started_at: instant, ...funnel }),
        ),
      )
      .describe('Those that began in the range, newest first.'),
    ...pageEnd,
  }),
);

const channelDevices = component(
  'ChannelDevices',
  z.strictObject({
    registered: count.describe('For the first time.'),
    active: count.describe('At the end.'),
    invalid: count.describe('How often a token was found dead.'),
    unsubscribed: count.describe('How often one opted out.'),
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
);

const exampleRange = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-03T00:00:00.000Z' };
const exampleId = 'msg_02y9GVDsTuJUi2BOoCH5G3';
const none = { amount: '0', purchases: 0 };
const tag = 'Reports';
const asCsv = 'With `Accept: text/csv` the same rows as CSV';

export const reportOperations: readonly Operation[] = [
  {
    id: 'reportRevenue',
    method: 'get',
    path: '/v1/reports/revenue',
    tag,
    summary: 'What purchases came to, and which messages they are credited to',
    description:
      'Direct: a push was clicked within the window before it. Influenced: a push was sent within the window and not clicked. ' +
      `Sums are exact and never converted. ${asCsv}, without \`events\`; a further page's cursor is in \`x-next-cursor\`.`,
    access: 'server',
    query: revenueQuery,
    answers: {
      200: {
        description: 'The report.',
        schema: revenueReport,
        example: {
          ...exampleRange,
          window_hours: 24,
          revenue: [
            {
              currency: 'EUR',
              total: '105',
              purchases: 3,
              direct: { amount: '100', purchases: 2 },
              influenced: { amount: '5', purchases: 1 },
              unattributed: none,
            },
          ],
          messages: [
            { message_id: exampleId, currency: 'EUR', direct: { amount: '100', purchases: 2 }, influenced: none },
          ],
          events: {
            install: { count: 12, direct: 3, influenced: 4, unattributed: 5 },
            session_start: { count: 90, direct: 20, influenced: 30, unattributed: 40 },
          },
          has_more: false,
          next_cursor: null,
        },
      },
    },
    refusals: [404],
  },
  {
    id: 'reportEngagement',
    method: 'get',
    path: '/v1/reports/engagement',
    tag,
    summary: 'What became of the messages that began in a range',
    description: `Purchases are those credited to a message, whenever they were made. ${asCsv}; a further page's cursor is in \`x-next-cursor\`.`,
    access: 'server',
    query: engagementQuery,
    answers: {
      200: {
        description: 'The report.',
        schema: engagementReport,
        example: {
          ...exampleRange,
          messages: [
            {
              message_id: exampleId,
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
              revenue: [{ currency: 'EUR', direct: { amount: '100', purchases: 2 }, influenced: none }],
            },
          ],
          has_more: false,
          next_cursor: null,
        },
      },
    },
  },
  {
    id: 'reportDevices',
    method: 'get',
    path: '/v1/reports/devices',
    tag,
    summary: 'How many devices registered, were active, died and opted out, by channel',
    description: `${asCsv}.`,
    access: 'server',
    query: rangeQuery,
    answers: {
      200: {
        description: 'The report.',
        schema: deviceReport,
        example: {
          ...exampleRange,
          devices: {
            webpush: { registered: 12, active: 340, invalid: 2, unsubscribed: 1 },
            apns: { registered: 0, active: 0, invalid: 0, unsubscribed: 0 },
            fcm: { registered: 3, active: 41, invalid: 0, unsubscribed: 0 },
          },
        },
      },
    },
  },
  {
    id: 'reportEvents',
    method: 'get',
    path: '/v1/reports/events',
    tag,
    summary: 'How many events of each name there were',
    description: `Of more than ${reportedNamesMax} names, those with the most events in the range. ${asCsv}.`,
    access: 'server',
    query: rangeQuery,
    answers: {
      200: {
        description: 'The report.',
        schema: eventReport,
        example: { ...exampleRange, events: { page_view: { count: 420 }, purchase: { count: 3 } } },
      },
    },
  },
];
