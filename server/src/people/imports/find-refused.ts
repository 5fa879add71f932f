// Explains in sentences why rows are refused: by the error of each row, or by trials with parts of
// a lot when the database refuses the whole lot. Trials are rolled back.

import { repeatOnDeadlock, type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { Refused } from './given-row.ts';
import { importRows } from './import-rows.ts';
import { type ImportRow, RowsRefused } from './row.ts';

interface Context {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/**
 * Returns the sentence of a refusal. Any other error is a fault; it is thrown again and ends the
 * import.
 */
export function sentenceOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (!(error instanceof ApiError)) throw error;
  const issues = error.details.issues ?? [];
  const said = issues
    .slice(0, 5)
    // The API's message says "the body"; here the body is a line, or an object of a list.
    .map(({ path, message }) => (path.length === 0 ? ofARecord(message) : `${path.join('.')}: ${message}`));
  return said.length === 0 ? error.message : said.join(' ');
}

/** The reason why a row is refused, and the properties without which it would fit. */
export interface RefusedRow {
  readonly sentence: string;
  readonly misfits: readonly string[];
}

/**
 * Returns the rows that made a transaction fail, with the reasons. Throws the error when
 * none of the rows caused it.
 */
export async function findRefused(
  context: Context,
  rows: readonly ImportRow[],
  error: unknown,
): Promise<ReadonlyMap<ImportRow, RefusedRow>> {
  if (error instanceof RowsRefused) {
    return new Map(
      [...error.refusals].map(([row, { error: refusal, misfits }]) => [
        row,
        { sentence: sentenceOf(refusal), misfits },
      ]),
    );
  }
  const found = isAboutData(error) ? await findUnstorable(context, rows) : new Map<ImportRow, RefusedRow>();
  if (found.size === 0) throw error;
  return found;
}

/** Finds the rows that cannot be stored by trying halves. Nothing of a trial is kept. */
async function findUnstorable(
  context: Context,
  rows: readonly ImportRow[],
): Promise<ReadonlyMap<ImportRow, RefusedRow>> {
  const { sql, clock, appId } = context;
  const [first] = rows;
  if (!first) return new Map();
  try {
    await repeatOnDeadlock(() =>
      transaction<void>(sql, async (tx, rollback) => {
        await importRows({ tx, clock, appId }, rows);
        rollback(undefined);
      }),
    );
    return new Map();
  } catch (error) {
    // Refused rows are found in the next try, without the rows that cannot be stored.
    if (error instanceof RowsRefused) return new Map();
    if (!isAboutData(error)) throw error;
    if (rows.length === 1) {
      return new Map([[first, { sentence: `The database cannot store it (${codeOf(error)}).`, misfits: [] }]]);
    }
    const middle = Math.ceil(rows.length / 2);
    const left = await findUnstorable(context, rows.slice(0, middle));
    return new Map([...left, ...(await findUnstorable(context, rows.slice(middle)))]);
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}

// Values with a form that the type does not allow, values that a constraint forbids, and values
// that are too large.
function isAboutData(error: unknown): boolean {
  return /^(22|23|54)...$/.test(codeOf(error));
}

/** Rewrites the message for a record of a file. The line number is stored beside the reason. */
function ofARecord(message: string): string {
  return message.replace(/^The body\b/, 'It').replace(' at line 1, column ', ' at column ');
}
