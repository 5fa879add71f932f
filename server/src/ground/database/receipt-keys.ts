// The stored keys of receipt tokens: sealed in the instance's row, newest first. Each is bound to
// its number, counted from the first key ever. No opened key is logged.
import { randomBytes } from 'node:crypto';
import { findRow, type Sql, type Tx } from '@carillon/postgres';
import { type Resealed, resealed, resealRows } from '../secrets/reseal.ts';
import type { Seal, SealPlace } from '../secrets/seal.ts';
import type { Clock } from './clock.ts';

export interface ReceiptKey {
  readonly bytes: Buffer;
  /** Null: the key was created with the instance. */
  readonly madeAt: Date | null;
}

interface StoredKeys {
  /** Sealed, newest first. */
  readonly records: readonly string[];
  /** The times of creation of the newest keys, in the same order. */
  readonly madeAt: readonly Date[];
  /** The number of older keys that were deleted. */
  readonly forgotten: number;
}

export const firstKeyPlace = placeOf(0);

function placeOf(number: number): SealPlace {
  return { table: 'instance', column: 'receipt_keys', rowId: String(number), appId: '' };
}

const placeAt = ({ records, forgotten }: StoredKeys, i: number): SealPlace =>
  placeOf(forgotten + records.length - 1 - i);

/** Reads the keys; undefined when no service has run on this database yet. */
export async function findStoredKeys(tx: Tx): Promise<StoredKeys | undefined> {
  return findRow(tx`
    SELECT receipt_keys AS records, receipt_keys_made_at AS made_at, receipt_keys_forgotten AS forgotten
    FROM instance WHERE id = 1`);
}

/** Throws `SealError` for a key that the available master key does not open. */
export function openStoredKeys(seal: Seal, stored: StoredKeys): ReceiptKey[] {
  return stored.records.map((record, i) => ({
    bytes: seal.open(record, placeAt(stored, i)),
    madeAt: stored.madeAt[i] ?? null,
  }));
}

/** Locks the instance's row until the transaction ends. */
export async function lockInstance(tx: Tx): Promise<void> {
  await tx`SELECT FROM instance WHERE id = 1 FOR UPDATE`;
}

/** Adds a new key as the newest. The caller holds the lock on the row. */
export async function addStoredKey(tx: Tx, clock: Clock, seal: Seal, stored: StoredKeys): Promise<void> {
  const sealed = seal.seal(randomBytes(32), placeOf(stored.forgotten + stored.records.length));
  await tx`
    UPDATE instance SET receipt_keys = array_prepend(${sealed}, receipt_keys),
      receipt_keys_made_at = array_prepend(${clock.now}, receipt_keys_made_at)
    WHERE id = 1`;
}

/** Deletes all keys except the newest `kept`. The caller holds the lock on the row. */
export async function forgetStoredKeys(tx: Tx, kept: number): Promise<void> {
  await tx`
    UPDATE instance SET receipt_keys_forgotten = receipt_keys_forgotten + cardinality(receipt_keys) - ${kept}::integer,
      receipt_keys = receipt_keys[1:${kept}::integer], receipt_keys_made_at = receipt_keys_made_at[1:${kept}::integer]
    WHERE id = 1 AND cardinality(receipt_keys) > ${kept}::integer`;
}

/** Seals the keys with the current master key. */
export async function resealReceiptKeys({ sql, seal }: { sql: Sql; seal: Seal }): Promise<Resealed> {
  return resealRows<StoredKeys>({
    async list(after) {
      const stored = after ? undefined : await findStoredKeys(sql);
      return stored?.records.some((record) => !record.startsWith(seal.prefix)) ? [stored] : [];
    },
    async replace(stored) {
      const again = stored.records.map((record, i) => resealed(seal, record, placeAt(stored, i)));
      const result = await sql`
        UPDATE instance SET receipt_keys = ${again}::text[]
        WHERE id = 1 AND receipt_keys = ${stored.records}::text[]`;
      return result.count === 1;
    },
    nameOf: () => 'the keys of receipt tokens',
  });
}
