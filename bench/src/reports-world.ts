// Fills an app with ninety days of history: people, one message a day, clicks on it, and tracked
// events. Rows are written by COPY in the state that the service would leave; the same seed gives
// the same rows.

import { copyRows, type Fragment, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { CopyValue } from '../../packages/postgres/src/copy-rows.ts';
import { progress } from '../../rig/src/workbench.ts';
import type { Log } from '../../server/src/ground/host/log.ts';
import { mintUuid, type Uuid } from '../../server/src/ground/values/ids.ts';
import { ensureEventPartitions } from '../../server/src/insight/events/partitions.ts';
import { ensureDeliveryPartitions } from '../../server/src/sending/delivery/partitions.ts';

export const dayMs = 86_400_000;
export const days = 90;
const quarterMs = 900_000;
const aheadMs = 3_600_000;
const batchSize = 1_000;
const currencies = ['EUR', 'USD', 'JPY'] as const;

export interface World {
  readonly fromMs: number;
  readonly purchases: number;
}

export interface Sizes {
  readonly events: number;
  readonly people: number;
  /** How many devices each day's message reaches. */
  readonly reached: number;
}

interface Person {
  readonly userId: Uuid;
  readonly deviceId: Uuid;
  readonly externalId: string;
}

/**
 * Makes the history. Events continue for some minutes after `nowMs`, so that the present has as
 * many as any other time during the measurement.
 */
export async function makeWorld(sql: Sql, appId: Uuid, log: Log, nowMs: number, sizes: Sizes): Promise<World> {
  const toMs = Math.ceil(nowMs / quarterMs) * quarterMs + aheadMs;
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
    (tx) => tx`
      COPY audience (app_id, device_id, user_id, external_id, user_created_at, created_at, last_seen_at, active, platform)
      FROM STDIN`,
    people.map(({ deviceId, userId, externalId }) => [
      ...[appId, deviceId, userId, externalId, bornAt, bornAt, bornAt, true, 'web'],
    ]),
  );
  await makeMessages(sql, appId, people, { fromMs, reached: sizes.reached, random });
  progress(`${sizes.people} people, ${days} messages to ${sizes.reached} of them each`);
  let purchases = 0;
  function* rows(): Generator<CopyValue[]> {
    for (let i = 0; i < sizes.events; i++) {
      const atMs = fromMs + Math.floor(((i + random(1000) / 1000) / sizes.events) * (toMs - fromMs));
      const person = people[random(people.length)];
      const kind = random(100);
      const name = kind < 40 ? 'session_start' : kind < 45 ? 'purchase' : kind < 47 ? 'install' : `view_${kind % 20}`;
      const isPurchase = name === 'purchase';
      if (isPurchase) purchases++;
      const amount = isPurchase ? `${random(20_000)}.${String(random(100)).padStart(2, '0')}` : null;
      const currency = isPurchase ? (currencies[random(3)] ?? 'EUR') : null;
      const at = new Date(atMs).toISOString();
      const { userId = null, deviceId = null, externalId = null } = person ?? {};
      yield [appId, userId, mintUuid(atMs), name, at, deviceId, externalId, '{}', amount, currency];
    }
  }
  await copy(
    sql,
    (tx) => tx`
      COPY events (app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency) FROM STDIN`,
    rows(),
  );
  await sql`VACUUM (ANALYZE) events, audience, deliveries, batches, messages`;
  progress(`${sizes.events} events, ${purchases} purchases among them`);
  return { fromMs, purchases };
}

async function makeMessages(
  sql: Sql,
  appId: Uuid,
  people: readonly Person[],
  { fromMs, reached, random }: { fromMs: number; reached: number; random: (below: number) => number },
): Promise<void> {
  const messages: CopyValue[][] = [];
  const batches: CopyValue[][] = [];
  const deliveries: CopyValue[][] = [];
  for (let day = 0; day < days; day++) {
    const sentMs = fromMs + day * dayMs + 9 * 3_600_000;
    const messageId = mintUuid(sentMs);
    const sentAt = new Date(sentMs).toISOString();
    const batchIds: Uuid[] = [];
    const offset = random(people.length);
    for (let i = 0; i < reached; i++) {
      if (i % batchSize === 0) batchIds.push(mintUuid(sentMs));
      const person = people[(offset + i) % people.length];
      const clickedAt = random(100) < 3 ? new Date(sentMs + random(36_000_000)).toISOString() : null;
      const ids = [batchIds.at(-1) ?? null, person?.deviceId ?? null, person?.userId ?? null];
      deliveries.push([...ids, sentAt, clickedAt, 20, 0, 1, 1]);
    }
    for (const id of batchIds.sort()) {
      const size = Math.min(batchSize, reached);
      batches.push([id, appId, messageId, '{}', size, 'done', sentAt, sentAt, sentAt, sentAt, size, sentAt]);
    }
    const [first = null] = batchIds;
    const texts = ['{}', '{"all":true}', '{}'];
    messages.push([
      ...[appId, messageId, Buffer.alloc(1), 'sent', ...texts, sentAt, sentAt, sentAt, sentAt],
      ...[first, batchIds.at(-1) ?? null, reached, reached],
    ]);
  }
  await copy(
    sql,
    (tx) => tx`
      COPY messages (app_id, id, fingerprint, status, created_by, audience, content, created_at, started_at, finished_at, expires_at,
        first_batch_id, last_batch_id, webpush_accepted, webpush_sent) FROM STDIN`,
    messages,
  );
  await copy(
    sql,
    (tx) => tx`
      COPY batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, sent,
        finished_at) FROM STDIN`,
    batches,
  );
  await copy(
    sql,
    (tx) => tx`
      COPY deliveries (batch_id, device_id, user_id, done_at, clicked_at, latency_ms, channel, status, attempts) FROM STDIN`,
    deliveries,
  );
}

const rowsAtOnce = 10_000;

async function copy(sql: Sql, statement: (tx: Tx) => Fragment, rows: Iterable<readonly CopyValue[]>): Promise<void> {
  let some: (readonly CopyValue[])[] = [];
  const write = async (): Promise<void> => {
    await transaction(sql, (tx) => copyRows(statement(tx), some));
    some = [];
  };
  for (const row of rows) {
    some.push(row);
    if (some.length === rowsAtOnce) await write();
  }
  if (some.length > 0) await write();
}

/** Integers below a bound; the same seed gives the same sequence (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
