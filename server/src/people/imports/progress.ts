import type { Position } from './records.ts';
import type { ImportCounts } from './row.ts';

/** Values that were omitted for one reason. */
export interface DroppedValues {
  readonly values: number;
  /** The numbers of the first lines that have such a value. */
  readonly firstLines: readonly number[];
}

/** The progress of an import, and its results so far. */
export interface ImportProgress {
  readonly position: Position;
  readonly records: number;
  readonly counts: ImportCounts;
  /** Records that were refused at least in part. */
  readonly rejected: number;
  /** For each reason, the number of records that it applies to. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly rejectedBytes: number;
  /** Values of stored records that were left out, by reason. */
  readonly dropped: Readonly<Record<string, DroppedValues>>;
}
