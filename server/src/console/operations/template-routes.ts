// The area Templates: content under a name from which messages start, with every saved version.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { namingMissing, noSuch, notFound, readId } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, idSchema, instant, pageComponent } from '../../ground/http/schemas.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { contentSchema } from '../../sending/content/content.ts';
import { createTemplate, removeTemplate, saveTemplate } from '../../sending/drafts/save-template.ts';
import {
  findTemplate,
  findVersion,
  type ListedTemplate,
  listTemplates,
  listVersions,
  type StoredTemplate,
  type TemplateVersion,
} from '../../sending/drafts/template-queries.ts';
import { routesOfApp } from './area.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { checkSeen, done, oneLine, seenAt } from './schemas.ts';

const number = z.int().min(1);
const content = { title: 'Sale', body: 'Now on' };
const by = { created_by: 'person anna@shop.example' };
const versions = [
  { version: 2, ...by, created_at: '2026-11-21T10:15:30.123Z' },
  { version: 1, ...by, created_at: '2026-11-20T10:15:30.123Z' },
];
const listedFields = {
  id: component('TemplateId', idSchema('tpl')),
  name: z.string(),
  version: number.describe('The newest version.'),
  title: z.string().nullable(),
  changed_by: z.string(),
  created_at: instant,
  updated_at: instant,
};
const listed = component('ListedTemplate', z.strictObject(listedFields), {
  id: 'tpl_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Weekly offer',
  version: 2,
  title: 'Sale',
  changed_by: 'person anna@shop.example',
  created_at: '2026-11-20T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
});
const versionFields = { version: number, created_by: z.string(), created_at: instant };
const storedContent = z.record(z.string(), z.unknown()).describe('Content as in POST /v1/messages.');
const template = component(
  'Template',
  z.strictObject({
    ...listedFields,
    content: storedContent,
    versions: z.array(z.strictObject(versionFields)).describe('Newest first.'),
  }),
  { ...exampleOf(listed), content, versions },
);
const versionSchema = component('TemplateVersion', z.strictObject({ ...versionFields, content: storedContent }), {
  version: 1,
  ...by,
  created_at: '2026-11-20T10:15:30.123Z',
  content,
});

const answers = ok('The template.', template);
const newTemplate = component('NewTemplate', z.strictObject({ name: oneLine, content: contentSchema }), {
  name: exampleOf(template).name,
  content,
});

const route = routesOfApp<'template'>('Templates', {
  least: 'member',
  params: { template: { description: 'The id of a template.', example: exampleOf(template).id } },
});

export const templateAreaRoutes = [
  route('listTemplates', 'GET /templates', {
    summary: 'List templates, newest first, without their content',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('A page of templates.', pageComponent('TemplatePage', listed)),
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
  route('createTemplate', 'POST /templates', {
    summary: 'Save content as a template',
    body: newTemplate,
    answers,
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, body }) =>
    present(sql, app.id, await createTemplate({ sql: txSql, clock, by }, app.id, body)),
  ),
  route('getTemplate', 'GET /templates/:template', {
    summary: 'Read a template with its newest content, and the list of its versions',
    answers,
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await findTemplate(sql, app.id, readId('template', params.template));
    if (!found) throw noSuch('template', params.template);
    return present(sql, app.id, found);
  }),
  route('getTemplateVersion', 'GET /templates/:template/versions/:version', {
    summary: 'Read one version of a template',
    params: { version: { description: 'Its number.', example: '1' } },
    answers: ok('The version.', versionSchema),
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
  route('saveTemplate', 'PUT /templates/:template', {
    summary: 'Save name and content; other content makes a version, and the newest 100 are kept',
    body: component('SavedTemplate', newTemplate.extend({ updated_at: seenAt }), {
      name: exampleOf(template).name,
      content,
      updated_at: exampleOf(template).updated_at,
    }),
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, params, body: { updated_at: seen, ...fields } }) => {
    const id = readId('template', params.template);
    const saved = saveTemplate({ sql: txSql, clock, by }, app.id, id, fields, (former) =>
      checkSeen(seen, former.updatedAt, () => ({ ...presentListed(former), content: former.content })),
    );
    return present(sql, app.id, await namingMissing('template', params.template, saved));
  }),
  route('deleteTemplate', 'DELETE /templates/:template', {
    summary: 'Delete a template with its versions; messages that started from it keep their content',
    answers: ok('Deleted.', done),
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
