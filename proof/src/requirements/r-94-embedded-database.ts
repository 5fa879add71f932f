// R-94: the service is killed while it writes, with its embedded database left running or killed as
// well. It must start again at once on the same data.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { carillon } from '../../../rig/src/command.ts';
import { listChildren } from '../../../rig/src/measure.ts';
import { createRandom } from '../../../rig/src/random.ts';
import { openDatabase, type Service, startService } from '../../../rig/src/service.ts';
import { plainEnvironment, type Workbench } from '../../../rig/src/workbench.ts';
import { startWriting } from '../embedded/writers.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

/** The longest path that a unix socket can have, in bytes. */
const socketPathBytesMax = 107;
const readySecondsMax = 10;
const writesBetweenKills = 20;

/**
 * The killed processes: the supervisor alone, the supervisor with its processes, or these and the
 * database.
 */
const victims = ['supervisor', 'service', 'service and database'] as const;
type Victim = (typeof victims)[number];

/** A data directory whose path is too long for a socket. */
async function makeDataDirectory(workbench: Workbench): Promise<string> {
  const directory = join(await workbench.makeDirectory('embedded'), 'd'.repeat(socketPathBytesMax));
  await mkdir(directory);
  return directory;
}

async function findPostmaster(dataDir: string): Promise<number> {
  const cluster = resolve(dataDir, (await readFile(join(dataDir, 'database'), 'utf8')).trim());
  return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

async function kill({ supervisorPid, dataDir }: Service, victim: Victim): Promise<void> {
  const postmaster = await findPostmaster(dataDir);
  const processes = (await listChildren(supervisorPid)).filter((pid) => pid !== postmaster);
  killProcess(supervisorPid);
  if (victim !== 'supervisor') for (const pid of processes) killProcess(pid);
  if (victim === 'service and database') killProcess(postmaster);
}

interface Refusal {
  readonly code: number | null;
  readonly words: string;
}

async function startSecond(dataDir: string): Promise<Refusal> {
  const child = spawn(process.execPath, [carillon, 'start'], {
    cwd: dataDir,
    env: { ...plainEnvironment(), DATA_DIR: dataDir, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const late = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  return { code, words: words.trim().split('\n').at(-1) ?? '' };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const kills = isQuick ? 3 : 50;
  const random = createRandom(seed);
  const dataDir = await makeDataDirectory(workbench);
  // Whatever happens, the database is killed at the end. After a good run it has ended already.
  workbench.onClose(async () => {
    const left = await findPostmaster(dataDir).catch(() => undefined);
    if (left !== undefined) killProcess(left);
  });
  let service = await startService(workbench, dataDir);
  const app = await service.run<{ server_key: string }>('app', 'create', 'Proof', '--plan', 'unlimited');
  const writers = startWriting(app.server_key, seed);
  const seconds: number[] = [];
  const counts: Record<Victim, number> = { supervisor: 0, service: 0, 'service and database': 0 };
  const lost: string[] = [];
  for (let i = 0; i < kills; i += 1) {
    const before = writers.acknowledged;
    writers.goOnAt(service.url);
    while (writers.acknowledged < before + writesBetweenKills) await sleep(5);
    await sleep(random.below(300));
    const victim = victims[i % victims.length] ?? 'service';
    await kill(service, victim);
    counts[victim] += 1;
    writers.goOnAt(undefined);
    service = await startService(workbench, dataDir);
    seconds.push(service.startedInSeconds);
    const sql = await openDatabase(workbench, service);
    lost.push(...(await writers.listLost(sql)));
    await sql.end({ timeout: 1 });
    if ((i + 1) % 10 === 0) report.progress(`  ${i + 1} kills`);
  }
  await writers.stop();
  const slow = seconds.filter((each) => each > readySecondsMax);
  const median = [...seconds].sort((one, other) => one - other)[Math.floor(seconds.length / 2)] ?? 0;
  report.claim(
    `killed during writes, the next start is ready within ${readySecondsMax} seconds`,
    `${kills} kills (${victims.map((victim) => `${counts[victim]} of ${victim}`).join(', ')}); ready in ${median.toFixed(1)} s by median, ${Math.max(...seconds).toFixed(1)} s at most`,
    slow.map((each) => `ready only after ${each.toFixed(1)} s`),
  );
  report.claim(
    'nothing acknowledged is lost',
    `${writers.acknowledged.toLocaleString('en')} writes acknowledged`,
    lost,
  );

  const second = await startSecond(dataDir);
  const isRefused = second.code === 1 && second.words.length > 0;
  const sentence = second.words.replace(dataDir, 'DATA_DIR');
  report.claim(
    'a second service on the same data directory refuses, with a sentence',
    `status ${second.code}`,
    isRefused && second.words !== sentence ? [] : [`It says: ${second.words}`],
  );

  const sql = await openDatabase(workbench, service);
  const [setting] = await sql<{ fsync: string }[]>`SELECT current_setting('fsync') AS fsync`;
  report.claim('fsync stays on', `fsync is ${setting?.fsync}`, setting?.fsync === 'on' ? [] : ['It is off.']);
  await sql.end({ timeout: 1 });
  await service.stop();
}

export const requirement: Requirement = {
  number: 'R-94',
  title: 'The embedded database, killed',
  leftOut: 'limits how long a start after a kill may take, on a quiet machine',
  run,
};
