// an upgrade while another session reads for an hour. The migrations wait for it, say for
// whom, and delay nobody's writes; a killed upgrade is finished by the next one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Reserved, type Sql } from '@carillon/postgres';
import { carillon } from '../../../rig/src/command.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { plainEnvironment, stopChild, type Workbench } from '../../../rig/src/workbench.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

/** Milliseconds that each reader is held after the upgrade has reported its wait. */
const holdMs = { full: 3_600_000, quick: 4_000 };
const lockHoldMs = { full: 600_000, quick: 4_000 };
/**
 * Milliseconds that the slowest write may take, because a lock that stops others is requested only
 * briefly.
 */
const writeMsMax = 3_500;
const pauseMs = 50;
/** Milliseconds for an upgrade on a busy machine. */
const waitsWithinMs = 180_000;
const waitPattern = /waiting for process \d+ \(pg_dump\), whose .*/;

interface Upgrade {
  readonly hasEnded: () => boolean;
  readonly said: () => string;
  kill(): Promise<void>;
  /** The exit status. */
  readonly ended: Promise<number | null>;
}

function startUpgrade(workbench: Workbench, environment: Readonly<Record<string, string>>, cwd: string): Upgrade {
  const child = spawn(process.execPath, [carillon, 'migrate'], {
    cwd,
    env: { ...plainEnvironment(), ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  workbench.onClose(() => stopChild(child, 'SIGKILL'));
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  return {
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    said: () => said,
    kill: () => stopChild(child, 'SIGKILL'),
    ended: once(child, 'close').then(([status]) => status as number | null),
  };
}

/** Resolves when the upgrade says that it waits, or has ended, or has had long enough to say so. */
async function untilItWaits({ said, hasEnded }: Upgrade): Promise<void> {
  const deadline = performance.now() + waitsWithinMs;
  while (!waitPattern.test(said()) && !hasEnded() && performance.now() < deadline) await sleep(pauseMs);
}

/** Writes to the table of devices all the time. Returns the slowest write in milliseconds. */
function startWriting(sql: Sql): () => Promise<number> {
  let isOver = false;
  let slowestMs = 0;
  const writing = (async () => {
    while (!isOver) {
      const begunAtMs = performance.now();
      await sql`UPDATE devices SET mismatches = 0 WHERE id = '00000000-0000-0000-0000-000000000000'`;
      await sql`UPDATE messages SET name = name WHERE id = '00000000-0000-0000-0000-000000000000'`;
      slowestMs = Math.max(slowestMs, performance.now() - begunAtMs);
      await sleep(pauseMs);
    }
  })();
  return async () => {
    isOver = true;
    await writing;
    return slowestMs;
  };
}

async function beginReading(reader: Reserved, table: string): Promise<void> {
  await reader`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  await reader.unsafe(`SELECT count(*) FROM ${table}`);
}

async function run({ isQuick, report, workbench }: ProofOptions): Promise<void> {
  const directory = await workbench.makeDirectory('upgrade');
  const { sql, url, environment } = await startRunDatabase(workbench);
  const reader = await connect({ url, name: 'pg_dump', statementTimeoutMs: 0 });
  workbench.onClose(async () => reader.release());
  const held = (ms: number): string => (ms < 60_000 ? `${ms / 1000} s` : `${ms / 60_000} min`);

  // As before migration 74, which builds an index concurrently.
  await sql`DELETE FROM schema_migrations WHERE number = 74`;
  await sql`DROP INDEX messages_sending`;
  await beginReading(reader, 'apps');
  let complaints: string[] = [];
  const snapshotMs = isQuick ? holdMs.quick : holdMs.full;
  report.progress(`a snapshot is held for ${held(snapshotMs)}`);
  const stopWriting = startWriting(sql);
  const killed = startUpgrade(workbench, environment, directory);
  await untilItWaits(killed);
  await sleep(snapshotMs / 2);
  if (killed.hasEnded()) complaints.push(`the upgrade ended beside the snapshot: ${killed.said().trim()}`);
  const saidFirst = killed.said();
  await killed.kill();
  const upgrade = startUpgrade(workbench, environment, directory);
  await untilItWaits(upgrade);
  await sleep(snapshotMs / 2);
  if (upgrade.hasEnded()) complaints.push(`the second upgrade ended beside the snapshot: ${upgrade.said().trim()}`);
  await reader`COMMIT`;
  const status = await upgrade.ended;
  if (status !== 0) complaints.push(`the second upgrade ended with ${status}: ${upgrade.said().trim()}`);
  const [index] = await sql<{ isValid: boolean }[]>`
    SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass('messages_sending')`;
  if (!index?.isValid) complaints.push('the index is missing or not valid');
  report.claim(
    'an upgrade that builds an index waits for a snapshot, is killed, and is finished by the next one',
    `snapshot held ${held(snapshotMs)}`,
    complaints,
  );
  const slowestBesideBuildMs = await stopWriting();

  // As before migration 100, which adds a column.
  await sql`DELETE FROM schema_migrations WHERE number = 100`;
  await sql`ALTER TABLE devices DROP COLUMN changed_at`;
  await beginReading(reader, 'devices');
  complaints = [];
  const lockMs = isQuick ? lockHoldMs.quick : lockHoldMs.full;
  report.progress(`a table is read for ${held(lockMs)}`);
  const stopAgain = startWriting(sql);
  const locking = startUpgrade(workbench, environment, directory);
  await untilItWaits(locking);
  await sleep(lockMs);
  if (locking.hasEnded()) complaints.push(`the upgrade ended beside the reader: ${locking.said().trim()}`);
  await reader`COMMIT`;
  const lockingStatus = await locking.ended;
  if (lockingStatus !== 0) complaints.push(`the upgrade ended with ${lockingStatus}: ${locking.said().trim()}`);
  report.claim('an upgrade that has to lock a table waits for its reader', `read for ${held(lockMs)}`, complaints);
  const slowestBesideLockMs = await stopAgain();

  const slowestMs = Math.max(slowestBesideBuildMs, slowestBesideLockMs);
  report.claim(
    'no write waits for the upgrade longer than its limit on locks',
    `slowest write ${slowestBesideBuildMs.toFixed(0)} ms beside the build, ${slowestBesideLockMs.toFixed(0)} ms beside the lock`,
    slowestMs > writeMsMax ? [`${slowestMs.toFixed(0)} ms, of ${writeMsMax} ms`] : [],
  );
  const tells = [saidFirst, locking.said()].map((said) => waitPattern.exec(said)?.[0]);
  report.claim(
    'it says for whom it waits',
    tells[0] ?? 'nothing',
    tells.every(Boolean) ? [] : [saidFirst, locking.said()],
  );
}

export const requirement: Requirement = { number: 'R-104', title: 'An upgrade beside long readers', run };
