// A batch: up to 1,000 deliveries worked together under one lease. Its states and the numbers of
// the lease.
//
//   waiting ──claim──► claimed ──all final──► done
//      ▲                  │
//      └── handed back, ──┘   (or the lease ends: then another process claims the batch)
//          or a retry later, or a setback
//
// Every write after a claim carries the claim's id. A worker that lost its claim changes nothing
//
import type { Uuid } from '../../ground/values/ids.ts';
import type { SkipReason } from './delivery.ts';

/**
 * Devices in a batch. A worker holds the rows of some batches in memory, never those of an
 * audience.
 */
export const batchSizeMax = 1000;

/** A lease is short, so that the batch of a killed worker is taken over within 30 s. */
export const leaseMs = 20_000;
/** The longest time between two renewals, while the database answers. */
export const renewEveryMs = 5000;
/** A flush renews a lease older than this, because it writes the batch's row anyway. */
export const flushRenewsAfterMs = 2000;

/**
 * A push begins only within this time after the lease was last renewed. A request ends at most ten
 * seconds after it began. So no request is under way when another process may claim the batch, even
 * if no renewal succeeds.
 */
export const pushWithinMs = leaseMs / 2;

/**
 * Outcomes wait at most this long for their commit. A crash can repeat the pushes of this time
 * (R-02).
 */
export const flushEveryMs = 500;

/**
 * The deliveries of a batch fail after this many claims whose process died, or after this many
 * equal faults of our own in a row. The database's state does not count. The number
 * is at most that of the pushes that a device may get, because each claim of a dead process may
 * have pushed to it unseen.
 */
export const claimsMax = 5;

const pacedBatchSeconds = 10;

/**
 * Devices in a batch of a message with this rate. A paced batch is small, so that it ends within
 * seconds instead of minutes.
 */
export function batchSizeOf(perSecond: number | null): number {
  return perSecond === null ? batchSizeMax : Math.min(batchSizeMax, perSecond * pacedBatchSeconds);
}

export interface ClaimedBatch {
  readonly id: Uuid;
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly claimId: Uuid;
  /** The claims whose process died, and this one. */
  readonly claims: number;
  /** True when one of these claims, other than the first, reached its pushes. */
  readonly pushed: boolean;
  /** How many times in a row the batch was handed back because it could not be worked. */
  readonly setbacks: number;
  /** How many times in a row the last fault of our own occurred. */
  readonly faults: number;
  readonly deviceIds: readonly Uuid[];
  /** Provider requests a second of the whole message; null for no limit. */
  readonly perSecond: number | null;
  /** The server's time of the claim. */
  readonly claimedAt: Date;
  readonly queuedAt: Date;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  /** The reason to skip all deliveries that are not final; otherwise null. */
  readonly skipReason: Extract<SkipReason, 'canceled' | 'local_time_past'> | null;
}

/**
 * The pushes that a device may have got in claims whose process died: at most one in each, because
 * a claim pushes to a device once.
 */
export function unknownPushesOf({ claims }: Pick<ClaimedBatch, 'claims'>): number {
  return claims - 1;
}
