// measures what a thousand idle apps cost the database, with 4 processes and with 16. It also
// proves that NOTIFY blocks nobody: a process sends it at most twenty times a second, and never in
// a transaction that writes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { fillApps, watchAtRest, webhooksEach } from '../../../rig/src/idle-world.ts';
import { addDevices } from '../../../rig/src/mixed-app.ts';
import { startRunningService } from '../../../rig/src/running-service.ts';
import { findProcesses, openDatabase, startService } from '../../../rig/src/service.ts';
import { toldChannel } from '../../../server/src/ground/database/teller.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const commitsMost = 20;
const percentMost = 2;
const growthMost = 1.5;
const notifiesMost = 20;

interface Size {
  readonly apps: number;
  readonly processes: readonly number[];
  readonly settleSeconds: number;
  readonly seconds: number;
  readonly messages: number;
  readonly devices: number;
}

const full: Size = {
  apps: 1_000,
  processes: [4, 16],
  // The first upkeep comes a minute after a start.
  settleSeconds: 75,
  seconds: 120,
  messages: 2_000,
  devices: 50_000,
};
const quick: Size = { apps: 200, processes: [2, 4], settleSeconds: 16, seconds: 15, messages: 100, devices: 2_000 };

async function proveRest({ workbench, report, isQuick }: ProofOptions, size: Size): Promise<void> {
  const commits: number[] = [];
  const percents: number[] = [];
  for (const processes of size.processes) {
    report.progress(`${processes} processes, ${size.apps} apps with ${webhooksEach} webhooks each`);
    const service = await startService(workbench, await workbench.makeDirectory(`rest-${processes}`), {
      environment: { WORKERS: String(processes - 1) },
    });
    const sql = await openDatabase(workbench, service);
    await fillApps(sql, size.apps);
    const { postgres } = await findProcesses(service, sql);
    await sleep(size.settleSeconds * 1000);
    const rest = await watchAtRest(sql, { postgres: postgres[0] ?? 0, seconds: size.seconds });
    await sql.end({ timeout: 1 });
    await service.stop();
    commits.push(rest.commitsPerSecond);
    percents.push(rest.postgresPercent);
    const isFirst = commits.length === 1;
    // With more processes, the first run's limits may be exceeded by half.
    const most = isFirst ? 1 : growthMost;
    const complaints: string[] = [];
    const [first = 0] = commits;
    if (rest.commitsPerSecond <= 0) complaints.push('nothing was counted: the statistics of the database are off');
    if (rest.commitsPerSecond > commitsMost * most) complaints.push(`more than ${commitsMost * most} commits a second`);
    if (!isFirst && rest.commitsPerSecond > first * growthMost)
      complaints.push(`more than ${growthMost} times the commits of ${size.processes[0]} processes`);
    // A smoke run is too short to separate its figures from the start.
    if (!isQuick && rest.postgresPercent > percentMost * most)
      complaints.push(`more than ${percentMost * most} % of a core in PostgreSQL`);
    if (rest.notifiesPerSecond > notifiesMost) complaints.push('more NOTIFYs than one process alone may make');
    if (rest.notifiesPerSecond <= 0) complaints.push('no process looks for the others');
    report.claim(
      `at rest ${processes} processes make at most ${commitsMost * most} commits/s and use ${percentMost * most} % of a core`,
      `${rest.commitsPerSecond.toFixed(1)} commits/s, ${rest.postgresPercent.toFixed(2)} %, ${rest.notifiesPerSecond.toFixed(1)} NOTIFY/s, ${rest.connections} connections`,
      complaints,
    );
  }
}

/**
 * Finds holders of the lock that a commit with NOTIFY takes that have also written rows of a send.
 * Each look is a sample.
 */
async function findNotifyingWriters(sql: Sql): Promise<{ readonly seen: number; readonly writers: number }> {
  const [row] = await sql<{ seen: number; writers: number }[]>`
    WITH notifying AS (
      SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = 0 AND database = 0
    )
    SELECT (SELECT count(*)::int FROM notifying) AS seen, (SELECT count(DISTINCT l.pid)::int FROM pg_locks l JOIN notifying n ON n.pid = l.pid
      WHERE l.locktype = 'relation' AND l.mode IN ('RowExclusiveLock', 'RowShareLock')) AS writers`;
  return row ?? { seen: 0, writers: 0 };
}

async function proveTelling({ workbench, report, seed }: ProofOptions, { messages, devices }: Size): Promise<void> {
  const workers = 3;
  const service = await startRunningService(workbench, workers);
  const { sql } = service.database;
  const app = await service.newApp('Telling');
  const made: string[] = [];
  const plan = { count: devices, platform: 'android', seed: `r-99 ${seed}` } as const;
  await addDevices(sql, app, service.sandbox, plan, (some) => void made.push(...some.map(({ id }) => id)));
  const heardAt: number[] = [];
  const ear = await sql.reserve();
  await ear.listen(toldChannel, () => heardAt.push(performance.now()));
  let isOver = false;
  let samples = 0;
  let seen = 0;
  let writers = 0;
  const sampling = (async () => {
    while (!isOver) {
      const sample = await findNotifyingWriters(sql);
      samples++;
      seen += sample.seen;
      writers += sample.writers;
      await sleep(1);
    }
  })();
  report.progress(`one message to ${devices} devices, and ${messages} to one each`);
  const content = { title: 'Telling' };
  const atOnce = 20;
  let next = 0;
  const sendAll = async () => {
    const large = await service.send(app, { audience: { all: true }, content });
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let one = next++; one < messages; one = next++) {
          const device = made[one % made.length];
          if (device !== undefined) await service.send(app, { audience: { device_ids: [device] }, content });
        }
      }),
    );
    return service.untilFinal(app, large);
  };
  const final = await sendAll().finally(() => {
    isOver = true;
    return sampling;
  });
  ear.release();
  const most = mostWithin(heardAt, 1_000);
  const allowed = notifiesMost * (workers + 1);
  report.claim(
    `a process makes at most ${notifiesMost} NOTIFYs a second, whatever ends`,
    `${heardAt.length} NOTIFYs for ${messages + 1} messages; in no second more than ${most} by ${workers + 1} processes`,
    [
      ...(most > allowed ? [`more than ${allowed} in a second`] : []),
      ...(heardAt.length === 0 ? ['nothing was heard'] : []),
      ...(final.report['pending'] ? [`the large message has ${final.report['pending']} deliveries pending`] : []),
    ],
  );
  report.claim(
    'no transaction that writes deliveries or messages makes a NOTIFY',
    `looked ${samples} times at who holds the lock of a NOTIFY's commit: ${seen} did, ${writers} of them held rows`,
    [
      ...(writers > 0 ? [`${writers} transactions held rows at the commit of a NOTIFY`] : []),
      ...(samples < 20 ? ['too few looks to say so'] : []),
    ],
  );
}

/** The largest number of instants within `spanMs` of each other. */
function mostWithin(sorted: readonly number[], spanMs: number): number {
  let most = 0;
  let from = 0;
  for (let to = 0; to < sorted.length; to++) {
    while ((sorted[to] ?? 0) - (sorted[from] ?? 0) >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

export const requirement: Requirement = {
  number: 'R-99',
  title: 'At rest: commits and CPU of a thousand apps with nothing to do, on 4 processes and on 16; NOTIFYs',
  leftOut: 'lets services settle and rest, for more than a minute',
  async run(options) {
    const size = options.isQuick ? quick : full;
    await proveRest(options, size);
    await proveTelling(options, size);
  },
};
