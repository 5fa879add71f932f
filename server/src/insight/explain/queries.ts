// SQL: the few rows that explain why a person or a device got a message or not. Reads rows of other
// rooms and writes none. Every statement starts at a person, a device or a message, so its cost
// does not grow with the audience.

import { type Fragment, findRow, listValues, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { DeviceStatus, InvalidReason } from '../../people/devices/device.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import type { Attempt } from '../../sending/delivery/delivery.ts';

export interface ExplainedMessage {
  readonly id: Uuid;
  readonly status: 'scheduled' | 'sending' | 'sent' | 'failed' | 'canceled';
  readonly statusReason: string | null;
  readonly audience: unknown;
  readonly excludeSegmentId: Uuid | null;
  readonly perSecond: number | null;
  readonly runAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly firstBatchId: Uuid | null;
  readonly lastBatchId: Uuid | null;
}

const messageColumns = (sql: Sql): Fragment => sql`
  id, status, status_reason, audience, exclude_segment_id, per_second, run_at, started_at, finished_at, first_batch_id,
  last_batch_id`;

/** Finds a message of the app. */
export async function findExplained(sql: Sql, appId: Uuid, id: Uuid): Promise<ExplainedMessage | undefined> {
  return findRow(sql`
    SELECT ${messageColumns(sql)} FROM messages WHERE app_id = ${appId} AND id = ${id}`);
}

/** Lists the newest messages of the app that are at most `days` old, newest first. */
export async function listNewest(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  days: number,
  limit: number,
): Promise<ExplainedMessage[]> {
  return sql`
    SELECT ${messageColumns(sql)} FROM messages
    WHERE app_id = ${appId} AND created_at >= ${clock.now} - ${days}::int * interval '1 day'
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}

/** Finds the profile of an external id. */
export async function findProfileOf(
  sql: Sql,
  appId: Uuid,
  externalId: string,
): Promise<{ id: Uuid; createdAt: Date } | undefined> {
  return findRow(sql`
    SELECT id, created_at FROM users WHERE app_id = ${appId} AND external_id = ${externalId}`);
}

export interface ExplainedDevice {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly status: DeviceStatus;
  readonly statusReason: InvalidReason | null;
  readonly credentialId: number | null;
  /** A browser of Apple: its service worker need not run, so it reports no display. */
  readonly isApple: boolean;
  readonly createdAt: Date;
  readonly userId: Uuid | null;
  readonly externalId: string | null;
  readonly userCreatedAt: Date | null;
}

const deviceColumns = (sql: Sql): Fragment => sql`
  d.id, d.platform, d.status, d.status_reason, d.credential_id, a.created_at, a.user_id, a.external_id, a.user_created_at,
  d.platform = 'web' AND coalesce(d.token LIKE '%.push.apple.com/%', false) AS is_apple`;

/** Lists the devices of a user, active ones and then new ones first. */
export async function listDevicesOfUser(
  sql: Sql,
  appId: Uuid,
  externalId: string,
  limit: number,
): Promise<ExplainedDevice[]> {
  return sql`
    SELECT ${deviceColumns(sql)} FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId} AND a.external_id = ${externalId}
    ORDER BY a.active DESC, a.created_at DESC, a.device_id DESC LIMIT ${limit}`;
}

/** Lists devices of the app by their ids. */
export async function listDevicesById(sql: Sql, appId: Uuid, ids: readonly Uuid[]): Promise<ExplainedDevice[]> {
  return sql`
    SELECT ${deviceColumns(sql)} FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId} AND a.device_id = ANY(${ids}::uuid[])`;
}

/** Counts the devices of a user by status. */
export async function countDevicesOfUser(
  sql: Sql,
  appId: Uuid,
  externalId: string,
): Promise<Readonly<Record<DeviceStatus, number>>> {
  const rows = await sql<{ status: DeviceStatus; count: number }[]>`
    SELECT d.status, count(*) AS count FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId} AND a.external_id = ${externalId} GROUP BY d.status`;
  const none: Record<DeviceStatus, number> = { active: 0, invalid: 0, unsubscribed: 0 };
  for (const { status, count } of rows) none[status] = count;
  return none;
}

/** Lists the former users of a device. */
export async function listFormerUsers(sql: Sql, appId: Uuid, deviceId: Uuid): Promise<Uuid[]> {
  return listValues(sql`
    SELECT user_id FROM former_links WHERE app_id = ${appId} AND device_id = ${deviceId}`);
}

export interface ExplainedDelivery {
  readonly batchId: Uuid;
  readonly deviceId: Uuid;
  readonly channel: number;
  readonly status: number;
  readonly errorCode: number | null;
  readonly attempts: number;
  readonly providerStatus: number | null;
  readonly doneAt: Date;
  readonly displayedAt: Date | null;
  readonly clickedAt: Date | null;
  readonly dismissedAt: Date | null;
  readonly action: string | null;
  readonly timeline: readonly Attempt[] | null;
}

/**
 * Lists the deliveries to some people between two batches, both included. A person is a user, or a
 * device while it belonged to nobody. The index by person leads to the rows.
 */
export async function listDeliveriesOf(
  sql: Sql,
  people: readonly Uuid[],
  { firstBatchId, lastBatchId }: { readonly firstBatchId: Uuid; readonly lastBatchId: Uuid },
  deviceId: Uuid | null,
): Promise<ExplainedDelivery[]> {
  return sql`
    SELECT batch_id, device_id, channel, status, error_code, attempts, provider_status, done_at, displayed_at, clicked_at,
      dismissed_at, action, timeline
    FROM deliveries
    WHERE coalesce(user_id, device_id) = ANY(${people}::uuid[])
      AND batch_id BETWEEN ${firstBatchId}::uuid AND ${lastBatchId}::uuid
      ${deviceId === null ? sql`` : sql`AND device_id = ${deviceId}`}`;
}

/** A batch that still has deliveries without a final outcome, and a device that it holds. */
export interface OpenPlace {
  readonly deviceId: Uuid;
  readonly state: 'waiting' | 'claimed';
  readonly queuedAt: Date;
  readonly dueAt: Date;
  readonly availableAt: Date;
  readonly expiresAt: Date;
  readonly setbacks: number;
  readonly skipReason: string | null;
}

/**
 * Finds the open batches of a message that hold these devices. The batches of one instant hold
 * their devices in the order of ids (`fan-out-queries`), so a binary search reads some ten lists of
 * ids, however many batches there are.
 */
export async function listOpenPlaces(
  sql: Sql,
  appId: Uuid,
  messageId: Uuid,
  deviceIds: readonly Uuid[],
): Promise<OpenPlace[]> {
  return sql`
    WITH RECURSIVE open AS (
      SELECT array_agg(id ORDER BY id) AS ids FROM batches
      WHERE app_id = ${appId} AND message_id = ${messageId} AND state <> 'done'
      GROUP BY due_at, skip_reason
    ), search AS (
      SELECT open.ids, wanted.device_id, 1 AS low, cardinality(open.ids) AS high
      FROM open CROSS JOIN unnest(${deviceIds}::uuid[]) AS wanted (device_id)
      UNION ALL
      SELECT s.ids, s.device_id,
        CASE WHEN s.first_id <= s.device_id THEN s.middle ELSE s.low END,
        CASE WHEN s.first_id <= s.device_id THEN s.high ELSE s.middle - 1 END
      FROM (
        SELECT search.*, (low + high + 1) / 2 AS middle,
          (SELECT b.device_ids[1] FROM batches b WHERE b.id = search.ids[(low + high + 1) / 2]) AS first_id
        FROM search WHERE low < high
      ) s
    )
    SELECT s.device_id, b.state, b.queued_at, b.due_at, b.available_at, b.expires_at, b.setbacks, b.skip_reason
    FROM search s JOIN batches b ON b.id = s.ids[s.low]
    WHERE s.low = s.high AND b.app_id = ${appId} AND s.device_id = ANY(b.device_ids)`;
}
