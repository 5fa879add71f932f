// SQL: the provider credentials of an app, and what providers refused them.

import { findValue, getRow, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';

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
  return tx`
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
  return tx`
    SELECT channel, public FROM credentials WHERE app_id = ${appId} AND replaced_at IS NULL
    ORDER BY array_position(ARRAY['webpush', 'apns', 'fcm'], channel::text)`;
}

/** Lists the channels for which an app has a current credential. */
export async function findConfiguredChannels(tx: Tx, appId: Uuid): Promise<Set<string>> {
  const channels = await listValues<string>(tx`
    SELECT channel FROM credentials WHERE app_id = ${appId} AND replaced_at IS NULL`);
  return new Set(channels);
}

/**
 * Returns the apps among these with a channel that reaches no real user: a channel of `sandboxed`,
 * Apple's sandbox, which reaches only builds from Xcode, or the project of Carillon's own sandbox.
 */
export async function listTestApps(
  sql: Sql,
  ids: readonly Uuid[],
  sandboxed: readonly ChannelId[],
): Promise<ReadonlySet<Uuid>> {
  const found = await listValues<Uuid>(sql`
    SELECT DISTINCT app_id FROM credentials
    WHERE app_id = ANY(${ids}::uuid[]) AND replaced_at IS NULL AND (channel = ANY(${sandboxed}::text[])
      OR (channel = 'apns' AND public ->> 'environment' = 'sandbox')
      OR (channel = 'fcm' AND public ->> 'projectId' LIKE '%sandbox%'))`);
  return new Set(found);
}

export interface CredentialHour {
  readonly refused: number;
  readonly suspicious: number;
  readonly everSucceeded: boolean;
  readonly succeededWithinHour: boolean;
  readonly state: CredentialRecord['state'];
}

/**
 * Adds refusals, or none, to the credential's minute and returns the last hour, including them.
 * Locks no credential. `isWell` means that the credential cannot become suspect for some minutes,
 * because it succeeded within the last 55 minutes.
 */
export async function addCredentialRefusals(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  counts: { credentialId: number; refused: number; suspicious: number },
): Promise<{ readonly suspicious: number; readonly isWell: boolean }> {
  const { credentialId, refused, suspicious } = counts;
  return getRow(tx`
    WITH added AS (
      INSERT INTO credential_minutes (app_id, credential_id, minute, refused, suspicious)
      SELECT ${appId}, ${credentialId}, date_trunc('minute', ${clock.now}), ${refused}, ${suspicious}
      WHERE ${refused}::int > 0
      ON CONFLICT (app_id, credential_id, minute) DO UPDATE SET
        refused = credential_minutes.refused + excluded.refused,
        suspicious = credential_minutes.suspicious + excluded.suspicious
    ), before AS (
      SELECT coalesce(sum(suspicious), 0)::int AS suspicious FROM credential_minutes
      WHERE app_id = ${appId} AND credential_id = ${credentialId} AND minute > ${clock.now} - interval '1 hour'
    )
    SELECT before.suspicious + ${suspicious}::int AS suspicious,
      coalesce(c.state <> 'suspect' AND c.last_success_at > ${clock.now} - interval '55 minutes', false) AS is_well
    FROM before LEFT JOIN credentials c ON c.app_id = ${appId} AND c.id = ${credentialId}`);
}

/**
 * Notes that this transaction judges a hearing. Returns false if another one has judged it, and
 * waits for one that is judging it.
 */
export async function insertHearing(tx: Tx, clock: Clock, appId: Uuid, id: Uuid): Promise<boolean> {
  const { count } = await tx`
    INSERT INTO hearings (app_id, id, judged_at) VALUES (${appId}, ${id}, ${clock.now}) ON CONFLICT DO NOTHING`;
  return count === 1;
}

/** Deletes counts that are older than any breaker reads, and hearings that nobody repeats. */
export async function deleteOldRefusals(sql: Sql, clock: Clock): Promise<void> {
  await sql`DELETE FROM credential_minutes WHERE minute < ${clock.now} - interval '1 day'`;
  await sql`DELETE FROM hearings WHERE judged_at < ${clock.now} - interval '1 day'`;
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
  const hour = await getRow(tx<{ refused: number; suspicious: number }[]>`
    SELECT coalesce(sum(refused), 0) AS refused, coalesce(sum(suspicious), 0) AS suspicious FROM credential_minutes
    WHERE app_id = ${appId} AND credential_id = ${credentialId} AND minute > ${clock.now} - interval '1 hour'`);
  return {
    ...hour,
    everSucceeded: credential?.everSucceeded ?? false,
    succeededWithinHour: credential?.succeededWithinHour ?? false,
    state: credential?.state ?? 'ok',
  };
}

/**
 * Records a success, which ends every suspicion. Writes at most once a minute for a credential,
 * unless the state changes. Returns the former state, or undefined if it was `ok`.
 */
export async function markCredentialOk(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  credentialId: number,
): Promise<'suspect' | 'failing' | undefined> {
  const former = await findValue<CredentialRecord['state']>(tx`
    WITH before AS (
      SELECT state FROM credentials
      WHERE app_id = ${appId} AND id = ${credentialId}
        AND (state <> 'ok' OR last_success_at IS NULL OR last_success_at < ${clock.now} - interval '1 minute')
      FOR UPDATE
    )
    UPDATE credentials SET state = 'ok', suspect_since = NULL, last_success_at = ${clock.now}
    FROM before WHERE app_id = ${appId} AND id = ${credentialId}
    RETURNING before.state AS former`);
  return former === 'ok' ? undefined : former;
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
