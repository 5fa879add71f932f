// Makes, saves and deletes templates: content under a name. A save of other content makes a
// version. Versions never change; the newest hundred stay readable until the template is deleted.
import { isDeepStrictEqual } from 'node:util';
import { type Tx, transaction } from '@carillon/postgres';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { describeActor } from '../../teams/audit/actor.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import type { Content } from '../content/content.ts';
import { lockDrafts } from './queries.ts';
import type { DraftDeps } from './save-draft.ts';
import {
  countTemplates,
  deleteTemplate,
  deleteVersions,
  deleteVersionsTo,
  findTemplate,
  findTemplateIdByName,
  insertTemplate,
  insertVersion,
  type StoredTemplate,
  updateTemplate,
} from './template-queries.ts';

/** Templates of an app at most: a guess with room for years of work. */
export const templatesMax = 500;
/**
 * Versions of a template that are kept: a guess, with which an app's templates stay below about a
 * gigabyte.
 */
export const versionsKept = 100;

export interface TemplateFields {
  readonly name: string;
  readonly content: Content;
}

const nameTaken: Issue = { path: ['name'], code: 'name_taken', message: 'Another template of this app has this name.' };

/** Throws the 400 for a name that is taken, and for too many templates. */
export async function createTemplate(
  deps: DraftDeps,
  appId: Uuid,
  { name, content }: TemplateFields,
): Promise<StoredTemplate> {
  const { sql, clock, by } = deps;
  return transaction(sql, async (tx) => {
    await lockDrafts(tx, appId);
    if ((await countTemplates(tx, appId)) >= templatesMax) {
      throw invalid([{ path: [], code: 'too_big', message: `An app has at most ${templatesMax} templates.` }]);
    }
    if (await findTemplateIdByName(tx, appId, name)) throw invalid([nameTaken]);
    const id = mintUuid(clock.nowMs());
    await insertTemplate(tx, clock, appId, id, name);
    await insertVersion(tx, clock, appId, id, { version: 1, content, createdBy: describeActor(by) });
    const target = encodeId('tpl', id);
    await recordAudit({ ...deps, tx }, { appId, action: 'template.create', target, after: { name, version: 1 } });
    return getTemplate(tx, appId, id);
  });
}

/**
 * Saves name and content. `checkSeen` throws for a state that the writer has not seen. Throws the
 * 404 before, and then the 400s of `createTemplate`.
 */
export async function saveTemplate(
  deps: DraftDeps,
  appId: Uuid,
  id: Uuid,
  { name, content }: TemplateFields,
  checkSeen: (present: StoredTemplate) => void,
): Promise<StoredTemplate> {
  const { sql, clock, by } = deps;
  return transaction(sql, async (tx) => {
    await lockDrafts(tx, appId);
    const former = await getTemplate(tx, appId, id);
    checkSeen(former);
    const holder = await findTemplateIdByName(tx, appId, name);
    if (holder !== undefined && holder !== id) throw invalid([nameTaken]);
    // The comparison goes through JSON, where an absent member equals an undefined one.
    const isChanged = !isDeepStrictEqual(JSON.parse(JSON.stringify(content)), former.content);
    if (!isChanged && name === former.name) return former;
    const version = former.version + (isChanged ? 1 : 0);
    if (isChanged) {
      await insertVersion(tx, clock, appId, id, { version, content, createdBy: describeActor(by) });
      await deleteVersionsTo(tx, appId, id, version - versionsKept);
    }
    await updateTemplate(tx, clock, appId, id, { name, version });
    const target = encodeId('tpl', id);
    const before = { name: former.name, version: former.version };
    await recordAudit({ ...deps, tx }, { appId, action: 'template.save', target, before, after: { name, version } });
    return getTemplate(tx, appId, id);
  });
}

/** Deletes a template with its versions. Throws the 404. */
export async function removeTemplate(deps: DraftDeps, appId: Uuid, id: Uuid): Promise<void> {
  await transaction(deps.sql, async (tx) => {
    await lockDrafts(tx, appId);
    const { name, version } = await getTemplate(tx, appId, id);
    await deleteVersions(tx, appId, id);
    await deleteTemplate(tx, appId, id);
    const target = encodeId('tpl', id);
    await recordAudit({ ...deps, tx }, { appId, action: 'template.delete', target, before: { name, version } });
  });
}

async function getTemplate(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredTemplate> {
  const found = await findTemplate(tx, appId, id);
  if (!found) throw notFound();
  return found;
}
