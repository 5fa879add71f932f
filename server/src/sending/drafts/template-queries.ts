// SQL: templates and their versions.

import { asJson, findRow, findValue, getValue, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface ListedTemplate {
  readonly id: Uuid;
  readonly name: string;
  readonly version: number;
  readonly title: string | null;
  readonly changedBy: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface StoredTemplate extends ListedTemplate {
  readonly content: unknown;
}

export interface TemplateVersion {
  readonly version: number;
  readonly createdBy: string;
  readonly createdAt: Date;
}

export async function countTemplates(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`SELECT count(*) AS count FROM templates WHERE app_id = ${appId}`);
}

/** Lists an app's templates with the title and the author of their newest versions. */
export async function listTemplates(sql: Sql, appId: Uuid): Promise<ListedTemplate[]> {
  return sql`
    SELECT t.id, t.name, t.version, left(v.content ->> 'title', 200) AS title, v.created_by AS changed_by,
      t.created_at, t.updated_at
    FROM templates t
    JOIN template_versions v ON v.app_id = t.app_id AND v.template_id = t.id AND v.version = t.version
    WHERE t.app_id = ${appId}`;
}

/** Finds a template with the content of its newest version. */
export async function findTemplate(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredTemplate | undefined> {
  return findRow(tx`
    SELECT t.id, t.name, t.version, left(v.content ->> 'title', 200) AS title, v.created_by AS changed_by, v.content,
      t.created_at, t.updated_at
    FROM templates t
    JOIN template_versions v ON v.app_id = t.app_id AND v.template_id = t.id AND v.version = t.version
    WHERE t.app_id = ${appId} AND t.id = ${id}`);
}

export async function findTemplateIdByName(tx: Tx, appId: Uuid, name: string): Promise<Uuid | undefined> {
  return findValue(tx`SELECT id FROM templates WHERE app_id = ${appId} AND name = ${name}`);
}

export async function insertTemplate(tx: Tx, clock: Clock, appId: Uuid, id: Uuid, name: string): Promise<void> {
  await tx`
    INSERT INTO templates (app_id, id, name, version, created_at, updated_at)
    VALUES (${appId}, ${id}, ${name}, 1, ${nowOf(tx, clock)}, ${nowOf(tx, clock)})`;
}

/** Renames a template and names its newest version. `updated_at` always grows. */
export async function updateTemplate(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { name, version }: { readonly name: string; readonly version: number },
): Promise<void> {
  await tx`
    UPDATE templates SET name = ${name}, version = ${version},
      updated_at = greatest(${nowOf(tx, clock)}, updated_at + interval '1 millisecond')
    WHERE app_id = ${appId} AND id = ${id}`;
}

export async function insertVersion(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { version, content, createdBy }: { readonly version: number; readonly content: unknown; readonly createdBy: string },
): Promise<void> {
  await tx`
    INSERT INTO template_versions (app_id, template_id, version, content, created_by, created_at)
    VALUES (${appId}, ${id}, ${version}, ${asJson(content)}, ${createdBy}, ${nowOf(tx, clock)})`;
}

/** Lists the versions of a template, newest first. */
export async function listVersions(sql: Sql, appId: Uuid, id: Uuid): Promise<TemplateVersion[]> {
  return sql`
    SELECT version, created_by, created_at FROM template_versions
    WHERE app_id = ${appId} AND template_id = ${id} ORDER BY version DESC`;
}

export async function findVersion(
  sql: Sql,
  appId: Uuid,
  id: Uuid,
  version: number,
): Promise<(TemplateVersion & { readonly content: unknown }) | undefined> {
  return findRow(sql`
    SELECT version, content, created_by, created_at FROM template_versions
    WHERE app_id = ${appId} AND template_id = ${id} AND version = ${version}`);
}

export async function deleteTemplate(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`DELETE FROM templates WHERE app_id = ${appId} AND id = ${id}`;
}

export async function deleteVersions(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`DELETE FROM template_versions WHERE app_id = ${appId} AND template_id = ${id}`;
}

/** Deletes the versions up to a number. */
export async function deleteVersionsTo(tx: Tx, appId: Uuid, id: Uuid, last: number): Promise<void> {
  await tx`DELETE FROM template_versions WHERE app_id = ${appId} AND template_id = ${id} AND version <= ${last}`;
}
