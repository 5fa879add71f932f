import type { Position } from './records.ts';
import type { ImportCounts } from './row.ts';

/** The progress of an import, and its results so far. */
export interface ImportProgress {
  readonly position: Position;
  readonly records: number;
  readonly counts: ImportCounts;
  /** Records of which at least a part was refused. */
  readonly rejected: number;
  /** For each reason, the number of records that it applies to. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly rejectedBytes: number;
}
