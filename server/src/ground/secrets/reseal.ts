// Seals stored secrets with the current master key, row by row, while other processes read and
// change them: the main part of a rotation of that key. May be interrupted anywhere and
// started again. Never overwrites a concurrent change, and logs no opened secret.
import { failpoint } from '../host/failpoint.ts';
import { type Seal, SealError, type SealPlace } from './seal.ts';

export interface Resealed {
  /** Rows whose secrets were sealed with the current key by this call. */
  readonly count: number;
  /** Rows that neither key opens; they are unchanged. */
  readonly unreadable: readonly string[];
}

/** A table's rows with a secret that is not sealed with the current key, read in lots. */
export interface SealedRows<Row> {
  /** Lists the next rows after a row; an empty list ends the walk. */
  list(after: Row | undefined): Promise<readonly Row[]>;
  /**
   * Writes a row sealed with the current key. Returns false when the row changed after it was read.
   * Throws `SealError` for a secret that does not open.
   */
  replace(row: Row): Promise<boolean>;
  /** The row's name, for an operator. */
  nameOf(row: Row): string;
}

/** Ends when no row is left that could be sealed with the current key. */
export async function resealRows<Row>(rows: SealedRows<Row>): Promise<Resealed> {
  let count = 0;
  for (;;) {
    const unreadable: string[] = [];
    let hasMissed = false;
    let last: Row | undefined;
    for (let lot = await rows.list(last); lot.length > 0; lot = await rows.list(last)) {
      for (const row of lot) {
        last = row;
        const isReplaced = await rows.replace(row).catch((error: unknown) => {
          if (!(error instanceof SealError)) throw error;
          return undefined;
        });
        if (isReplaced === undefined) unreadable.push(rows.nameOf(row));
        else if (isReplaced) count++;
        else hasMissed = true;
        await failpoint('reseal.mid');
      }
    }
    if (!hasMissed) return { count, unreadable };
  }
}

/**
 * Returns the same secret, sealed with the current key. Throws `SealError` when it does not open.
 */
export function resealed(seal: Seal, record: string, place: SealPlace): string {
  return record.startsWith(seal.prefix) ? record : seal.seal(seal.open(record, place), place);
}
