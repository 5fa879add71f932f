// An app with ninety days behind it: people, a message a day, what was clicked of it, and what everybody did. Written by COPY, as
// the service would have left it; the same for the same seed.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ensureDeliveryPartitions } from '../../server/src/delivery/partitions.ts';
import { ensureEventPartitions } from '../../server/src/events/partitions.ts';
import type { Sql } from '../../server/src/platform/db.ts';
import { mintUuid, type Uuid } from '../../server/src/platform/ids.ts';
import type { Log } from '../../server/src/platform/log.ts';
import { progress } from './workbench.ts';

export const dayMs = 86_400_000;
export const days = 90;
const batchSize = 1_000;
const currencies = ['EUR', 'USD', 'JPY'] as const;

export interface World {
  readonly fromMs: number;
  readonly toMs: number;
  readonly purchases: number;
}

interface Sizes {
  readonly events: number;
  readonly people: number;
  /** Whom each day's message is for. */
  readonly reached: number;
}

interface Person {
  readonly userId: Uuid;
  readonly deviceId: Uuid;
  readonly externalId: string;
}

export async function makeWorld(sql: Sql, appId: Uuid, log: Log, endMs: number, sizes: Sizes): Promise<World> {
  const toMs = Math.floor(endMs / dayMs) * dayMs;
  const fromMs = toMs - days * dayMs;
  for (let ms = fromMs; ms <= toMs + 7 * dayMs; ms += 7 * dayMs) {
    await ensureDeliveryPartitions(sql, ms);
    await ensureEventPartitions(sql, { nowMs: ms, log });
  }
  const random = randomOf(1);
  const people = Array.from(
    { length: sizes.people },
    (_, i): Person => ({ userId: mintUuid(fromMs - dayMs), deviceId: mintUuid(fromMs - dayMs), externalId: `u-${i}` }),
  );
  const bornAt = new Date(fromMs - dayMs).toISOString();
  await copy(
    sql,
    'audience (app_id, device_id, user_id, external_id, user_created_at, created_at, last_seen_at, active, platform)',
    lines(people, ({ deviceId, userId, externalId }) => [
      ...[appId, deviceId, userId, externalId, bornAt, bornAt, bornAt, 't', 'web'],
    ]),
  );
  await makeMessages(sql, appId, people, { fromMs, reached: sizes.reached, random });
  progress(`${sizes.people} people, ${days} messages to ${sizes.reached} of them each`);
  let purchases = 0;
  function* rows(): Generator<string> {
    for (let i = 0; i < sizes.events; i++) {
      const atMs = fromMs + Math.floor(((i + random(1000) / 1000) / sizes.events) * (toMs - fromMs));
      const person = people[random(people.length)];
      const kind = random(100);
      const name = kind < 40 ? 'session_start' : kind < 45 ? 'purchase' : kind < 47 ? 'install' : `view_${kind % 20}`;
      const isPurchase = name === 'purchase';
      if (isPurchase) purchases++;
      const amount = isPurchase ? `${random(20_000)}.${String(random(100)).padStart(2, '0')}` : '\\N';
      const currency = isPurchase ? (currencies[random(3)] ?? 'EUR') : '\\N';
      yield `${[
        ...[
          appId,
          person?.userId,
          mintUuid(atMs),
          name,
          new Date(atMs).toISOString(),
          person?.deviceId,
          person?.externalId,
        ],
        ...['{}', amount, currency],
      ].join('\t')}\n`;
    }
  }
  const columns = 'app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency';
  await copy(sql, `events (${columns})`, rows());
  await sql`VACUUM (ANALYZE) events, audience, deliveries, batches, messages`;
  progress(`${sizes.events} events, ${purchases} purchases among them`);
  return { fromMs, toMs, purchases };
}

async function makeMessages(
  sql: Sql,
  appId: Uuid,
  people: readonly Person[],
  { fromMs, reached, random }: { fromMs: number; reached: number; random: (below: number) => number },
): Promise<void> {
  const messages: string[] = [];
  const batches: string[] = [];
  const deliveries: string[] = [];
  for (let day = 0; day < days; day++) {
    const sentMs = fromMs + day * dayMs + 9 * 3_600_000;
    const messageId = mintUuid(sentMs);
    const sentAt = new Date(sentMs).toISOString();
    const counts = [reached, reached].join('\t');
    const batchIds: Uuid[] = [];
    const offset = random(people.length);
    for (let i = 0; i < reached; i++) {
      if (i % batchSize === 0) batchIds.push(mintUuid(sentMs));
      const person = people[(offset + i) % people.length];
      const clickedAt = random(100) < 3 ? new Date(sentMs + random(36_000_000)).toISOString() : '\\N';
      const ids = [batchIds.at(-1), person?.deviceId, person?.userId];
      deliveries.push(`${[...ids, sentAt, clickedAt, '20', '0', '1', '1'].join('\t')}\n`);
    }
    for (const id of batchIds.sort()) {
      const size = Math.min(batchSize, reached);
      const columns = [id, appId, messageId, '{}', size, 'done', sentAt, sentAt, sentAt, sentAt, size, sentAt];
      batches.push(`${columns.join('\t')}\n`);
    }
    messages.push(
      `${[
        ...[appId, messageId, '\\\\x00', 'sent', '{}', '{"all":true}', '{}', sentAt, sentAt, sentAt],
        ...[batchIds[0], batchIds.at(-1), counts],
      ].join('\t')}\n`,
    );
  }
  await copy(
    sql,
    'messages (app_id, id, fingerprint, status, created_by, audience, content, created_at, started_at, finished_at, ' +
      'first_batch_id, last_batch_id, webpush_accepted, webpush_sent)',
    messages,
  );
  await copy(
    sql,
    'batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, sent, finished_at)',
    batches,
  );
  await copy(
    sql,
    'deliveries (batch_id, device_id, user_id, done_at, clicked_at, latency_ms, channel, status, attempts)',
    deliveries,
  );
}

function* lines<Item>(items: readonly Item[], cellsOf: (item: Item) => readonly string[]): Generator<string> {
  for (const item of items) yield `${cellsOf(item).join('\t')}\n`;
}

/** `target` is a table with its columns, from this file alone. */
async function copy(sql: Sql, target: string, rows: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(blocks(rows)), await sql.unsafe(`COPY ${target} FROM STDIN`).writable());
}

// A write for each row would cost more than the row.
function* blocks(rows: Iterable<string>): Generator<string> {
  let block = '';
  for (const row of rows) {
    block += row;
    if (block.length < 65_536) continue;
    yield block;
    block = '';
  }
  if (block !== '') yield block;
}

/** Whole numbers below a bound, the same for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
