// One test of one column as SQL, for the columns of an audience row and the properties of an event alike.
import type { Fragment, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Test } from './check-filter.ts';

export interface SqlContext {
  readonly tx: Tx;
  readonly appId: Uuid;
  /** The present instant, as an SQL expression. */
  readonly now: Fragment;
}

/** A test of a column, which may be null: then the answer is null or false. */
export function testToSql(tx: Tx, now: Fragment, column: Fragment, test: Test): Fragment {
  switch (test.kind) {
    case 'exists':
      return tx`${column} IS NOT NULL`;
    case 'is': {
      const [value] = test.values;
      if (test.values.length === 1) return tx`${column} = ${typed(tx, value)}`;
      // Not null is said aloud: of a list that may be empty the planner would not conclude it, and the indexes are partial.
      return tx`(${column} IS NOT NULL AND ${column} = ANY(${typedList(tx, test.values)}))`;
    }
    case 'order': {
      const value = tx`${test.value}::float8`;
      if (test.op === 'gt') return tx`${column} > ${value}`;
      if (test.op === 'gte') return tx`${column} >= ${value}`;
      return test.op === 'lt' ? tx`${column} < ${value}` : tx`${column} <= ${value}`;
    }
    case 'text':
      if (test.op === 'starts_with') return tx`starts_with(${column}, ${test.value}::text)`;
      // Of a pattern the planner knows how many it matches. Under a collation other than "C" it would cost more: values of events have
      // the server's own.
      return tx`${column} COLLATE "C" LIKE ${test.op === 'contains' ? `%${literally(test.value)}%` : `%${literally(test.value)}`}::text`;
    case 'time':
      return test.op === 'before'
        ? tx`${column} < ${new Date(test.atMs)}::timestamptz`
        : tx`${column} > ${new Date(test.atMs)}::timestamptz`;
    case 'within_last':
      return tx`${column} BETWEEN ${now} - ${test.durationMs}::float8 * interval '1 millisecond' AND ${now}`;
  }
}

/** A text as a pattern that matches it alone. */
function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

function typed(tx: Tx, value: string | number | boolean | undefined): Fragment {
  if (typeof value === 'number') return tx`${value}::float8`;
  return typeof value === 'boolean' ? tx`${value}::boolean` : tx`${value ?? null}::text`;
}

function typedList(tx: Tx, values: readonly (string | number | boolean)[]): Fragment {
  return typeof values[0] === 'number' ? tx`${values as number[]}::float8[]` : tx`${values.map(String)}::text[]`;
}
