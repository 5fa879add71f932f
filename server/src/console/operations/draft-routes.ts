// The area Drafts: messages that people of an app prepare together, saved while they type.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { changedMeanwhile, namingMissing, noSuch, readId } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, pageComponent } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { draft, draftId, draftMessage, draftName, listedDraft } from '../../sending/drafts/draft.ts';
import { findDraft, type ListedDraft, listDrafts, type StoredDraft } from '../../sending/drafts/queries.ts';
import { createDraft, removeDraft, replaceDraft } from '../../sending/drafts/save-draft.ts';
import { routesOfApp } from './area.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { checkSeen, done, seenAt } from './schemas.ts';

const answers = ok('The draft.', draft);
const { id, name, message, updated_at } = exampleOf(draft);
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
  { name, message },
);
const savedDraft = component('SavedDraft', z.strictObject({ ...draftFields, updated_at: seenAt }), {
  name,
  message,
  updated_at,
});

const route = routesOfApp<'draft'>('Drafts', {
  least: 'member',
  params: { draft: { description: 'The id of a draft.', example: id } },
});

export const draftAreaRoutes = [
  route('listDrafts', 'GET /drafts', {
    summary: 'List drafts, newest first, without their messages',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('A page of drafts.', pageComponent('DraftPage', listedDraft)),
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
  route('createDraft', 'POST /drafts', {
    summary: 'Make a draft',
    body: newDraft,
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, body }) => {
    const { id, unanswered, ...fields } = body;
    const refuse = (now: StoredDraft): never => {
      throw changedMeanwhile(present(now));
    };
    const chosen = id === undefined ? undefined : { id: readId('draft', id), unanswered, refuse };
    return present(await createDraft({ sql: txSql, clock, by }, app.id, fields, chosen));
  }),
  route('getDraft', 'GET /drafts/:draft', {
    summary: 'Read a draft with its message',
    answers,
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await findDraft(sql, app.id, readId('draft', params.draft));
    if (!found) throw noSuch('draft', params.draft);
    return present(found);
  }),
  route('saveDraft', 'PUT /drafts/:draft', {
    summary: 'Save a draft',
    body: savedDraft,
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, params, body }) => {
    const { updated_at: seen, unanswered, ...fields } = body;
    const id = readId('draft', params.draft);
    const saved = replaceDraft({ sql: txSql, clock, by }, app.id, id, fields, (former) => {
      if (unanswered !== undefined && isDeepStrictEqual(unanswered, former.message)) return;
      checkSeen(seen, former.updatedAt, () => present(former));
    });
    return present(await namingMissing('draft', params.draft, saved));
  }),
  route('deleteDraft', 'DELETE /drafts/:draft', {
    summary: 'Delete a draft',
    answers: ok('Deleted.', done),
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
