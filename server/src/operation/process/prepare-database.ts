// Makes a database ready for the service: migrations, and the partitions of the weeks and months
// ahead.

import { repeatWhileLocked, type Sql, tellWaits } from '@carillon/postgres';
import { readServerMs } from '../../ground/database/clock.ts';
import { listMigrations, migrate } from '../../ground/database/migrations.ts';
import { ensureEventPartitions } from '../../insight/events/partitions.ts';
import { ensureDeliveryPartitions } from '../../sending/delivery/partitions.ts';

export interface Prepared {
  /** The names of the migrations that were applied. */
  readonly applied: readonly string[];
  /** True: no migration had been applied before. */
  readonly wasEmpty: boolean;
}

/** Waits without limit for other sessions; `tell` gets a line that names them. */
export async function prepareDatabase(sql: Sql, tell: (line: string) => void = () => undefined): Promise<Prepared> {
  return tellWaits(sql, tell, async () => {
    const applied = await migrate(sql, undefined, tell);
    // Ids of batches carry the database's time, and the host's clock may be wrong by months.
    const nowMs = await readServerMs(sql);
    await repeatWhileLocked(() => ensureDeliveryPartitions(sql, nowMs));
    await ensureEventPartitions(sql, { nowMs });
    return { applied, wasEmpty: applied.length === (await listMigrations()).length };
  });
}
