// random filters over worlds of devices with missing values, mixed case, unicode, huge and tiny numbers select just whom an
// evaluator in memory selects, on a server that compares by bytes and in a database that would compare by a language's rules.
import { openPool, type Sql } from '../../../server/src/platform/db.ts';
import { mintUuid } from '../../../server/src/platform/ids.ts';
import { prepareDatabase } from '../../../server/src/prepare-database.ts';
import { compareFilters, randomOf } from '../../../server/test/filters/compare-filters.ts';
import { makeWorld } from '../../../server/test/filters/world.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type RunDatabase, startRunDatabase } from '../rig/run-database.ts';

const filtersFull = 10_000;
const filtersQuick = 200;
/** Each world has devices, users and events of its own. */
const filtersEachWorld = 500;
const devicesEachWorld = 60;
/** Durations are counted from here, in whole milliseconds like every instant of a caller. */
const now = new Date('2026-06-15T13:37:00.123Z');

const counted = (value: number): string => value.toLocaleString('en');

async function prove({ report, seed }: ProofOptions, sql: Sql, where: string, filters: number): Promise<void> {
  const claim = `a filter and its negation select just whom an evaluator selects, ${where}`;
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
  // Where every filter matched everybody or nobody, little would be proven.
  const complaints = some > asked / 4 ? [] : ['Fewer than a quarter of the filters told devices apart.'];
  report.claim(claim, `${counted(asked)} filters, ${counted(some)} told devices apart, seed ${seed}`, complaints);
}

/** A database whose own order and comparison are those of a language, which ours must not follow. */
async function openIcuDatabase({ sql, url }: RunDatabase, { workbench }: ProofOptions): Promise<Sql> {
  await sql.unsafe(
    `CREATE DATABASE proof_icu TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US-u-ks-level1'`,
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
