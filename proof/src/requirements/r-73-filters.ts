// random filters must select exactly the devices that an evaluator in memory selects. The
// worlds have missing values, mixed case, Unicode, and huge and tiny numbers. The database compares
// by bytes in one run and would by default compare by a language's rules in the other.

import { openPool, type Sql } from '@carillon/postgres';
import { compareFilters, randomOf } from '../../../rig/src/filters/compare-filters.ts';
import { makeWorld } from '../../../rig/src/filters/world.ts';
import { type RunDatabase, startRunDatabase } from '../../../rig/src/run-database.ts';
import { mintUuid } from '../../../server/src/ground/values/ids.ts';
import { prepareDatabase } from '../../../server/src/operation/process/prepare-database.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const filtersFull = 10_000;
const filtersQuick = 200;
/** Each world has its own devices, users and events. */
const filtersEachWorld = 500;
const devicesEachWorld = 60;
/**
 * Relative durations count from this instant, which like every caller's instant is in whole
 * milliseconds.
 */
const now = new Date('2026-06-15T13:37:00.123Z');

const counted = (value: number): string => value.toLocaleString('en');

async function prove({ report, seed }: ProofOptions, sql: Sql, where: string, filters: number): Promise<void> {
  const claim = `a filter and its negation select exactly the devices that an evaluator selects, ${where}`;
  let asked = 0;
  let some = 0;
  try {
    for (let world = 0; asked < filters; world++) {
      const appId = mintUuid();
      const runs = Math.min(filtersEachWorld, filters - asked);
      const made = await makeWorld(sql, appId, now, randomOf(seed + world), devicesEachWorld);
      some += await compareFilters({ sql, appId, now }, made, [made.catalog], { runs, seed: seed + world });
      asked += runs;
      report.progress(`  ${counted(asked)} of ${counted(filters)} ${where}`);
    }
  } catch (error) {
    const [line = ''] = String((error as Error).message).split('\n\n');
    report.claim(claim, `${counted(asked)} filters, then one that differs`, [`seed ${seed}: ${line}`]);
    return;
  }
  // Filters that match everybody or nobody prove little.
  const complaints = some > asked / 4 ? [] : ['Fewer than a quarter of the filters told devices apart.'];
  report.claim(claim, `${counted(asked)} filters, ${counted(some)} told devices apart, seed ${seed}`, complaints);
}

/**
 * Opens a database whose default collation is a language's. The service must not follow that
 * collation.
 */
async function openIcuDatabase({ admin, url }: RunDatabase, { workbench }: ProofOptions): Promise<Sql> {
  await admin.unsafe(
    `CREATE DATABASE proof_icu TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US-u-ks-level1' OWNER ${new URL(url).username}`,
  );
  const address = new URL(url);
  address.pathname = '/proof_icu';
  const icu = openPool({ url: address.href, connectionsMax: 3, name: 'carillon proof', statementTimeoutMs: 300_000 });
  workbench.onClose(() => icu.end({ timeout: 1 }));
  await prepareDatabase(icu);
  return icu;
}

export const requirement: Requirement = {
  number: 'R-73',
  title: 'Filters: 10,000 random ones equal an evaluator in memory, missing values and negations included',
  async run(options) {
    const filters = options.isQuick ? filtersQuick : filtersFull;
    const database = await startRunDatabase(options.workbench);
    await prove(options, database.sql, 'by bytes', filters);
    await prove(
      options,
      await openIcuDatabase(database, options),
      'where the database compares as English does',
      filters,
    );
  },
};
