// A batch: up to 1,000 deliveries worked together under one lease. Its states and the figures of the lease.
//
//   waiting ──claim──► claimed ──all final──► done
//      ▲                  │
//      └── handed back, ──┘   (or the lease runs out: then another process claims it)
//          or a retry later, or a setback
//
// Every write after a claim carries the claim's id; a worker that lost its claim changes nothing.
import type { Uuid } from '../platform/ids.ts';
import type { SkipReason } from './delivery.ts';

/** Devices in a batch: 16 bytes each in an array; a worker holds some batches' rows in memory, never an audience. */
export const batchSizeMax = 1000;

/** A lease is short, so that the batch of a killed worker is taken over within 30 s. */
export const leaseMs = 20_000;
/** At the latest, while the database answers. */
export const renewEveryMs = 5000;
/** A flush writes the batch's row anyway: it renews a lease that is older than that. */
export const flushRenewsAfterMs = 2000;

/**
 * A push begins only while its lease was renewed no longer ago than that. A request has its answer or is given up ten seconds after it
 * began, so none is under way when another may claim the batch, whatever keeps the renewals.
 */
export const pushWithinMs = leaseMs / 2;

/** Outcomes wait at most this long for their commit: what a crash can repeat. */
export const flushEveryMs = 500;

/**
 * A batch whose process died with it so often, or that met the same fault of our own so often, fails its own deliveries.
 * The database's state counts for neither. No more than the pushes a device may get: each claim that ended without order may
 * have pushed to it, and nobody knows.
 */
export const claimsMax = 5;

const pacedBatchSeconds = 10;

/** Devices in a batch of a message with so many requests a second: few enough that one is done in seconds, not in minutes. */
export function batchSizeOf(perSecond: number | null): number {
  return perSecond === null ? batchSizeMax : Math.min(batchSizeMax, perSecond * pacedBatchSeconds);
}

export interface ClaimedBatch {
  readonly id: Uuid;
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly claimId: Uuid;
  /** Claims without an orderly end, this one included. */
  readonly claims: number;
  /** One of those after the first reached its pushes. */
  readonly pushed: boolean;
  /** How often in a row it was handed back because it could not be worked. */
  readonly setbacks: number;
  /** How often the last fault of our own came in a row. */
  readonly faults: number;
  readonly deviceIds: readonly Uuid[];
  /** Provider requests a second of the whole message; null: as fast as it goes. */
  readonly perSecond: number | null;
  readonly queuedAt: Date;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  /** Set: what is not final yet is not to be sent. */
  readonly skipReason: Extract<SkipReason, 'canceled' | 'local_time_past'> | null;
}

/** Pushes that a device may have got in claims that ended without order: at most one in each, for a claim pushes to a device once. */
export function unknownPushesOf({ claims }: Pick<ClaimedBatch, 'claims'>): number {
  return claims - 1;
}
