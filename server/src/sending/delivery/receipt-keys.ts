// The keys of receipt tokens as a process uses them. A new key verifies at once, but signs only a
// minute later, when every process knows it. So no receipt reaches a process that lacks its key.
// Former keys verify as long as deliveries of their time are kept.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import {
  addStoredKey,
  findStoredKeys,
  forgetStoredKeys,
  lockInstance,
  openStoredKeys,
  type ReceiptKey,
} from '../../ground/database/receipt-keys.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import { mintedAtMs } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { listPartitions } from './partitions.ts';

export interface ReceiptKeys {
  /** The key that signs new tokens. */
  readonly signing: Buffer;
  /** The keys that verify. */
  readonly verifying: readonly Buffer[];
  /**
   * Names the set of keys that this process has read. A process reads the keys again when the
   * lookout finds another version (`due-queries`).
   */
  readonly version: string;
  /**
   * Reads the keys again. Rejects when the database does not answer or the master key does not fit.
   */
  look(): Promise<void>;
}

/**
 * Milliseconds before a new key signs. Every process looks for due work at least every ten seconds,
 * and so knows the key by then.
 */
const signsAfterMs = 60_000;
/** The most keys that are kept. An unknown token costs one HMAC for each key. */
export const receiptKeysMax = 20;
/** Allows for clocks that differ between processes and for a late flush. */
const slackMs = 86_400_000;

interface WatchDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly seal: Seal;
}

/**
 * Resolves when the keys are read. Rejects when they cannot be opened, or no service has run yet.
 */
export async function watchReceiptKeys({ sql, clock, seal }: WatchDeps): Promise<ReceiptKeys> {
  let keys: readonly ReceiptKey[] = [];
  let verifying: readonly Buffer[] = [];
  let known = '';
  let version = '';
  const look = async (): Promise<void> => {
    const stored = await findStoredKeys(sql);
    if (!stored) throw new Error('the instance has no receipt key');
    version = `${stored.forgotten}/${stored.records.length}`;
    const records = stored.records.join();
    if (records === known) return;
    keys = openStoredKeys(seal, stored);
    verifying = keys.map(({ bytes }) => bytes);
    known = records;
  };
  await look();
  return {
    get signing() {
      const nowMs = clock.nowMs();
      const key = keys.find(({ madeAt }) => madeAt === null || madeAt.getTime() + signsAfterMs <= nowMs) ?? keys.at(-1);
      if (!key) throw new Error('the instance has no receipt key');
      return key.bytes;
    },
    get verifying() {
      return verifying;
    },
    get version() {
      return version;
    },
    look,
  };
}

export interface RotatedKeys {
  /** From this time on the new key signs. */
  readonly signsFrom: Date;
  /** The number of former keys that still verify. */
  readonly former: number;
}

/**
 * Makes a new key. `full`: all former keys are still needed, and no more can be kept. Undefined: no
 * service has run on this database yet.
 */
export async function rotateReceiptKey(deps: Audited & WatchDeps): Promise<RotatedKeys | 'full' | undefined> {
  const { sql, clock, seal } = deps;
  return transaction(sql, async (tx) => {
    await lockInstance(tx);
    const stored = await findStoredKeys(tx);
    if (!stored) return undefined;
    if (stored.records.length >= receiptKeysMax) return 'full';
    await addStoredKey(tx, clock, seal, stored);
    const number = stored.forgotten + stored.records.length;
    const after = { number, former: stored.records.length };
    await recordAudit({ ...deps, tx }, { appId: null, action: 'receipt_key.rotate', target: null, after });
    const madeAt = (await findStoredKeys(tx))?.madeAt[0];
    if (!madeAt) throw new Error('the receipt key that was just stored is not there');
    return { signsFrom: new Date(madeAt.getTime() + signsAfterMs), former: stored.records.length };
  });
}

/** Deletes keys whose last token is older than every delivery that is kept. */
export async function forgetReceiptKeys(sql: Sql): Promise<void> {
  const [oldest] = await listPartitions(sql);
  if (!oldest) return;
  const neededSinceMs = mintedAtMs(oldest.from) - slackMs;
  await transaction(sql, async (tx) => {
    await lockInstance(tx);
    const stored = await findStoredKeys(tx);
    // A key signs until its successor does.
    const isOver = (i: number): boolean =>
      (stored?.madeAt[i - 1]?.getTime() ?? Number.POSITIVE_INFINITY) + signsAfterMs < neededSinceMs;
    const kept = stored?.records.findIndex((_record, i) => i > 0 && isOver(i)) ?? -1;
    if (kept > 0) await forgetStoredKeys(tx, kept);
  });
}
