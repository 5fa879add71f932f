// a database that answers too late or refuses temporarily makes no delivery fail and no push
// repeat. The troubles are tables that are locked for minutes, reads that time out repeatedly, and
// refused statements of every kind.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  cancelRunning,
  cancelWaiting,
  countRefusals,
  endConnections,
  limitLocks,
  lockAudience,
  lockDeliveries,
  makeDeadlock,
  takeConnections,
} from '../../../rig/src/refusals.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { judgePushes, judgeTally, sendToAll, slowProvider, tallyOf, untilRequests } from '../sends-through.ts';
import { type Api, Stage } from '../stage.ts';

interface Trouble {
  readonly code: string;
  readonly name: string;
  begin?(stage: Stage): Promise<void>;
  /** Called repeatedly for as long as the trouble lasts. */
  step(stage: Stage): Promise<void>;
  end?(stage: Stage): Promise<void>;
}

const troubles: readonly Trouble[] = [
  {
    code: '57014',
    name: 'statements are canceled',
    async step({ database }) {
      await cancelRunning(database);
      await sleep(10);
    },
  },
  {
    code: '55P03',
    name: 'locks take too long',
    async begin({ database }) {
      await limitLocks(database, 50);
      await endConnections(database);
    },
    async step({ database }) {
      const letGo = await lockAudience(database);
      await sleep(200);
      await letGo();
      await sleep(50);
    },
    async end({ database }) {
      await limitLocks(database, 0);
      await endConnections(database);
    },
  },
  { code: '40P01', name: 'statements are ended in deadlocks', step: ({ database }) => makeDeadlock(database) },
  { code: '53300', name: 'no connection is left', step: ({ database }) => takeConnections(database, 12_000) },
];

const quietWithinMs = 5 * 60_000;

export const requirement: Requirement = {
  number: 'R-96',
  title: 'a slow database: what it refuses for the moment fails no delivery and repeats none',
  leftOut: 'locks tables for longer than statements may wait, for more than a minute',
  async run({ isQuick, seed, report, workbench }) {
    const devices = 10_000;
    const stage = await Stage.set({ workbench, purpose: 'r-96', devices, seed });
    await stage.sandbox.setFaults([slowProvider]);
    const api = await stage.startApi({ environment: { SEND_WAIT_MS: '0' } });
    const titles = ['reads time out'];
    await readsTimeOut(stage, api, isQuick ? 3 : 10, report);
    const lockMs = isQuick ? 16_000 : 150_000;
    titles.push('the audience is locked');
    await audienceLocked(stage, api, lockMs, report);
    await stage.startWorker();
    titles.push('outcomes cannot be written');
    // Longer than a lease, because a shorter lock endangers nothing.
    await deliveriesLocked(stage, api, isQuick ? 40_000 : lockMs, report);
    for (const trouble of troubles) {
      titles.push(trouble.name);
      await refuse(stage, api, trouble, isQuick ? 4000 : 60_000, report);
    }
    const { complaints, figure } = await judgePushes(stage, titles);
    report.claim('each device had exactly one request for each message', figure, complaints);
  },
};

type Report = ProofOptions['report'];

async function judge(stage: Stage, title: string): Promise<string[]> {
  if (!(await stage.isQuiet(quietWithinMs))) return [`${title}: still under way`];
  return judgeTally(stage, title);
}

/**
 * No worker runs yet, so that the first read of every batch comes after the lock. One worker is
 * started, and a second one only for the next scene: two would read all batches of a message at
 * once, so that none would have to wait.
 */
async function readsTimeOut(stage: Stage, api: Api, times: number, report: Report): Promise<void> {
  const title = 'reads time out';
  await sendToAll(stage, api, title);
  const letGo = await lockAudience(stage.database);
  await stage.startWorker();
  const fewest = async (): Promise<number> => {
    const [row] = await stage.database.sql<{ fewest: number }[]>`SELECT min(setbacks)::int AS fewest FROM batches`;
    return row?.fewest ?? 0;
  };
  report.progress(`each batch is read in vain ${times} times`);
  let canceled = 0;
  while ((await fewest()) < times) {
    canceled += await cancelWaiting(stage.database);
    await sleep(50);
  }
  await letGo();
  const complaints = await judge(stage, title);
  report.claim(
    `the reads of each batch time out ${times} times in a row`,
    `${canceled} statements canceled`,
    complaints,
  );
}

async function audienceLocked(stage: Stage, api: Api, lockMs: number, report: Report): Promise<void> {
  const title = 'the audience is locked';
  report.progress(`${title} for ${lockMs / 1000} s`);
  const before = (await stage.sandbox.counters()).requests;
  await sendToAll(stage, api, title);
  await untilRequests(stage, before, stage.devices.length / 10);
  const letGo = await lockAudience(stage.database);
  await sleep(lockMs);
  const [row] = await stage.database.sql<{ open: number }[]>`
    SELECT count(*)::int AS open FROM batches WHERE state <> 'done'`;
  const open = row?.open ?? 0;
  await letGo();
  const complaints = await judge(stage, title);
  if (open === 0) complaints.push('all batches were done before it: nothing had to wait');
  report.claim(
    `the table audience is locked for ${lockMs / 1000} s in the middle`,
    `${open} batches waited`,
    complaints,
  );
}

/**
 * Two workers run, and each try to write outcomes holds its batch's row until it times out. So a
 * lease that nobody renews in between would be taken over, and its pushes repeated.
 */
async function deliveriesLocked(stage: Stage, api: Api, lockMs: number, report: Report): Promise<void> {
  const title = 'outcomes cannot be written';
  report.progress(`${title} for ${lockMs / 1000} s`);
  const before = (await stage.sandbox.counters()).requests;
  await sendToAll(stage, api, title);
  await untilRequests(stage, before, stage.devices.length / 10);
  const letGo = await lockDeliveries(stage.database);
  await sleep(lockMs);
  const { sent } = await tallyOf(stage, title);
  const waiting = (await stage.sandbox.counters()).requests - before - sent;
  await letGo();
  const complaints = await judge(stage, title);
  if (waiting <= 0) complaints.push('all outcomes were written before it: none had to wait');
  report.claim(
    `the table deliveries is locked against writers for ${lockMs / 1000} s in the middle`,
    `${waiting} outcomes waited`,
    complaints,
  );
}

async function refuse(stage: Stage, api: Api, trouble: Trouble, lastsMs: number, report: Report): Promise<void> {
  const { code, name } = trouble;
  report.progress(`${name} (${code})`);
  const before = await countRefusals(stage.directory, code);
  await trouble.begin?.(stage);
  let isOver = false;
  const troubled = (async () => {
    while (!isOver) await trouble.step(stage);
  })();
  const until = performance.now() + lastsMs;
  // The API's statements are refused as well. A repeated request with the same key is the same
  // message.
  while (!(await sendToAll(stage, api, name).catch(() => undefined))) await sleep(100);
  await sleep(Math.max(0, until - performance.now()));
  isOver = true;
  await troubled;
  await trouble.end?.(stage);
  const complaints = await judge(stage, name);
  const refused = (await countRefusals(stage.directory, code)) - before;
  if (refused === 0) complaints.push(`nothing was refused with ${code}`);
  report.claim(`${name} (${code}) for ${lastsMs / 1000} s`, `${refused} refusals in the logs`, complaints);
}
