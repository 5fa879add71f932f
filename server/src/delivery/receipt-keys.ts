// The keys of receipt tokens as a process uses them. A new key verifies from the moment it is made and signs a minute later, when
// every process has heard of it: no receipt meets a process that does not know its key. Former keys verify as long as there are
// deliveries of their time.
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { mintedAtMs } from '../platform/ids.ts';
import {
  addStoredKey,
  findStoredKeys,
  forgetStoredKeys,
  lockInstance,
  openStoredKeys,
  type ReceiptKey,
} from '../platform/receipt-keys.ts';
import type { Seal } from '../platform/seal.ts';
import { listPartitions } from './partitions.ts';

export interface ReceiptKeys {
  /** What new tokens are signed with. */
  readonly signing: Buffer;
  /** Each of them verifies. */
  readonly verifying: readonly Buffer[];
  /** Which keys are known. Another one is found with what falls due (`due-queries`): then it is time to look. */
  readonly version: string;
  /** Reads them again. Rejects where the database cannot be asked or the master key does not fit. */
  look(): Promise<void>;
}

/** A new key signs from then on: by then each process has looked for what falls due, which it does every ten seconds at least. */
const signsAfterMs = 60_000;
/** Each unknown token costs an HMAC for each key. */
export const receiptKeysMax = 20;
/** Clocks of processes differ, and a flush may be late. */
const slackMs = 86_400_000;

interface WatchDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly seal: Seal;
}

/** Knows the keys when it resolves. Rejects when they cannot be opened, or where no service has run yet. */
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
  /** From then on new tokens are signed with the new key. */
  readonly signsFrom: Date;
  /** How many former keys go on verifying. */
  readonly former: number;
}

/** `full`: as many former keys are needed as are kept at the most. Undefined: no service has run on this database yet. */
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

/** Forgets keys whose last token is older than every delivery that is kept. */
export async function forgetReceiptKeys(sql: Sql): Promise<void> {
  const [oldest] = await listPartitions(sql);
  if (!oldest) return;
  const neededSinceMs = mintedAtMs(oldest.from) - slackMs;
  await transaction(sql, async (tx) => {
    await lockInstance(tx);
    const stored = await findStoredKeys(tx);
    // A key signed until its successor did.
    const isOver = (i: number): boolean =>
      (stored?.madeAt[i - 1]?.getTime() ?? Number.POSITIVE_INFINITY) + signsAfterMs < neededSinceMs;
    const kept = stored?.records.findIndex((_record, i) => i > 0 && isOver(i)) ?? -1;
    if (kept > 0) await forgetStoredKeys(tx, kept);
  });
}
