// GET /v1/messages, one message, its cancel; POST /v1/messages and the deliveries of one have files
// of their own.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { noSuch, readId } from '../../ground/http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { exampleOf, pageComponent } from '../../ground/http/schemas.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { type CancelDeps, cancelMessage } from './cancel-message.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { messageStatuses } from './message.ts';
import { listedMessage, message, presentListed, presentMessage } from './present-message.ts';
import { sendRoutes } from './send-routes.ts';
import { findMessage, listMessages } from './stored-queries.ts';

export interface MessageRouteDeps extends Pick<CancelDeps, 'teller' | 'clock'> {
  readonly sql: Sql;
  /** For short transactions. */
  readonly txSql: Sql;
  readonly cursors: Cursors;
}

export const messagePage = pageComponent('MessagePage', listedMessage);

const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };

const route = routesWith<MessageRouteDeps, Caller, 'id'>({
  tag: 'Messages',
  access: 'server',
  params: { id: { description: 'The id of a message.', example: exampleOf(message).id } },
});

/** The routes that read messages, and their cancel. */
export const readRoutes = [
  route('listMessages', 'GET /v1/messages', {
    summary: 'List messages, newest first',
    query: z.strictObject({
      ...pageQuery(200),
      status: z.enum(messageStatuses).optional(),
    }),
    answers: ok('A page of messages, without audience and content.', messagePage),
  }).handle(async ({ sql, cursors }, { caller, query: { limit, cursor, status = null } }) => {
    const scope = [caller.appId, '/v1/messages', status];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { createdAt: String(position[0]), id: String(position[1]) } : null;
    const rows = await listMessages(sql, caller.appId, status, after, limit + 1);
    return toPage(rows, limit, presentListed, (last) => cursors.write([last.createdAtText, last.id], scope));
  }),
  route('getMessage', 'GET /v1/messages/:id', {
    summary: 'Read a message with its present numbers',
    answers: ok('The message.', message),
  }).handle(async ({ sql }, { caller, params }) => {
    return getMessage(sql, caller.appId, params.id);
  }),
  route('cancelMessage', 'POST /v1/messages/:id/cancel', {
    summary: 'Cancel a message that is scheduled or being sent',
    description:
      'Takes no body. A scheduled message will not run. Of a message that is being sent, deliveries that have not begun or wait for a retry are skipped as `canceled` and refunded; pushes on the wire end and are recorded. Canceling again changes nothing. A message that was sent or has failed is 400 `not_cancelable`.',
    answers: ok('The canceled message; `report` has `pending` while its deliveries are being ended.', message, {
      example: {
        ...exampleOf(message),
        status: 'canceled',
        run_at: '2026-11-21T12:00:00.000Z',
        started_at: null,
        expires_at: null,
        report: none,
        by_channel: { webpush: none, apns: none, fcm: none },
        error_counts: {},
        engagement: { displayed: 0, clicked: 0, dismissed: 0 },
      },
    }),
  }).handle(async ({ sql, txSql, clock, teller }, { caller, params }) => {
    const id = readId('message', params.id);
    await cancelMessage({ sql: txSql, clock, teller, by: caller.by }, caller.appId, id);
    return getMessage(sql, caller.appId, params.id);
  }),
  ...deliveryRoutes,
];

export const messageRoutes = [...sendRoutes, ...readRoutes];

async function getMessage(sql: Sql, appId: Uuid, given: string) {
  const found = await findMessage(sql, appId, readId('message', given));
  if (!found) throw noSuch('message', given);
  return presentMessage(found);
}
