// Membership: whether a device is selected by a message's audience or by its exclusion now, and
// what decides. Pure.
import type { Path } from '../../people/audience/filter.ts';

/** The leaf of a filter that decides, as its author wrote it, with the value that it found. */
export interface DecidingLeaf {
  /** The leaf's path in the request; for a segment, in the segment's filter. */
  readonly path: Path;
  readonly segment: { readonly id: string; readonly name: string } | null;
  /** A comparison has `field`, a leaf of events has `event`. */
  readonly field: string | null;
  readonly event: string | null;
  readonly op: string;
  /** Undefined for an operator without a value. */
  readonly value: unknown;
  /** The present value; null: missing. For events, their count. */
  readonly actual: unknown;
  /** The latest event that a leaf of events counts. */
  readonly lastAt: string | null;
  /** False also for a true leaf under a NOT. */
  readonly leafIs: boolean;
}

export type Membership =
  | { readonly kind: 'everybody' }
  | { readonly kind: 'listed' | 'not_listed'; readonly path: Path }
  | { readonly kind: 'matches' | 'differs'; readonly leaf: DecidingLeaf }
  /** The segment was deleted, or its filter no longer fits the catalog: nobody can be selected. */
  | { readonly kind: 'segment_gone' | 'filter_invalid'; readonly path: Path };

export function isSelected({ kind }: Membership): boolean {
  return kind === 'everybody' || kind === 'listed' || kind === 'matches';
}

/** A device of a person, asked about one message. */
export interface Asked {
  readonly audience: Membership;
  /** Null: the message excludes nobody. */
  readonly exclusion: Membership | null;
}
