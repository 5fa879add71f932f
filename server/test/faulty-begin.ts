// A database one of whose transactions goes wrong.
import type { Sql } from '@carillon/postgres';

type Begin = Sql['begin'];

/** A pool whose transaction number `which` behaves as `faulty` says; all others are real. */
export function withFaultyBegin(
  sql: Sql,
  which: number,
  faulty: (work: Parameters<Begin>[0]) => Promise<unknown>,
): Sql {
  let begun = 0;
  return new Proxy(sql, {
    get(target, name) {
      if (name !== 'begin') return Reflect.get(target, name);
      return (work: Parameters<Begin>[0]) => (++begun === which ? faulty(work) : target.begin(work));
    },
  });
}
