// SQL of the audit log. Only one statement writes, and it only adds rows.
import type { Clock } from '../database/clock.ts';
import { asJson, type Sql, type Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Actor } from './actor.ts';
import type { AuditEntry, AuditFields } from './entry.ts';

/** The table of the log, which outlives the apps that it tells of. */
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
      ${before === null ? null : asJson(tx, before)}, ${after === null ? null : asJson(tx, after)})`;
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
}

/** The entries that the filter selects, newest first. */
export async function listEntries(
  sql: Sql,
  { appId, from, to, beforeId, limit }: EntryFilter,
): Promise<readonly AuditEntry[]> {
  return sql<AuditEntry[]>`
    SELECT app_id, id, at, actor_kind, actor_id, actor_name, address, action, target, before, after
    FROM audit_entries
    WHERE true ${appId === null ? sql`` : sql`AND app_id = ${appId}`}
      ${from === null ? sql`` : sql`AND at >= ${from}`} ${to === null ? sql`` : sql`AND at < ${to}`}
      ${beforeId === null ? sql`` : sql`AND id < ${beforeId}`}
    ORDER BY id DESC LIMIT ${limit}`;
}

/**
 * The entries of an organisation and of all its apps, newest first. An app that was deleted still
 * says whose it was, until its row is cleared.
 */
export async function listOrganisationEntries(
  sql: Sql,
  { organisationId, from, to, beforeId, limit }: Omit<EntryFilter, 'appId'> & { readonly organisationId: Uuid },
): Promise<readonly AuditEntry[]> {
  return sql<AuditEntry[]>`
    SELECT app_id, id, at, actor_kind, actor_id, actor_name, address, action, target, before, after
    FROM audit_entries
    WHERE (org_id = ${organisationId} OR app_id IN (SELECT id FROM apps WHERE org_id = ${organisationId}))
      ${from === null ? sql`` : sql`AND at >= ${from}`} ${to === null ? sql`` : sql`AND at < ${to}`}
      ${beforeId === null ? sql`` : sql`AND id < ${beforeId}`}
    ORDER BY id DESC LIMIT ${limit}`;
}
