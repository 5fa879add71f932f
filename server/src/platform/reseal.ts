// Seals stored secrets with the current master key, row by row, while others read and change them: what a rotation of that key
// consists of. May be broken off anywhere and begun again. Never writes over what changed meanwhile, and logs nothing it opens.
import { failpoint } from './failpoint.ts';
import { type Seal, SealError, type SealPlace } from './seal.ts';

export interface Resealed {
  /** Rows whose secrets are sealed with the current key now, and were not before. */
  readonly count: number;
  /** Rows that neither key opens: as they were. */
  readonly unreadable: readonly string[];
}

/** A table's rows with a secret that is not sealed with the current key, some at a time. */
export interface SealedRows<Row> {
  /** The next ones behind a row; none: that was the last. */
  list(after: Row | undefined): Promise<readonly Row[]>;
  /** Writes them anew. False: the row is not as it was read. Throws `SealError` for a secret that does not open. */
  replace(row: Row): Promise<boolean>;
  /** For an operator. */
  nameOf(row: Row): string;
}

/** Ends when no row is left that could be sealed anew. */
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

/** The same secret, sealed with the current key. Throws `SealError` when it does not open. */
export function resealed(seal: Seal, record: string, place: SealPlace): string {
  return record.startsWith(seal.prefix) ? record : seal.seal(seal.open(record, place), place);
}
