// A batch: up to 1,000 deliveries worked together under one lease. Its states and the figures of the lease.
//
//   waiting ──claim──► claimed ──all final──► done
//      ▲                  │
//      └── handed back, ──┘   (or the lease runs out: then another process claims it)
//          or a retry later
//
// Every write after a claim carries the claim's id; a worker that lost its claim changes nothing.
import type { Uuid } from '../platform/ids.ts';

/** Devices in a batch: 16 bytes each in an array; a worker holds one batch's rows in memory, never an audience. */
export const batchSizeMax = 1000;

/** A lease is short, so that the batch of a killed worker is taken over within 30 s. */
export const leaseMs = 20_000;
export const renewEveryMs = 5000;

/** Outcomes wait at most this long for their commit: what a crash can repeat. */
export const flushEveryMs = 500;

/** A batch that was claimed this often without ever being handed back in order fails its own deliveries. */
export const claimsMax = 5;

export interface ClaimedBatch {
  readonly id: Uuid;
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly claimId: Uuid;
  /** Claims in a row without an orderly end, this one included. */
  readonly claims: number;
  readonly deviceIds: readonly Uuid[];
  readonly queuedAt: Date;
  readonly dueAt: Date;
  readonly expiresAt: Date;
}
