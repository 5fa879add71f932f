// The area Drafts: messages that people of an app prepare together, saved while they type.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { draft, draftId, draftMessage, draftName, listedDraft } from '../drafts/draft.ts';
import { findDraft, type ListedDraft, listDrafts, type StoredDraft } from '../drafts/queries.ts';
import { createDraft, removeDraft, replaceDraft } from '../drafts/save-draft.ts';
import { encodeId } from '../ground/ids.ts';
import { changedMeanwhile, namingMissing, noSuch, readId } from '../http/api-error.ts';
import type { Cursors } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, pageFields } from '../http/schemas.ts';
import type { AppCaller } from './caller.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { appParam, checkSeen, done, lastPage, seenAt } from './schemas.ts';

export interface DraftAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

const listedExample = {
  id: 'drf_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Autumn sale',
  title: 'Sale',
  changed_by: 'person anna@shop.example',
  created_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
};
const message = { audience: { all: true }, content: { title: 'Sale', body: 'Now on' } };
const example = { ...listedExample, message };
const answers = { 200: { description: 'The draft.', schema: draft, example } };
const params = { ...appParam, draft: { description: 'The id of a draft.', example: example.id } };
const draftFields = {
  name: draftName.default(''),
  message: draftMessage,
  unanswered: draftMessage
    .optional()
    .describe(
      "The message of this writer's save that got no answer. If the draft has this message now, the writer has seen it.",
    ),
};
const newDraft = component(
  'NewDraft',
  z.strictObject({
    ...draftFields,
    id: draftId
      .optional()
      .describe('An id that the writer chose at random, so that a request that is sent again makes one draft.'),
  }),
);
const savedDraft = component('SavedDraft', z.strictObject({ ...draftFields, updated_at: seenAt }));

const route = routesWith<DraftAreaDeps, AppCaller>('Drafts');

export const draftAreaRoutes = [
  route({
    id: 'listDrafts',
    method: 'GET',
    path: '/console/api/apps/:app/drafts',
    access: 'session-or-token',
    least: 'member',
    summary: 'List drafts, newest first, without their messages',
    params: appParam,
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: {
      200: {
        description: 'A page of drafts.',
        schema: component('DraftPage', z.strictObject(pageFields(listedDraft))),
        example: { data: [listedExample], ...lastPage },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query }) =>
    pageOf(cursors, await listDrafts(sql, app.id), query, {
      scope: ['drafts', app.id],
      // Browsers may choose ids, so ids do not show the order.
      keyOf: ({ createdAt, id }) => [createdAt.getTime(), id],
      isNewestFirst: true,
      idOf: ({ id }) => encodeId('drf', id),
      textsOf: ({ name, title }) => [name, title ?? ''],
      present: presentListed,
    }),
  ),
  route({
    id: 'createDraft',
    method: 'POST',
    path: '/console/api/apps/:app/drafts',
    access: 'session-or-token',
    least: 'member',
    summary: 'Make a draft',
    params: appParam,
    body: { schema: newDraft, example: { name: example.name, message } },
    answers,
    refusals: ['not_found', 'changed_meanwhile'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, body }) => {
    const { id, unanswered, ...fields } = body;
    const refuse = (now: StoredDraft): never => {
      throw changedMeanwhile(present(now));
    };
    const chosen = id === undefined ? undefined : { id: readId('draft', id), unanswered, refuse };
    return present(await createDraft({ sql: txSql, clock, by }, app.id, fields, chosen));
  }),
  route({
    id: 'getDraft',
    method: 'GET',
    path: '/console/api/apps/:app/drafts/:draft',
    access: 'session-or-token',
    least: 'member',
    summary: 'Read a draft with its message',
    params,
    answers,
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await findDraft(sql, app.id, readId('draft', params.draft));
    if (!found) throw noSuch('draft', params.draft);
    return present(found);
  }),
  route({
    id: 'saveDraft',
    method: 'PUT',
    path: '/console/api/apps/:app/drafts/:draft',
    access: 'session-or-token',
    least: 'member',
    summary: 'Save a draft',
    params,
    body: { schema: savedDraft, example: { name: example.name, message, updated_at: example.updated_at } },
    answers,
    refusals: ['not_found', 'changed_meanwhile'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, params, body }) => {
    const { updated_at: seen, unanswered, ...fields } = body;
    const id = readId('draft', params.draft);
    const saved = replaceDraft({ sql: txSql, clock, by }, app.id, id, fields, (former) => {
      if (unanswered !== undefined && isDeepStrictEqual(unanswered, former.message)) return;
      checkSeen(seen, former.updatedAt, () => present(former));
    });
    return present(await namingMissing('draft', params.draft, saved));
  }),
  route({
    id: 'deleteDraft',
    method: 'DELETE',
    path: '/console/api/apps/:app/drafts/:draft',
    access: 'session-or-token',
    least: 'member',
    summary: 'Delete a draft',
    params,
    answers: { 200: { description: 'Deleted.', schema: done, example: { done: true } } },
    refusals: ['not_found'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, params }) => {
    const id = readId('draft', params.draft);
    await namingMissing('draft', params.draft, removeDraft({ sql: txSql, clock, by }, app.id, id));
    return { done: true };
  }),
];

function presentListed({ id, name, title, changedBy, createdAt, updatedAt }: ListedDraft) {
  return {
    id: encodeId('drf', id),
    name,
    title,
    changed_by: changedBy,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

function present(stored: StoredDraft) {
  return { ...presentListed(stored), message: stored.message };
}
