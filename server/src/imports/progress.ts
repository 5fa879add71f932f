import type { Position } from './records.ts';
import type { ImportCounts } from './row.ts';

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
}
