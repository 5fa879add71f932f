// SQL: apps, their plans, rules and attribution windows.

import { type Fragment, findRow, getRow, getValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ClientEvents } from './caller.ts';

export interface App {
  readonly id: Uuid;
  /** The organisation of the app. */
  readonly organisationId: Uuid;
  readonly name: string;
  readonly plan: string;
  readonly defaultUrl: string | null;
  /** Hours before a purchase within which a message may be credited. */
  readonly attributionWindowHours: number;
  readonly suspendedAt: Date | null;
  readonly createdAt: Date;
  /** The last change of the fields that people edit. */
  readonly updatedAt: Date;
}

const appColumns = (tx: Tx): Fragment => tx`
  id, org_id AS organisation_id, name, plan, default_url, attribution_window_hours, suspended_at, created_at, updated_at`;

/**
 * The organisation of apps that the command line makes, and of apps from before organisations
 * existed.
 */
export const firstOrganisationId: Uuid = '01930000-0000-7000-8000-000000000001';

export async function insertApp(
  tx: Tx,
  app: { id: Uuid; name: string; plan: string; organisationId: Uuid },
): Promise<void> {
  const { id, name, plan, organisationId } = app;
  await tx`INSERT INTO apps (id, name, plan, org_id) VALUES (${id}, ${name}, ${plan}, ${organisationId})`;
}

/** Lists all apps, oldest first, for the operator's command line. */
export async function listApps(tx: Tx): Promise<App[]> {
  return tx`SELECT ${appColumns(tx)} FROM apps WHERE deleted_at IS NULL ORDER BY created_at, id`;
}

/** Lists the apps of an organisation, oldest first. */
export async function listAppsOf(tx: Tx, organisationId: Uuid): Promise<App[]> {
  return tx`
    SELECT ${appColumns(tx)} FROM apps
    WHERE org_id = ${organisationId} AND deleted_at IS NULL ORDER BY created_at, id`;
}

export async function findApp(tx: Tx, id: Uuid): Promise<App | undefined> {
  return findRow(tx`SELECT ${appColumns(tx)} FROM apps WHERE id = ${id} AND deleted_at IS NULL`);
}

/** Returns the apps among these that are not deleted. */
export async function listLivingApps(sql: Sql, ids: readonly Uuid[]): Promise<Set<Uuid>> {
  const living = await listValues<Uuid>(sql`
    SELECT id FROM apps WHERE id = ANY(${ids}::uuid[]) AND deleted_at IS NULL`);
  return new Set(living);
}

/** Finds every app with this name. */
export async function findAppsByName(tx: Tx, name: string): Promise<App[]> {
  return tx`
    SELECT ${appColumns(tx)} FROM apps WHERE name = ${name} AND deleted_at IS NULL ORDER BY created_at`;
}

/** Marks an app as deleted, and as suspended, which ends its sends and holds its webhooks. */
export async function markAppDeleted(tx: Tx, clock: Clock, id: Uuid): Promise<void> {
  await tx`
    UPDATE apps SET deleted_at = ${clock.now}, suspended_at = coalesce(suspended_at, ${clock.now}) WHERE id = ${id}`;
}

/** Counts the objects of an app that people know. */
export async function countRowsOf(sql: Sql, id: Uuid): Promise<{ devices: number; users: number; messages: number }> {
  return getRow(sql`
    SELECT (SELECT count(*) FROM devices WHERE app_id = ${id}) AS devices,
      (SELECT count(*) FROM users WHERE app_id = ${id}) AS users,
      (SELECT count(*) FROM messages WHERE app_id = ${id}) AS messages`);
}

/** Records that people edited the app, so that an edit of an older state is noticed. */
export async function touchApp(tx: Tx, clock: Clock, id: Uuid): Promise<void> {
  await tx`UPDATE apps SET updated_at = ${nowOf(tx, clock)} WHERE id = ${id}`;
}

export async function updateAppName(tx: Tx, id: Uuid, name: string): Promise<void> {
  await tx`UPDATE apps SET name = ${name} WHERE id = ${id}`;
}

/** Sets the url of web pushes that have none of their own; null: no url. */
export async function updateDefaultUrl(tx: Tx, id: Uuid, url: string | null): Promise<void> {
  await tx`UPDATE apps SET default_url = ${url} WHERE id = ${id}`;
}

export async function updateAppPlan(tx: Tx, id: Uuid, plan: string): Promise<void> {
  await tx`UPDATE apps SET plan = ${plan} WHERE id = ${id}`;
}

/** Suspends or resumes an app. A second suspension keeps the first instant. */
export async function updateAppSuspension(tx: Tx, clock: Clock, id: Uuid, isSuspended: boolean): Promise<void> {
  await tx`
    UPDATE apps SET suspended_at = ${isSuspended ? tx`coalesce(suspended_at, ${clock.now})` : tx`NULL`} WHERE id = ${id}`;
}

/** Finds the app's rules for events by client key. */
export async function findClientEvents(tx: Tx, id: Uuid): Promise<ClientEvents | undefined> {
  return findRow(tx`
    SELECT client_new_names AS new_names, client_purchases AS purchases, deleted_names FROM apps WHERE id = ${id}`);
}

export async function updateClientEvents(
  tx: Tx,
  id: Uuid,
  { newNames, purchases }: Pick<ClientEvents, 'newNames' | 'purchases'>,
): Promise<void> {
  await tx`UPDATE apps SET client_new_names = ${newNames}, client_purchases = ${purchases} WHERE id = ${id}`;
}

/**
 * Records that a name was deleted, so that every process forgets the app's names within two
 * seconds.
 */
export async function countDeletedName(tx: Tx, id: Uuid): Promise<void> {
  await tx`UPDATE apps SET deleted_names = deleted_names + 1 WHERE id = ${id}`;
}

/** Lists the plans in use. The start refuses a plans file that lacks one of them. */
export async function listPlansInUse(tx: Tx): Promise<string[]> {
  return listValues(tx`SELECT DISTINCT plan FROM apps ORDER BY plan`);
}

/**
 * Locks an app's row until the transaction ends, so that concurrent transactions cannot exceed a
 * maximum number together.
 */
export async function lockApp(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT 1 FROM apps WHERE id = ${appId} FOR UPDATE`;
}

/** The largest attribution window of any app, in hours; 0 when there is no app. */
export async function findLargestAttributionWindowHours(sql: Sql): Promise<number> {
  return getValue(sql`SELECT coalesce(max(attribution_window_hours), 0) AS hours FROM apps`);
}

/** Lists the attribution window of every app, in hours. */
export async function listAttributionWindows(sql: Sql): Promise<{ id: Uuid; windowHours: number }[]> {
  return sql`
    SELECT id, attribution_window_hours AS window_hours FROM apps ORDER BY id`;
}

/** The attribution window of this app, in hours. */
export async function getAttributionWindowHours(tx: Tx, appId: Uuid): Promise<number> {
  const [row] = await tx<{ hours: number }[]>`SELECT attribution_window_hours AS hours FROM apps WHERE id = ${appId}`;
  if (!row) throw new Error('the app does not exist');
  return row.hours;
}

/** Changes the attribution window for purchases that are not settled yet: 1 to 720 hours. */
export async function updateAttributionWindow(tx: Tx, appId: Uuid, hours: number): Promise<void> {
  await tx`UPDATE apps SET attribution_window_hours = ${hours} WHERE id = ${appId}`;
}
