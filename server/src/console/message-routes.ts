// The area Messages: the list with its search; one message, its deliveries and its cancel are lent
// by /v1.
import { z } from 'zod';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import type { Teller } from '../database/teller.ts';
import type { AnswerForms } from '../delivery/answer-forms.ts';
import { explainRoutes } from '../explain/routes.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { messageStatuses } from '../messages/message.ts';
import { presentMessage } from '../messages/present-message.ts';
import { exampleListed, messagePage, readRoutes } from '../messages/routes.ts';
import { listMessages } from '../messages/stored-queries.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { appParam, searchField } from './schemas.ts';

export interface MessageAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly teller: Pick<Teller, 'tell'>;
  readonly cursors: Cursors;
  readonly forms: AnswerForms;
}

const route = routesWith<MessageAreaDeps, AppCaller>('Messages');

export const messageAreaRoutes = [
  route({
    id: 'listMessages',
    method: 'GET',
    path: '/console/api/apps/:app/messages',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'List messages, newest first',
    params: appParam,
    query: z.strictObject({
      ...pageQuery(200),
      status: z.enum(messageStatuses).optional(),
      q: searchField.describe('An id, or the beginning of a name.').optional(),
    }),
    answers: {
      200: {
        description: 'A page of messages, without audience and content.',
        schema: messagePage,
        example: { data: [{ ...exampleListed, title: 'Sale' }], has_more: false, next_cursor: null },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query: { limit, cursor, status = null, q = null } }) => {
    const scope = [app.id, 'console messages', status, q];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { createdAt: String(position[0]), id: String(position[1]) } : null;
    const rows = await listMessages(sql, app.id, status, after, limit + 1, q);
    return toPage(
      rows,
      limit,
      (row) => {
        const { audience: _audience, content: _content, ...item } = presentMessage(row);
        return { ...item, title: row.title };
      },
      (last) => cursors.write([last.createdAtText, last.id], scope),
    );
  }),
  ...lendRoutes<MessageAreaDeps>(readRoutes, {
    getMessage: 'viewer',
    listDeliveries: 'viewer',
    cancelMessage: 'member',
  }),
  ...lendRoutes(explainRoutes, { explain: 'member' }),
];
