// The area Messages: the list with its search. One message, its deliveries and its cancel are
// routes of /v1.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { noSuch } from '../../ground/http/api-error.ts';
import { pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, type Route } from '../../ground/http/route.ts';
import { component, exampleOf, lastPage, segmentId } from '../../ground/http/schemas.ts';
import { decodeId, encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import { explainRoutes } from '../../insight/explain/routes.ts';
import { filterNode } from '../../people/segments/routes.ts';
import { meaningOf } from '../../sending/delivery/code-meaning.ts';
import { deliveryPage } from '../../sending/messages/delivery-routes.ts';
import { localTimePasts } from '../../sending/messages/local-time.ts';
import { messageStatuses } from '../../sending/messages/message.ts';
import { message, presentListed, type presentMessage } from '../../sending/messages/present-message.ts';
import { messagePage, readRoutes } from '../../sending/messages/routes.ts';
import { clickLook, findMessageTerms, hasClick, listMessages } from '../../sending/messages/stored-queries.ts';
import { routesOfApp } from './area.ts';
import type { AppCaller } from './caller.ts';
import { explainCounts, explainDelivery, explainedDelivery, failures } from './explained-delivery.ts';
import { hideable } from './hide-values.ts';
import { lendRoutes } from './lent-route.ts';
import { searchField } from './schemas.ts';

const shownAudience = component(
  'ShownAudience',
  z
    .strictObject({
      all: z.literal(true).optional(),
      device_ids: z.array(z.string()).optional(),
      external_ids: hideable('messages.audience.external_ids', z.array(z.string())),
      segment_id: z.string().optional(),
      filter: filterNode.optional(),
    })
    .describe('As it was sent. Empty where only `external_ids` would stand and the role does not see them.'),
);
const toldMessage = component(
  'MessageWithFailures',
  message.extend({
    audience: shownAudience,
    exclude_segment_id: segmentId.nullable().describe('The segment that the message leaves out.'),
    per_second: z.int().nullable().describe('Pushes a second, at most; null: no bound.'),
    local_send_at: z.string().nullable().describe("The `send_at` that holds on each person's clock, as written."),
    local_time_past: z.enum(localTimePasts).nullable(),
    failures,
  }),
  {
    ...exampleOf(message),
    audience: { all: true },
    exclude_segment_id: null,
    per_second: null,
    local_send_at: null,
    local_time_past: null,
    failures: [{ code: 'unregistered', count: 1, ...meaningOf('unregistered') }],
  },
);
const toldDeliveries = component('ExplainedDeliveryPage', deliveryPage.extend({ data: z.array(explainedDelivery) }), {
  message_id: exampleOf(message).id,
  status: 'sent',
  report: exampleOf(message).report,
  data: [exampleOf(explainedDelivery)],
  ...lastPage,
});

const batchesLookedAt = clickLook.batches.toLocaleString('en-US');

const route = routesOfApp('Messages', { least: 'viewer' });

export const messageAreaRoutes = [
  route('listMessages', 'GET /messages', {
    summary: 'List messages, newest first',
    query: z.strictObject({
      ...pageQuery(200),
      status: z.enum(messageStatuses).optional(),
      q: searchField.describe('An id, or the beginning of a name.').optional(),
    }),
    answers: ok('A page of messages, without audience and content.', messagePage),
  }).handle(async ({ sql, cursors }, { caller: { app }, query: { limit, cursor, status = null, q = null } }) => {
    const scope = [app.id, 'console messages', status, q];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { createdAt: String(position[0]), id: String(position[1]) } : null;
    const rows = await listMessages(sql, app.id, status, after, limit + 1, q);
    return toPage(rows, limit, presentListed, (last) => cursors.write([last.createdAtText, last.id], scope));
  }),
  route('getFirstClick', 'GET /first-click', {
    summary: 'Whether a click is found on the newest or the oldest messages',
    description: `Looks at the newest ${clickLook.messagesPerEnd} messages that were started, then at the oldest ${clickLook.messagesPerEnd}: at ${clickLook.batchesPerMessage} batches of a message at most, and at ${batchesLookedAt} in all. A click elsewhere is not found.`,
    answers: ok(
      'Whether a click was found there.',
      component('FirstClick', z.strictObject({ seen: z.boolean() }), { seen: true }),
    ),
  }).handle(async ({ sql }, { caller: { app } }) => ({ seen: await hasClick(sql, app.id) })),
  ...lendRoutes(readRoutes, { getMessage: 'viewer', cancelMessage: 'member' }).map((lent) =>
    tellMore(lent, toldMessage, async ({ error_counts, ...rest }: PresentedMessage, { sql }, appId) => ({
      ...rest,
      error_counts,
      ...(await readTerms(sql, appId, rest.id)),
      failures: explainCounts(error_counts),
    })),
  ),
  ...lendRoutes(readRoutes, { listDeliveries: 'viewer' }).map((lent) =>
    tellMore(lent, toldDeliveries, ({ data, ...rest }: DeliveryPage) => ({ ...rest, data: data.map(explainDelivery) })),
  ),
  ...lendRoutes(explainRoutes, { explain: 'member' }),
];

/** Reads the other fields that a duplicate of a message repeats, beside audience and content. */
async function readTerms(sql: Sql, appId: Uuid, id: string) {
  const terms = await findMessageTerms(sql, appId, decodeId('msg', id) ?? nilUuid);
  if (!terms) throw noSuch('message', id);
  return {
    exclude_segment_id: terms.excludeSegmentId === null ? null : encodeId('seg', terms.excludeSegmentId),
    per_second: terms.perSecond,
    local_send_at: terms.localSendAt,
    local_time_past: terms.localTimePast,
  };
}

type PresentedMessage = ReturnType<typeof presentMessage>;
type DeliveryPage = z.output<typeof deliveryPage>;

/** Adds the console's further fields to the answer of a route of /v1. */
function tellMore<Deps, Told extends object>(
  lent: Route<Deps, AppCaller>,
  schema: z.ZodType,
  add: (told: Told, deps: Deps, appId: Uuid) => object | Promise<object>,
): Route<Deps, AppCaller> {
  const [[status, answer] = []] = Object.entries(lent.answers);
  if (status !== '200' || !answer) throw new Error(`${lent.id} answers more than 200`);
  return {
    ...lent,
    answers: ok(answer.description, schema),
    answer: async (deps, request) => add((await lent.answer(deps, request)) as Told, deps, request.caller.app.id),
  };
}
