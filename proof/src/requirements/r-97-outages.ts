// the database is unreachable for a minute in the middle of a large send by two live workers,
// in each way in which a database goes away. A third worker starts when the database is back. No
// process dies, no push is repeated, no device is left out, and work continues soon.
import { setTimeout as sleep } from 'node:timers/promises';
import { freeze } from '../../../rig/src/run-database.ts';
import type { ServiceNode } from '../../../rig/src/service-node.ts';
import type { Requirement } from '../requirement.ts';
import {
  judgePushes,
  judgeTally,
  listWorkers,
  sendToAll,
  slowProvider,
  tallyOf,
  untilRequests,
} from '../sends-through.ts';
import { type Api, Stage } from '../stage.ts';

interface Outage {
  readonly name: string;
  /** Begins the outage. The returned function ends it. */
  begin(stage: Stage): Promise<() => Promise<void> | void>;
}

const outages: readonly Outage[] = [
  { name: 'every process of the database is stopped', begin: ({ database }) => freeze(database) },
  {
    name: 'a black hole on the way',
    async begin({ proxy }) {
      proxy?.set({ isSilent: true });
      return () => proxy?.set({});
    },
  },
  {
    name: 'the way is shut',
    async begin({ proxy }) {
      proxy?.set({ isRefusing: true });
      proxy?.reset();
      return () => proxy?.set({});
    },
  },
  {
    name: 'the database is stopped and started',
    async begin({ database }) {
      await database.stop();
      return () => database.start();
    },
  },
];

const backWithinMs = 10_000;
const quietWithinMs = 10 * 60_000;
const pollMs = 50;

export const requirement: Requirement = {
  number: 'R-97',
  title: 'outages: the database is away for longer than a lease, and no push is repeated',
  leftOut: 'lets each outage outlast the leases, for more than a minute',
  async run({ isQuick, seed, report, workbench }) {
    // Longer than a lease, because a shorter outage endangers nothing.
    const outageMs = isQuick ? 24_000 : 60_000;
    const tried = isQuick ? outages.slice(0, 2) : outages;
    const devices = isQuick ? 20_000 : 100_000;
    const stage = await Stage.set({ workbench, purpose: 'r-97', devices, seed, isProxied: true });
    await stage.sandbox.setFaults([slowProvider]);
    const api = await stage.startApi({ environment: { SEND_WAIT_MS: '0' } });
    const workers = [await stage.startWorker(), await stage.startWorker()];
    for (const outage of tried) {
      report.progress(`${outage.name}, ${outageMs / 1000} s`);
      const { figure, complaints } = await sendThrough(stage, api, workers, outage, outageMs);
      report.claim(outage.name, figure, complaints);
    }
    const titles = tried.map(({ name }) => name);
    const { complaints, figure } = await judgePushes(stage, titles);
    report.claim('each device had exactly one request for each message', figure, complaints);
  },
};

async function sendThrough(
  stage: Stage,
  api: Api,
  workers: readonly ServiceNode[],
  { name, begin }: Outage,
  outageMs: number,
): Promise<{ figure: string; complaints: string[] }> {
  const complaints: string[] = [];
  const processes = await listWorkers([api.node, ...workers]);
  const before = (await stage.sandbox.counters()).requests;
  await sendToAll(stage, api, name);
  await untilRequests(stage, before, stage.devices.length / 10);
  const end = await begin(stage);
  await sleep(outageMs);
  const pushed = (await stage.sandbox.counters()).requests - before;
  await end();
  const backAt = performance.now();
  // It knows nothing of the outage, and must leave the batches to their owners all the same.
  const starting = stage.startWorker();
  starting.catch(() => undefined);
  const { sent } = await tallyOf(stage, name);
  if (pushed >= stage.devices.length) complaints.push('all pushes were made before it: nothing was left to go on with');
  if (pushed <= sent) complaints.push(`${pushed} were pushed and ${sent} recorded: no outcome had to wait`);
  const recordedMs = await waited(backAt, async () => (await tallyOf(stage, name)).sent > sent);
  const pushingMs = await waited(backAt, async () => (await stage.sandbox.counters()).requests > before + pushed);
  if (Math.max(recordedMs, pushingMs) > backWithinMs) complaints.push('it took longer than ten seconds to go on');
  const late = await starting;
  if (!(await stage.isQuiet(quietWithinMs))) complaints.push('the message is still under way');
  complaints.push(...(await judgeTally(stage, name)));
  await late.terminate();
  const after = await listWorkers([api.node, ...workers]);
  if (after !== processes) complaints.push(`processes ended: they were ${processes} and are ${after}`);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const waiting = `${pushed - sent} outcomes waited`;
  return {
    figure: `${waiting}; recorded after ${seconds(recordedMs)}, pushing after ${seconds(pushingMs)}`,
    complaints,
  };
}

/** Milliseconds from `since` until `isSo` is true. Stops a little after the allowed time. */
async function waited(since: number, isSo: () => Promise<boolean>): Promise<number> {
  while (!(await isSo()) && performance.now() - since <= backWithinMs) await sleep(pollMs);
  return performance.now() - since;
}
