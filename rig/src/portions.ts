// Rows of a long answer in portions, by a cursor of the server, so that they are never all in
// memory.
import type { Fragment, Sql } from '@carillon/postgres';
import type { Row } from '../../packages/postgres/src/db.ts';

/** `statement` has no parameters. */
export async function* readInPortions<Some extends object = Row>(
  sql: Sql,
  statement: Fragment,
  rowsAtOnce: number,
): AsyncGenerator<readonly Some[]> {
  const connection = await sql.reserve();
  try {
    await connection.unsafe('BEGIN');
    await connection`DECLARE portions NO SCROLL CURSOR FOR ${statement}`;
    for (;;) {
      const rows = await connection.unsafe<Some[]>(`FETCH FORWARD ${rowsAtOnce} FROM portions`);
      if (rows.length === 0) break;
      yield rows;
    }
  } finally {
    await connection.unsafe('ROLLBACK').catch(() => undefined);
    connection.release();
  }
}
