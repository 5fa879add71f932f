// SQL: apps, their keys and their provider credentials.
import type { ChannelId } from '../channels/channel.ts';
import { type Clock, nowOf } from '../database/clock.ts';
import type { Fragment, Sql, Tx } from '../database/db.ts';
import type { MintedToken } from '../ground/checked-token.ts';
import type { Uuid } from '../ground/ids.ts';
import type { ClientEvents, KeyScope } from './caller.ts';

export interface App {
  readonly id: Uuid;
  /** The organisation that it belongs to. */
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

/** The organisation of apps that the command line makes, and of apps from before there were any. */
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
  return tx<App[]>`SELECT ${appColumns(tx)} FROM apps WHERE deleted_at IS NULL ORDER BY created_at, id`;
}

/** Lists the apps of an organisation, oldest first. */
export async function listAppsOf(tx: Tx, organisationId: Uuid): Promise<App[]> {
  return tx<App[]>`
    SELECT ${appColumns(tx)} FROM apps
    WHERE org_id = ${organisationId} AND deleted_at IS NULL ORDER BY created_at, id`;
}

export async function findApp(tx: Tx, id: Uuid): Promise<App | undefined> {
  const [app] = await tx<App[]>`SELECT ${appColumns(tx)} FROM apps WHERE id = ${id} AND deleted_at IS NULL`;
  return app;
}

/**
 * Returns those of these apps with a channel that rings nobody: one of `sandboxed`, one of Apple's
 * sandbox, which reaches builds from Xcode only, or the project of Carillon's own sandbox.
 */
export async function listTestApps(
  sql: Sql,
  ids: readonly Uuid[],
  sandboxed: readonly ChannelId[],
): Promise<ReadonlySet<Uuid>> {
  const rows = await sql<{ appId: Uuid }[]>`
    SELECT DISTINCT app_id FROM credentials
    WHERE app_id = ANY(${ids as Uuid[]}::uuid[]) AND replaced_at IS NULL AND (channel = ANY(${sandboxed as string[]}::text[])
      OR (channel = 'apns' AND public ->> 'environment' = 'sandbox')
      OR (channel = 'fcm' AND public ->> 'projectId' LIKE '%sandbox%'))`;
  return new Set(rows.map(({ appId }) => appId));
}

/** Returns those of these apps that are not deleted. */
export async function listLivingApps(sql: Sql, ids: readonly Uuid[]): Promise<Set<Uuid>> {
  const rows = await sql<{ id: Uuid }[]>`
    SELECT id FROM apps WHERE id = ANY(${ids as Uuid[]}::uuid[]) AND deleted_at IS NULL`;
  return new Set(rows.map(({ id }) => id));
}

/** Finds every app with this name. */
export async function findAppsByName(tx: Tx, name: string): Promise<App[]> {
  return tx<App[]>`
    SELECT ${appColumns(tx)} FROM apps WHERE name = ${name} AND deleted_at IS NULL ORDER BY created_at`;
}

/** Marks an app as deleted, and as suspended, which ends its sends and holds its webhooks. */
export async function markAppDeleted(tx: Tx, clock: Clock, id: Uuid): Promise<void> {
  await tx`
    UPDATE apps SET deleted_at = ${clock.now}, suspended_at = coalesce(suspended_at, ${clock.now}) WHERE id = ${id}`;
}

/** Counts what an app has that people know of. */
export async function countRowsOf(sql: Sql, id: Uuid): Promise<{ devices: number; users: number; messages: number }> {
  const [row] = await sql<{ devices: number; users: number; messages: number }[]>`
    SELECT (SELECT count(*) FROM devices WHERE app_id = ${id}) AS devices,
      (SELECT count(*) FROM users WHERE app_id = ${id}) AS users,
      (SELECT count(*) FROM messages WHERE app_id = ${id}) AS messages`;
  return row ?? { devices: 0, users: 0, messages: 0 };
}

/** Records that people edited the app, for those who edit an older state of it. */
export async function touchApp(tx: Tx, clock: Clock, id: Uuid): Promise<void> {
  await tx`UPDATE apps SET updated_at = ${nowOf(tx, clock)} WHERE id = ${id}`;
}

export async function updateAppName(tx: Tx, id: Uuid, name: string): Promise<void> {
  await tx`UPDATE apps SET name = ${name} WHERE id = ${id}`;
}

/** Sets the url of web pushes without one; null: they have none. */
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
  const [row] = await tx<ClientEvents[]>`
    SELECT client_new_names AS new_names, client_purchases AS purchases, deleted_names FROM apps WHERE id = ${id}`;
  return row;
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
  const rows = await tx<{ plan: string }[]>`SELECT DISTINCT plan FROM apps ORDER BY plan`;
  return rows.map((row) => row.plan);
}

export interface KeyRecord {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly scope: KeyScope;
  readonly name: string;
  readonly start: string;
  readonly last4: string;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface KeyWithApp extends ClientEvents {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly name: string;
  readonly scope: KeyScope;
  readonly plan: string;
  readonly isSuspended: boolean;
  readonly expiresAt: Date | null;
}

export async function insertKey(
  tx: Tx,
  key: { appId: Uuid; id: Uuid; scope: KeyScope; name: string; createdBy: string; minted: MintedToken },
): Promise<void> {
  const { appId, id, scope, name, createdBy, minted } = key;
  await tx`
    INSERT INTO keys (app_id, id, scope, name, hash, start, last4, created_by)
    VALUES (${appId}, ${id}, ${scope}, ${name}, ${minted.hash}, ${minted.start}, ${minted.last4}, ${createdBy})`;
}

/**
 * Stores a client key that ends with a session of the console. Deletes the session's former key of
 * the app, and keys of sessions that have expired.
 */
export async function insertSessionKey(
  tx: Tx,
  clock: Clock,
  key: {
    appId: Uuid;
    id: Uuid;
    createdBy: string;
    minted: MintedToken;
    sessionId: Uuid;
    sessionEndsAt: Date;
    hours: number;
  },
): Promise<Date> {
  const { appId, id, createdBy, minted, sessionId, sessionEndsAt, hours } = key;
  await tx`
    DELETE FROM keys
    WHERE app_id = ${appId} AND session_id IS NOT NULL AND (session_id = ${sessionId} OR expires_at < ${clock.now})`;
  const [row] = await tx<{ expiresAt: Date }[]>`
    INSERT INTO keys (app_id, id, scope, name, hash, start, last4, created_by, session_id, expires_at)
    VALUES (${appId}, ${id}, 'client', 'Own browser', ${minted.hash}, ${minted.start}, ${minted.last4}, ${createdBy},
      ${sessionId}, least(${nowOf(tx, clock)} + ${hours} * interval '1 hour', ${sessionEndsAt}))
    RETURNING expires_at`;
  if (!row) throw new Error('the key was not stored');
  return row.expiresAt;
}

/** Finds an active key by its hash. Revoked and expired keys are not found. */
export async function findKeyByHash(sql: Sql, clock: Clock, hash: Buffer): Promise<KeyWithApp | undefined> {
  const [key] = await sql<KeyWithApp[]>`
    SELECT k.app_id, k.id, k.name, k.scope, a.plan, a.suspended_at IS NOT NULL AS is_suspended, k.expires_at,
      a.client_new_names AS new_names, a.client_purchases AS purchases, a.deleted_names
    FROM keys k JOIN apps a ON a.id = k.app_id AND a.deleted_at IS NULL
    WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${clock.now})
      AND (k.session_id IS NULL OR EXISTS (SELECT FROM account_sessions s WHERE s.id = k.session_id))`;
  return key;
}

/** Finds one key by its id in any app, for the command line. */
export async function findKey(tx: Tx, id: Uuid): Promise<KeyRecord | undefined> {
  const [key] = await tx<KeyRecord[]>`
    SELECT app_id, id, scope, name, start, last4, created_at, created_by, last_used_at, expires_at, revoked_at
    FROM keys WHERE id = ${id}`;
  return key;
}

/** Lists the keys of an app, oldest first, without those of the console's sessions. */
export async function listKeys(tx: Tx, appId: Uuid): Promise<KeyRecord[]> {
  return tx<KeyRecord[]>`
    SELECT app_id, id, scope, name, start, last4, created_at, created_by, last_used_at, expires_at, revoked_at
    FROM keys WHERE app_id = ${appId} AND session_id IS NULL ORDER BY created_at, id`;
}

/**
 * Locks an app's row until the transaction ends, so that concurrent transactions cannot exceed a
 * maximum number together.
 */
export async function lockApp(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT 1 FROM apps WHERE id = ${appId} FOR UPDATE`;
}

/**
 * Counts the active keys of a scope. When the caller holds the lock on the app's row, racing
 * creations count each other.
 */
export async function countActiveKeys(tx: Tx, clock: Clock, appId: Uuid, scope: KeyScope): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*) AS count FROM keys
    WHERE app_id = ${appId} AND scope = ${scope} AND revoked_at IS NULL AND session_id IS NULL
      AND (expires_at IS NULL OR expires_at > ${clock.now})`;
  return row?.count ?? 0;
}

/** Revokes a key now. A second call keeps the first instant. */
export async function revokeKey(tx: Tx, clock: Clock, appId: Uuid, id: Uuid): Promise<void> {
  await tx`
    UPDATE keys SET revoked_at = coalesce(revoked_at, ${clock.now}) WHERE app_id = ${appId} AND id = ${id}`;
}

/** Makes a key expire after some hours, unless it ends earlier already. */
export async function expireKey(tx: Tx, clock: Clock, appId: Uuid, id: Uuid, hours: number): Promise<void> {
  await tx`
    UPDATE keys SET expires_at = least(expires_at, ${clock.now} + ${hours} * interval '1 hour')
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Records that a key was used; callers do so at most once a minute. */
export async function updateKeyLastUsed(sql: Sql, clock: Clock, appId: Uuid, id: Uuid): Promise<void> {
  await sql`UPDATE keys SET last_used_at = ${clock.now} WHERE app_id = ${appId} AND id = ${id}`;
}

export interface CredentialRecord {
  readonly id: number;
  /** The id of a channel. The code of this room names no channel. */
  readonly channel: string;
  readonly public: Record<string, unknown>;
  readonly secret: string;
  readonly state: 'ok' | 'suspect' | 'failing';
  readonly suspectSince: Date | null;
  readonly lastSuccessAt: Date | null;
  readonly lastError: Record<string, unknown> | null;
  readonly lastErrorAt: Date | null;
  readonly createdAt: Date;
  readonly replacedAt: Date | null;
}

/**
 * Takes the next credential number of an app. The app's row stays locked until the transaction
 * ends.
 */
export async function takeCredentialId(tx: Tx, appId: Uuid): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    UPDATE apps SET next_credential_id = next_credential_id + 1 WHERE id = ${appId}
    RETURNING next_credential_id - 1 AS id`;
  if (!row) throw new Error('the app does not exist');
  return row.id;
}

/**
 * Replaces the current credential of a channel, if there is one. Devices that registered with it
 * keep its number.
 */
export async function replaceCurrentCredential(tx: Tx, clock: Clock, appId: Uuid, channel: string): Promise<void> {
  await tx`
    UPDATE credentials SET replaced_at = ${clock.now}
    WHERE app_id = ${appId} AND channel = ${channel} AND replaced_at IS NULL`;
}

export async function insertCredential(
  tx: Tx,
  credential: { appId: Uuid; id: number; channel: string; public: Record<string, unknown>; secret: string },
): Promise<void> {
  const { appId, id, channel, secret } = credential;
  await tx`
    INSERT INTO credentials (app_id, id, channel, public, secret)
    VALUES (${appId}, ${id}, ${channel}, ${tx.json(credential.public as never)}, ${secret})`;
}

/** Adds a credential that is not current, so that it is used only for devices bound to it. */
export async function insertFormerCredential(
  tx: Tx,
  clock: Clock,
  credential: { appId: Uuid; id: number; channel: string; public: Record<string, unknown>; secret: string },
): Promise<void> {
  const { appId, id, channel, secret } = credential;
  await tx`
    INSERT INTO credentials (app_id, id, channel, public, secret, replaced_at)
    VALUES (${appId}, ${id}, ${channel}, ${tx.json(credential.public as never)}, ${secret}, ${clock.now})`;
}

/**
 * Lists every credential that an app ever had, newest first; senders need former VAPID keys too.
 */
export async function listCredentials(tx: Tx, appId: Uuid): Promise<CredentialRecord[]> {
  return tx<CredentialRecord[]>`
    SELECT id, channel, public, secret, state, suspect_since, last_success_at, last_error, last_error_at, created_at, replaced_at
    FROM credentials WHERE app_id = ${appId} ORDER BY id DESC`;
}

/**
 * Finds the credential to which new devices of a channel are bound; null when the channel is not
 * configured.
 */
export async function findCurrentCredentialId(tx: Tx, appId: Uuid, channel: string): Promise<number | null> {
  const [row] = await tx<{ id: number }[]>`
    SELECT id FROM credentials WHERE app_id = ${appId} AND channel = ${channel} AND replaced_at IS NULL`;
  return row?.id ?? null;
}

/** Lists the public parts of an app's current credentials, in the contract's order of channels. */
export async function listCurrentCredentials(
  tx: Tx,
  appId: Uuid,
): Promise<{ channel: ChannelId; public: Record<string, unknown> }[]> {
  return tx<{ channel: ChannelId; public: Record<string, unknown> }[]>`
    SELECT channel, public FROM credentials WHERE app_id = ${appId} AND replaced_at IS NULL
    ORDER BY array_position(ARRAY['webpush', 'apns', 'fcm'], channel::text)`;
}

/** Lists the channels for which an app has a current credential. */
export async function findConfiguredChannels(tx: Tx, appId: Uuid): Promise<Set<string>> {
  const rows = await tx<{ channel: string }[]>`
    SELECT channel FROM credentials WHERE app_id = ${appId} AND replaced_at IS NULL`;
  return new Set(rows.map((row) => row.channel));
}

export interface CredentialHour {
  readonly refused: number;
  readonly suspicious: number;
  readonly everSucceeded: boolean;
  readonly succeededWithinHour: boolean;
  readonly state: CredentialRecord['state'];
}

/**
 * Adds refusals to the credential's minute and returns the last hour, including them. Locks no
 * credential. `isWell` means that the credential cannot become suspect for some minutes, because it
 * succeeded within the last 55 minutes.
 */
export async function addCredentialRefusals(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  counts: { credentialId: number; refused: number; suspicious: number },
): Promise<{ readonly suspicious: number; readonly isWell: boolean }> {
  const { credentialId, refused, suspicious } = counts;
  const [hour] = await sql<{ suspicious: number; isWell: boolean }[]>`
    WITH added AS (
      INSERT INTO credential_minutes (app_id, credential_id, minute, refused, suspicious)
      VALUES (${appId}, ${credentialId}, date_trunc('minute', ${clock.now}), ${refused}, ${suspicious})
      ON CONFLICT (app_id, credential_id, minute) DO UPDATE SET
        refused = credential_minutes.refused + excluded.refused,
        suspicious = credential_minutes.suspicious + excluded.suspicious
    ), before AS (
      SELECT coalesce(sum(suspicious), 0)::int AS suspicious FROM credential_minutes
      WHERE app_id = ${appId} AND credential_id = ${credentialId} AND minute > ${clock.now} - interval '1 hour'
    )
    SELECT before.suspicious + ${suspicious}::int AS suspicious,
      coalesce(c.state <> 'suspect' AND c.last_success_at > ${clock.now} - interval '55 minutes', false) AS is_well
    FROM before LEFT JOIN credentials c ON c.app_id = ${appId} AND c.id = ${credentialId}`;
  return hour ?? { suspicious, isWell: false };
}

/** Deletes counts that are older than any breaker reads. */
export async function deleteOldCredentialMinutes(sql: Sql, clock: Clock): Promise<void> {
  await sql`DELETE FROM credential_minutes WHERE minute < ${clock.now} - interval '1 day'`;
}

/** The largest attribution window of any app, in hours; 0 when there is no app. */
export async function findLargestAttributionWindowHours(sql: Sql): Promise<number> {
  const [row] = await sql<{ hours: number }[]>`SELECT coalesce(max(attribution_window_hours), 0) AS hours FROM apps`;
  return row?.hours ?? 0;
}

/** Lists the attribution window of every app, in hours. */
export async function listAttributionWindows(sql: Sql): Promise<{ id: Uuid; windowHours: number }[]> {
  return sql<{ id: Uuid; windowHours: number }[]>`
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

/**
 * Reads a credential's results of the last hour. Locks its row, so that two processes never judge
 * it at once.
 */
export async function getCredentialHour(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  credentialId: number,
): Promise<CredentialHour> {
  const [credential] = await tx<Pick<CredentialHour, 'everSucceeded' | 'succeededWithinHour' | 'state'>[]>`
    SELECT state, last_success_at IS NOT NULL AS ever_succeeded,
      coalesce(last_success_at > ${clock.now} - interval '1 hour', false) AS succeeded_within_hour
    FROM credentials WHERE app_id = ${appId} AND id = ${credentialId} FOR UPDATE`;
  const [hour] = await tx<{ refused: number; suspicious: number }[]>`
    SELECT coalesce(sum(refused), 0) AS refused, coalesce(sum(suspicious), 0) AS suspicious FROM credential_minutes
    WHERE app_id = ${appId} AND credential_id = ${credentialId} AND minute > ${clock.now} - interval '1 hour'`;
  return {
    refused: hour?.refused ?? 0,
    suspicious: hour?.suspicious ?? 0,
    everSucceeded: credential?.everSucceeded ?? false,
    succeededWithinHour: credential?.succeededWithinHour ?? false,
    state: credential?.state ?? 'ok',
  };
}

/**
 * Records a success, which ends every suspicion. Written at most once a minute for a credential,
 * unless it changes the state. Returns the state that it ended; undefined when the credential was
 * `ok` before.
 */
export async function markCredentialOk(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  credentialId: number,
): Promise<'suspect' | 'failing' | undefined> {
  const [row] = await tx<{ former: CredentialRecord['state'] }[]>`
    WITH before AS (
      SELECT state FROM credentials
      WHERE app_id = ${appId} AND id = ${credentialId}
        AND (state <> 'ok' OR last_success_at IS NULL OR last_success_at < ${clock.now} - interval '1 minute')
      FOR UPDATE
    )
    UPDATE credentials SET state = 'ok', suspect_since = NULL, last_success_at = ${clock.now}
    FROM before WHERE app_id = ${appId} AND id = ${credentialId}
    RETURNING before.state AS former`;
  return row === undefined || row.former === 'ok' ? undefined : row.former;
}

/** Returns whether the credential has ever had a success. */
export async function hasEverSucceeded(sql: Sql, appId: Uuid, credentialId: number): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM credentials WHERE app_id = ${appId} AND id = ${credentialId} AND last_success_at IS NOT NULL`;
  return rows.length === 1;
}

/** Marks a credential as suspect. Returns true when it was not suspect before. */
export async function markCredentialSuspect(tx: Tx, clock: Clock, appId: Uuid, credentialId: number): Promise<boolean> {
  const result = await tx`
    UPDATE credentials SET state = 'suspect', suspect_since = ${clock.now}
    WHERE app_id = ${appId} AND id = ${credentialId} AND state <> 'suspect'`;
  return result.count > 0;
}

/**
 * Stores the last refusal of a credential, for the operator. The same refusal is written again only
 * after ten seconds, because all senders write the same row. `auth_failed` also marks the
 * credential as failing; the result is true when it was `ok` before.
 */
export async function updateCredentialError(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  credentialId: number,
  error: { code: string; reason: string | null },
): Promise<boolean> {
  const { code, reason } = error;
  const [row] = await tx<{ isFailing: boolean }[]>`
    WITH before AS (
      SELECT state FROM credentials WHERE app_id = ${appId} AND id = ${credentialId} AND (last_error_at IS NULL
        OR last_error_at < ${clock.now} - interval '10 seconds' OR (last_error ->> 'code') IS DISTINCT FROM ${code}
        OR (last_error ->> 'reason') IS DISTINCT FROM ${reason} OR (${code} = 'auth_failed' AND state = 'ok'))
      FOR UPDATE
    )
    UPDATE credentials SET last_error = ${tx.json(error)}, last_error_at = ${clock.now},
      state = CASE WHEN ${code} = 'auth_failed' AND before.state = 'ok' THEN 'failing' ELSE before.state END
    FROM before WHERE app_id = ${appId} AND id = ${credentialId}
    RETURNING ${code} = 'auth_failed' AND before.state = 'ok' AS is_failing`;
  return row?.isFailing ?? false;
}
