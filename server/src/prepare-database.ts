// Makes a database ready for the service: migrations, the partitions of the weeks and months ahead, and the checks of its settings.
import { ensureDeliveryPartitions } from './delivery/partitions.ts';
import { ensureEventPartitions } from './events/partitions.ts';
import type { Sql } from './platform/db.ts';
import { migrate } from './platform/migrate.ts';

/** Returns the names of the migrations that were applied. */
export async function prepareDatabase(sql: Sql): Promise<string[]> {
  const applied = await migrate(sql);
  await ensureDeliveryPartitions(sql);
  await ensureEventPartitions(sql);
  return applied;
}
