// Makes a database ready for the service: migrations, and the partitions of the weeks and months
// ahead.

import type { Sql } from '../database/db.ts';
import { listMigrations, migrate } from '../database/migrate.ts';
import { ensureDeliveryPartitions } from '../delivery/partitions.ts';
import { ensureEventPartitions } from '../events/partitions.ts';

export interface Prepared {
  /** The names of the migrations that were applied. */
  readonly applied: readonly string[];
  /** True: no migration had been applied before. */
  readonly wasEmpty: boolean;
}

export async function prepareDatabase(sql: Sql): Promise<Prepared> {
  const applied = await migrate(sql);
  await ensureDeliveryPartitions(sql);
  await ensureEventPartitions(sql);
  return { applied, wasEmpty: applied.length === (await listMigrations()).length };
}
