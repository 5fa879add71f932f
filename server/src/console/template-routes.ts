// The area Templates: content under a name from which messages start, with every saved version.
import { z } from 'zod';
import { contentSchema } from '../content/content.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { createTemplate, removeTemplate, saveTemplate } from '../drafts/save-template.ts';
import {
  findTemplate,
  findVersion,
  type ListedTemplate,
  listTemplates,
  listVersions,
  type StoredTemplate,
  type TemplateVersion,
} from '../drafts/template-queries.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { namingMissing, noSuch, notFound, readId } from '../http/api-error.ts';
import type { Cursors } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, idSchema, instant, pageFields } from '../http/schemas.ts';
import type { AppCaller } from './caller.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { appParam, checkSeen, done, lastPage, oneLine, seenAt } from './schemas.ts';

export interface TemplateAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

const number = z.int().min(1);
const listedFields = {
  id: component('TemplateId', idSchema('tpl')),
  name: z.string(),
  version: number.describe('The newest version.'),
  title: z.string().nullable(),
  changed_by: z.string(),
  created_at: instant,
  updated_at: instant,
};
const listed = component('ListedTemplate', z.strictObject(listedFields));
const versionFields = { version: number, created_by: z.string(), created_at: instant };
const storedContent = z.record(z.string(), z.unknown()).describe('Content as in POST /v1/messages.');
const template = component(
  'Template',
  z.strictObject({
    ...listedFields,
    content: storedContent,
    versions: z.array(z.strictObject(versionFields)).describe('Newest first.'),
  }),
);
const versionSchema = component('TemplateVersion', z.strictObject({ ...versionFields, content: storedContent }));

const listedExample = {
  id: 'tpl_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Weekly offer',
  version: 2,
  title: 'Sale',
  changed_by: 'person anna@shop.example',
  created_at: '2026-11-20T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
};
const content = { title: 'Sale', body: 'Now on' };
const by = { created_by: 'person anna@shop.example' };
const versions = [
  { version: 2, ...by, created_at: '2026-11-21T10:15:30.123Z' },
  { version: 1, ...by, created_at: '2026-11-20T10:15:30.123Z' },
];
const example = { ...listedExample, content, versions };
const answers = { 200: { description: 'The template.', schema: template, example } };
const params = { ...appParam, template: { description: 'The id of a template.', example: example.id } };
const newTemplate = component('NewTemplate', z.strictObject({ name: oneLine, content: contentSchema }));

const route = routesWith<TemplateAreaDeps, AppCaller>('Templates');

export const templateAreaRoutes = [
  route({
    id: 'listTemplates',
    method: 'GET',
    path: '/console/api/apps/:app/templates',
    access: 'session-or-token',
    least: 'member',
    summary: 'List templates, newest first, without their content',
    params: appParam,
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: {
      200: {
        description: 'A page of templates.',
        schema: component('TemplatePage', z.strictObject(pageFields(listed))),
        example: { data: [listedExample], ...lastPage },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query }) =>
    pageOf(cursors, await listTemplates(sql, app.id), query, {
      scope: ['templates', app.id],
      keyOf: ({ id }) => [id],
      isNewestFirst: true,
      idOf: ({ id }) => encodeId('tpl', id),
      textsOf: ({ name }) => [name],
      present: presentListed,
    }),
  ),
  route({
    id: 'createTemplate',
    method: 'POST',
    path: '/console/api/apps/:app/templates',
    access: 'session-or-token',
    least: 'member',
    summary: 'Save content as a template',
    params: appParam,
    body: { schema: newTemplate, example: { name: example.name, content } },
    answers,
    refusals: ['not_found'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, body }) =>
    present(sql, app.id, await createTemplate({ sql: txSql, clock, by }, app.id, body)),
  ),
  route({
    id: 'getTemplate',
    method: 'GET',
    path: '/console/api/apps/:app/templates/:template',
    access: 'session-or-token',
    least: 'member',
    summary: 'Read a template with its newest content, and the list of its versions',
    params,
    answers,
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await findTemplate(sql, app.id, readId('template', params.template));
    if (!found) throw noSuch('template', params.template);
    return present(sql, app.id, found);
  }),
  route({
    id: 'getTemplateVersion',
    method: 'GET',
    path: '/console/api/apps/:app/templates/:template/versions/:version',
    access: 'session-or-token',
    least: 'member',
    summary: 'Read one version of a template',
    params: { ...params, version: { description: 'Its number.', example: '1' } },
    answers: {
      200: {
        description: 'The version.',
        schema: versionSchema,
        example: { version: 1, ...by, created_at: '2026-11-20T10:15:30.123Z', content },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const version = /^[1-9]\d{0,8}$/.test(params.version) ? Number(params.version) : 0;
    const id = readId('template', params.template);
    const found = await findVersion(sql, app.id, id, version);
    if (!found) {
      if (!(await findTemplate(sql, app.id, id))) throw noSuch('template', params.template);
      throw notFound(`Template ${params.template.slice(0, 80)} has no version ${params.version.slice(0, 20)}.`);
    }
    return { ...presentVersion(found), content: found.content as Record<string, unknown> };
  }),
  route({
    id: 'saveTemplate',
    method: 'PUT',
    path: '/console/api/apps/:app/templates/:template',
    access: 'session-or-token',
    least: 'member',
    summary: 'Save name and content; other content makes a version, and the newest 100 are kept',
    params,
    body: {
      schema: component('SavedTemplate', newTemplate.extend({ updated_at: seenAt })),
      example: { name: example.name, content, updated_at: example.updated_at },
    },
    answers,
    refusals: ['not_found', 'changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, params, body: { updated_at: seen, ...fields } }) => {
    const id = readId('template', params.template);
    const saved = saveTemplate({ sql: txSql, clock, by }, app.id, id, fields, (former) =>
      checkSeen(seen, former.updatedAt, () => ({ ...presentListed(former), content: former.content })),
    );
    return present(sql, app.id, await namingMissing('template', params.template, saved));
  }),
  route({
    id: 'deleteTemplate',
    method: 'DELETE',
    path: '/console/api/apps/:app/templates/:template',
    access: 'session-or-token',
    least: 'member',
    summary: 'Delete a template with its versions; messages that started from it keep their content',
    params,
    answers: { 200: { description: 'Deleted.', schema: done, example: { done: true } } },
    refusals: ['not_found'],
  }).handle(async ({ txSql, clock }, { caller: { app, by }, params }) => {
    const id = readId('template', params.template);
    await namingMissing('template', params.template, removeTemplate({ sql: txSql, clock, by }, app.id, id));
    return { done: true };
  }),
];

function presentListed({ id, name, version, title, changedBy, createdAt, updatedAt }: ListedTemplate) {
  return {
    id: encodeId('tpl', id),
    name,
    version,
    title,
    changed_by: changedBy,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

function presentVersion({ version, createdBy, createdAt }: TemplateVersion) {
  return { version, created_by: createdBy, created_at: createdAt };
}

async function present(sql: Sql, appId: Uuid, stored: StoredTemplate) {
  const versions = await listVersions(sql, appId, stored.id);
  return {
    ...presentListed(stored),
    content: stored.content as Record<string, unknown>,
    versions: versions.map(presentVersion),
  };
}
