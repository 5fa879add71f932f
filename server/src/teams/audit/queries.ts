// SQL of the audit log. Only one statement writes, and it only adds rows.

import { asJson, type Fragment, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Actor } from './actor.ts';
import type { AuditEntry, AuditFields } from './entry.ts';

/** The table of the log. Its rows outlive their apps. */
export const auditTable = 'audit_entries';

export async function insertEntry(
  tx: Tx,
  clock: Clock,
  entry: {
    appId: Uuid;
    orgId: Uuid | null;
    id: Uuid;
    by: Actor;
    action: string;
    target: string | null;
    before: AuditFields | null;
    after: AuditFields | null;
  },
): Promise<void> {
  const { appId, orgId, id, by, action, target, before, after } = entry;
  await tx`
    INSERT INTO audit_entries
      (app_id, org_id, id, at, actor_kind, actor_id, actor_name, address, action, target, before, after)
    VALUES (${appId}, ${orgId}, ${id}, ${clock.now}, ${by.kind}, ${by.id}, ${by.name}, ${by.address}, ${action}, ${target},
      ${before === null ? null : asJson(before)}, ${after === null ? null : asJson(after)})`;
}

/**
 * A selection of entries. `appId` null selects all apps and the whole service. Times are within
 * `[from, to)`, and `beforeId` continues a page.
 */
export interface EntryFilter {
  readonly appId: Uuid | null;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly beforeId: Uuid | null;
  readonly limit: number;
  /**
   * The id of an entry, an actor or a target exactly, or the beginning of an action, a target or an
   * actor's name, letter case ignored. Absent: all.
   */
  readonly search?: string | null;
}

/** The entries that the filter selects, newest first. */
export async function listEntries(
  sql: Sql,
  { appId, from, to, beforeId, limit, search = null }: EntryFilter,
): Promise<readonly AuditEntry[]> {
  return sql`
    SELECT app_id, id, at, actor_kind, actor_id, actor_name, address, action, target, before, after
    FROM audit_entries
    WHERE true ${appId === null ? sql`` : sql`AND app_id = ${appId}`}
      ${from === null ? sql`` : sql`AND at >= ${from}`} ${to === null ? sql`` : sql`AND at < ${to}`}
      ${beforeId === null ? sql`` : sql`AND id < ${beforeId}`} ${found(sql, search)}
    ORDER BY id DESC LIMIT ${limit}`;
}

/**
 * The entries of an organisation and of all its apps, newest first. An app that was deleted still
 * says whose it was, until its row is cleared.
 */
export async function listOrganisationEntries(
  sql: Sql,
  {
    organisationId,
    from,
    to,
    beforeId,
    limit,
    search = null,
  }: Omit<EntryFilter, 'appId'> & { readonly organisationId: Uuid },
): Promise<readonly AuditEntry[]> {
  return sql`
    SELECT app_id, id, at, actor_kind, actor_id, actor_name, address, action, target, before, after
    FROM audit_entries
    WHERE (org_id = ${organisationId} OR app_id IN (SELECT id FROM apps WHERE org_id = ${organisationId}))
      ${from === null ? sql`` : sql`AND at >= ${from}`} ${to === null ? sql`` : sql`AND at < ${to}`}
      ${beforeId === null ? sql`` : sql`AND id < ${beforeId}`} ${found(sql, search)}
    ORDER BY id DESC LIMIT ${limit}`;
}

function found(sql: Sql, search: string | null): Fragment {
  if (search === null) return sql``;
  const begins = (column: Fragment): Fragment => sql`starts_with(lower(${column}), lower(${search}::text))`;
  return sql`
    AND (id::text = ${search} OR actor_id = ${search} OR target = ${search}
      OR ${begins(sql`action`)} OR ${begins(sql`target`)} OR ${begins(sql`actor_name`)})`;
}
