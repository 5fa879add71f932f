// Translates one test of one column into SQL, for columns of an audience row and for properties of
// an event.
import type { Fragment, Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Test } from './check-filter.ts';

export interface SqlContext {
  readonly tx: Tx;
  readonly appId: Uuid;
  /** The present instant, as an SQL expression. */
  readonly now: Fragment;
  /**
   * The subjects whose events are read: users and devices. Absent: everybody's. A question about a
   * few devices names their people, so that it reads few rows.
   */
  readonly subjects?: readonly Uuid[];
}

/** Translates a test of a column. For a null column the result is null or false. */
export function testToSql(tx: Tx, now: Fragment, column: Fragment, test: Test): Fragment {
  switch (test.kind) {
    case 'exists':
      return tx`${column} IS NOT NULL`;
    case 'is': {
      const [value] = test.values;
      if (test.values.length === 1) return tx`${column} = ${typed(tx, value)}`;
      // `IS NOT NULL` is written out because the indexes are partial, and the planner does not
      // infer it from a list that may be empty.
      return tx`(${column} IS NOT NULL AND ${column} = ANY(${typedList(tx, test.values)}))`;
    }
    case 'order': {
      const value = tx`${test.value}::float8`;
      if (test.op === 'gt') return tx`${column} > ${value}`;
      if (test.op === 'gte') return tx`${column} >= ${value}`;
      return test.op === 'lt' ? tx`${column} < ${value}` : tx`${column} <= ${value}`;
    }
    case 'text':
      return test.values.length === 1
        ? partToSql(tx, column, test.op, test.values[0] ?? '')
        : tx`(${test.values.map((value, i) => tx`${i === 0 ? tx`` : tx` OR `}${partToSql(tx, column, test.op, value)}`)})`;
    case 'time':
      return test.op === 'before'
        ? tx`${column} < ${new Date(test.atMs)}::timestamptz`
        : tx`${column} > ${new Date(test.atMs)}::timestamptz`;
    case 'within_last':
      return tx`${column} BETWEEN ${now} - ${test.durationMs}::float8 * interval '1 millisecond' AND ${now}`;
  }
}

function partToSql(tx: Tx, column: Fragment, op: Extract<Test, { kind: 'text' }>['op'], value: string): Fragment {
  if (op === 'starts_with') return tx`starts_with(${column}, ${value}::text)`;
  // The planner can estimate how many values match a pattern. `COLLATE "C"` makes the comparison
  // cheaper: values of events have the server's own collation.
  return tx`${column} COLLATE "C" LIKE ${op === 'contains' ? `%${literally(value)}%` : `%${literally(value)}`}::text`;
}

/** Escapes a text into a pattern that matches only this text. */
function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

function typed(tx: Tx, value: string | number | boolean | undefined): Fragment {
  if (typeof value === 'number') return tx`${value}::float8`;
  return typeof value === 'boolean' ? tx`${value}::boolean` : tx`${value ?? null}::text`;
}

function typedList(tx: Tx, values: readonly (string | number | boolean)[]): Fragment {
  return typeof values[0] === 'number' ? tx`${values}::float8[]` : tx`${values.map(String)}::text[]`;
}
