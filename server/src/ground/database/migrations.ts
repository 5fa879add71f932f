// The migrations of the service's database, which stand beside the program.
import { type Migration, migrate as migrateBy, missingOf, readMigrations, type Sql } from '@carillon/postgres';
import { failpoint } from '../host/failpoint.ts';
import { installed } from '../install.ts';
import { advisoryLocks } from './advisory-locks.ts';

export function listMigrations(): Promise<Migration[]> {
  return readMigrations(installed('server/migrations'));
}

/**
 * Applies the missing migrations and returns their names, as `migrate` of the package does. `tell`
 * takes the sentence that says who is waited for.
 */
export async function migrate(
  sql: Sql,
  migrations?: readonly Migration[],
  tell?: (line: string) => void,
): Promise<string[]> {
  return migrateBy(sql, migrations ?? (await listMigrations()), {
    lock: advisoryLocks.migrations,
    midway: () => failpoint('migrate.mid'),
    ...(tell && { tell }),
  });
}

/** Lists the names of migrations that have not been applied. */
export async function missingMigrations(sql: Sql): Promise<string[]> {
  return missingOf(sql, await listMigrations());
}
