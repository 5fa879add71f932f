// R-17, and the part of R-18 that concerns leases: several processes claim batches at once by the
// service's own statements. A table that no claim knows of records who holds which batch.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Sql } from '@carillon/postgres';
import { type RunDatabase, startRunDatabase } from '../../../rig/src/run-database.ts';
import { stopChild } from '../../../rig/src/workbench.ts';
import { createClock } from '../../../server/src/ground/database/clock.ts';
import { mintUuid } from '../../../server/src/ground/values/ids.ts';
import { claimNextPacedBatch } from '../../../server/src/sending/delivery/pace-queries.ts';
import { claimNextBatch } from '../../../server/src/sending/delivery/queries.ts';
import { fillBatches, fillLeases, makeHolds } from '../claims/batches-table.ts';
import type { Claimed } from '../claims/claimers-process.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const program = fileURLToPath(new URL('../claims/claimers-process.ts', import.meta.url));

const processes = 3;
const claimersPerProcess = 16;
/** Fewer batches than claimers, so that claimers compete for the same ones. */
const batches = { apps: 8, perApp: 5 };

async function claimAtOnce(
  claims: number,
  { url }: RunDatabase,
  { seed, workbench }: ProofOptions,
): Promise<Claimed[]> {
  const children = Array.from({ length: processes }, (_, index) => {
    const parameters = [url, Math.ceil(claims / processes), claimersPerProcess, seed + index * 1_000];
    const child = fork(program, parameters.map(String), { execArgv: ['--import', import.meta.resolve('tsx')] });
    workbench.onClose(() => stopChild(child, 'SIGTERM'));
    return child;
  });
  return await Promise.all(
    children.map(async (child) => {
      const [claimed] = (await Promise.race([
        once(child, 'message'),
        once(child, 'exit').then(([code]) => {
          throw new Error(`A process of claimers ended with ${code}.`);
        }),
      ])) as [Claimed];
      return claimed;
    }),
  );
}

async function proveClaims(database: RunDatabase, options: ProofOptions): Promise<void> {
  const { isQuick, report } = options;
  const { sql } = database;
  await makeHolds(sql);
  await fillBatches(sql, batches);
  const all = await claimAtOnce(isQuick ? 3_000 : 100_000, database, options);
  const sum = (of: (one: Claimed) => number) => all.reduce((total, one) => total + of(one), 0).toLocaleString('en');
  const complaints = all.flatMap((one) => one.complaints);
  if (all.every(({ takenOver }) => takenOver === 0)) complaints.push('no lease ever ran out');
  report.claim(
    'no batch is held twice, and no claim takes more than one',
    `${sum(({ claims }) => claims)} claims by ${processes * claimersPerProcess} claimers in ${processes} processes, ${sum(({ takenOver }) => takenOver)} of them after a lease ran out; ${sum(({ empty }) => empty)} found nothing`,
    complaints,
  );
  await sql`TRUNCATE batches`;
}

/** Proves the part of R-18 that concerns leases. */
async function proveLeases(sql: Sql, { isQuick, report }: ProofOptions): Promise<void> {
  const clock = await createClock(sql);
  const live = isQuick ? 1_000 : 10_000;
  for (const isPaced of [false, true]) {
    const dead = await fillLeases(sql, live, isPaced);
    const claim = () =>
      isPaced
        ? claimNextPacedBatch(sql, clock, mintUuid(clock.nowMs()))
        : claimNextBatch(sql, clock, '00000000-0000-0000-0000-000000000000', mintUuid(clock.nowMs()));
    const startedAt = performance.now();
    const first = await claim();
    const ms = performance.now() - startedAt;
    const second = await claim();
    report.claim(
      `live leases of ${isPaced ? 'paced' : 'other'} batches do not hide a dead one, and are left alone`,
      `${live.toLocaleString('en')} live, found in ${ms.toFixed(1)} ms`,
      [
        ...(first?.id === dead ? [] : [`the first claim found ${first?.id ?? 'nothing'}`]),
        ...(second === undefined ? [] : ['the second claim took a live one']),
      ],
    );
    await sql`TRUNCATE batches`;
  }
}

export const requirement: Requirement = {
  number: 'R-17',
  title: 'Claims: one holder, one batch',
  async run(options) {
    const database = await startRunDatabase(options.workbench);
    await proveClaims(database, options);
    await proveLeases(database.sql, options);
  },
};
