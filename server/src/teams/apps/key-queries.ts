// SQL: the API keys of an app.

import { findRow, getValue, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { MintedToken } from '../../ground/secrets/checked-token.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ClientEvents, KeyScope } from './caller.ts';

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
  return getValue(tx`
    INSERT INTO keys (app_id, id, scope, name, hash, start, last4, created_by, session_id, expires_at)
    VALUES (${appId}, ${id}, 'client', 'Own browser', ${minted.hash}, ${minted.start}, ${minted.last4}, ${createdBy},
      ${sessionId}, least(${nowOf(tx, clock)} + ${hours} * interval '1 hour', ${sessionEndsAt}))
    RETURNING expires_at`);
}

/** Finds an active key by its hash. Revoked and expired keys are not found. */
export async function findKeyByHash(sql: Sql, clock: Clock, hash: Buffer): Promise<KeyWithApp | undefined> {
  return findRow(sql`
    SELECT k.app_id, k.id, k.name, k.scope, a.plan, a.suspended_at IS NOT NULL AS is_suspended, k.expires_at,
      a.client_new_names AS new_names, a.client_purchases AS purchases, a.deleted_names
    FROM keys k JOIN apps a ON a.id = k.app_id AND a.deleted_at IS NULL
    WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${clock.now})
      AND (k.session_id IS NULL OR EXISTS (SELECT FROM account_sessions s WHERE s.id = k.session_id))`);
}

/** Finds one key by its id in any app, for the command line. */
export async function findKey(tx: Tx, id: Uuid): Promise<KeyRecord | undefined> {
  return findRow(tx`
    SELECT app_id, id, scope, name, start, last4, created_at, created_by, last_used_at, expires_at, revoked_at
    FROM keys WHERE id = ${id}`);
}

/** Lists the keys of an app, oldest first, without those of the console's sessions. */
export async function listKeys(tx: Tx, appId: Uuid): Promise<KeyRecord[]> {
  return tx`
    SELECT app_id, id, scope, name, start, last4, created_at, created_by, last_used_at, expires_at, revoked_at
    FROM keys WHERE app_id = ${appId} AND session_id IS NULL ORDER BY created_at, id`;
}

/**
 * Counts the active keys of a scope. When the caller holds the lock on the app's row, racing
 * creations count each other.
 */
export async function countActiveKeys(tx: Tx, clock: Clock, appId: Uuid, scope: KeyScope): Promise<number> {
  return getValue(tx`
    SELECT count(*) AS count FROM keys
    WHERE app_id = ${appId} AND scope = ${scope} AND revoked_at IS NULL AND session_id IS NULL
      AND (expires_at IS NULL OR expires_at > ${clock.now})`);
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
