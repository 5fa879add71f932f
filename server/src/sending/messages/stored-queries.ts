// SQL of messages as callers read them: one message or a page.

import { beginsWith, type Fragment, findRow, getValue, type Tx } from '@carillon/postgres';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Audience } from '../../people/audience/audience.ts';
import type { ChannelId } from '../channels/channel.ts';
import type { LocalTimePast } from './local-time.ts';
import type { MessageRequest, MessageStatus, NoRun } from './message.ts';
import { type ChannelCounts, countsByChannel } from './queries.ts';

/** A message as lists show it. An audience may have a million ids, so lists read none. */
export interface ListedMessage {
  readonly id: Uuid;
  readonly status: MessageStatus;
  readonly statusReason: NoRun | null;
  readonly name: string | null;
  readonly metadata: NonNullable<MessageRequest['metadata']> | null;
  readonly createdBy: { type: 'key' | 'person'; id: string | null; name: string };
  readonly audienceUnmatched: number;
  readonly title: string | null;
  readonly idempotencyKey: string | null;
  readonly runAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly channels: Readonly<Record<ChannelId, ChannelCounts>>;
  readonly errorCounts: Readonly<Record<string, number>>;
  readonly displayed: number;
  readonly clicked: number;
  readonly dismissed: number;
}

/** A message as its page shows it. */
export interface StoredMessage extends ListedMessage {
  readonly audience: Audience;
  readonly content: MessageRequest['content'];
}

const columns = (tx: Tx): Fragment => tx`
  m.id, m.status, m.status_reason, m.name, m.metadata, m.created_by, m.audience_unmatched, m.title,
  m.idempotency_key, m.run_at, m.created_at, m.started_at, m.finished_at, m.expires_at, ${countsByChannel(tx)} AS channels, m.error_counts,
  coalesce(e.displayed, 0) AS displayed, coalesce(e.clicked, 0) AS clicked, coalesce(e.dismissed, 0) AS dismissed`;

/** Marks are counted on batches, and a message sums those of its batches. */
const engagement = (tx: Tx): Fragment => tx`
  LEFT JOIN LATERAL (
    SELECT sum(b.displayed) AS displayed, sum(b.clicked) AS clicked, sum(b.dismissed) AS dismissed
    FROM batches b WHERE b.message_id = m.id
  ) e ON true`;

export async function findMessage(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredMessage | undefined> {
  return findRow(tx`
    SELECT ${columns(tx)}, m.audience, m.content FROM messages m ${engagement(tx)}
    WHERE m.app_id = ${appId} AND m.id = ${id}`);
}

/** The segment that a message excludes, its rate, and its local time. */
export interface MessageTerms {
  readonly excludeSegmentId: Uuid | null;
  readonly perSecond: number | null;
  /** As its author wrote it. */
  readonly localSendAt: string | null;
  readonly localTimePast: LocalTimePast | null;
}

export async function findMessageTerms(tx: Tx, appId: Uuid, id: Uuid): Promise<MessageTerms | undefined> {
  return findRow(tx`
    SELECT exclude_segment_id, per_second, local_send_at, local_time_past FROM messages
    WHERE app_id = ${appId} AND id = ${id}`);
}

/**
 * The messages of an app, newest first, after a position. The position's instant goes as text: the
 * driver would cut a timestamp to milliseconds, and the next page would lose other messages of that
 * millisecond.
 */
export async function listMessages(
  tx: Tx,
  appId: Uuid,
  status: MessageStatus | null,
  after: { createdAt: string; id: Uuid } | null,
  limit: number,
  /** An id, or the beginning of a name. */
  search: string | null = null,
): Promise<(ListedMessage & { createdAtText: string })[]> {
  const id = search === null ? undefined : decodeId('msg', search);
  const found = id === undefined ? undefined : tx`m.id = ${id}`;
  return tx`
    SELECT ${columns(tx)}, m.created_at::text AS created_at_text FROM messages m ${engagement(tx)}
    WHERE m.app_id = ${appId} ${status === null ? tx`` : tx`AND m.status = ${status}`}
      ${search === null ? tx`` : tx`AND ${found ?? tx`m.name IS NOT NULL AND ${beginsWith(tx, tx`lower(m.name)`, search)}`}`}
      ${after === null ? tx`` : tx`AND (m.created_at, m.id) < (${after.createdAt}::text::timestamptz, ${after.id}::uuid)`}
    ORDER BY m.created_at DESC, m.id DESC LIMIT ${limit}`;
}

/**
 * Messages of each kind that `listMovingMessages` reads: more than a page shows of the last ones.
 */
const movingMax = 20;

/**
 * The messages whose figures may be changing, newest first: the newest, those that started last,
 * those that are being sent, and the named ones, whose end the reader has not seen yet.
 */
export async function listMovingMessages(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<ListedMessage[]> {
  return tx`
    WITH moving AS (
      (SELECT id FROM messages WHERE app_id = ${appId} ORDER BY created_at DESC, id DESC LIMIT ${movingMax})
      UNION
      (SELECT id FROM messages WHERE app_id = ${appId} AND started_at IS NOT NULL
        ORDER BY started_at DESC, id DESC LIMIT ${movingMax})
      UNION
      (SELECT id FROM messages WHERE app_id = ${appId} AND status = 'sending' ORDER BY id DESC LIMIT ${movingMax})
      UNION
      SELECT unnest(${ids}::uuid[])
    )
    SELECT ${columns(tx)} FROM messages m ${engagement(tx)}
    WHERE m.app_id = ${appId} AND m.id IN (SELECT id FROM moving)
    ORDER BY m.created_at DESC, m.id DESC`;
}

/** The most rows that `hasClick` reads, however many messages an app has. */
export const clickLook = { messagesPerEnd: 500, batchesPerMessage: 100, batches: 5_000 } as const;

/**
 * Whether a click is counted on one of the newest or of the oldest messages of an app. An app that
 * was just set up has its first click among the oldest, and an app in use has one among the newest.
 * Batches have no index by app, so all messages would be read one by one. The newest messages are
 * read first, then the oldest. If messages have many batches, the oldest are not reached.
 */
export async function hasClick(tx: Tx, appId: Uuid): Promise<boolean> {
  return getValue(tx`
    SELECT EXISTS (
      SELECT 1 FROM (
        SELECT b.clicked FROM (
          -- A message of both ends is one of the newest: its place among them is negative.
          SELECT id, min(part) AS part, min(place) AS place FROM (
            (SELECT id, 1 AS part, -extract(epoch FROM started_at) AS place FROM messages
              WHERE app_id = ${appId} AND started_at IS NOT NULL
              ORDER BY started_at DESC, id DESC LIMIT ${clickLook.messagesPerEnd})
            UNION ALL
            (SELECT id, 2 AS part, extract(epoch FROM started_at) AS place FROM messages
              WHERE app_id = ${appId} AND started_at IS NOT NULL
              ORDER BY started_at, id LIMIT ${clickLook.messagesPerEnd})
          ) AS ends GROUP BY id ORDER BY part, place
        ) AS message CROSS JOIN LATERAL (
          SELECT clicked FROM batches WHERE message_id = message.id ORDER BY id LIMIT ${clickLook.batchesPerMessage}
        ) AS b ORDER BY message.part, message.place LIMIT ${clickLook.batches}
      ) AS looked WHERE clicked > 0
    ) AS is_clicked`);
}

/** A message with its name and title, for other lists. */
export interface NamedMessage {
  readonly id: Uuid;
  readonly name: string | null;
  readonly title: string | null;
}

/** The names and titles of messages. */
export async function listMessageNames(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Map<Uuid, NamedMessage>> {
  const rows = await tx<NamedMessage[]>`
    SELECT id, name, title FROM messages WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
  return new Map(rows.map((row) => [row.id, row]));
}
