// what probes are told, and how soon, while the database is away, and while a node
// ends in the middle of requests.
import { setTimeout as sleep } from 'node:timers/promises';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import type { Faults } from '../../../rig/src/fault-proxy.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { type ServiceNode, startNode } from '../../../rig/src/service-node.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const pollMs = 20;
const unreadyWithinMs = 2_000;
const readyWithinMs = 10_000;
const endsWithinMs = 25_000;
/** A node that is told to end goes on serving for five seconds. */
const servesOnMs = 4_500;
const outageMs = { full: 20_000, quick: 4_000 };

interface Node {
  readonly url: string;
  readonly node: ServiceNode;
}

const statusOf = async (url: string): Promise<number> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
};

/** Milliseconds until a probe gets this status. */
async function msUntil(url: string, status: number, atMostMs: number): Promise<number> {
  const startedAt = performance.now();
  while ((await statusOf(`${url}/readyz`)) !== status) {
    if (performance.now() - startedAt > 3 * atMostMs) break;
    await sleep(pollMs);
  }
  return performance.now() - startedAt;
}

async function run({ isQuick, report, workbench }: ProofOptions): Promise<void> {
  const directory = await workbench.makeDirectory('health');
  const database = await startRunDatabase(workbench);
  const { url: throughProxy, proxy } = await startDatabaseProxy(database.url);
  workbench.onClose(() => proxy.close());
  const start = async (name: string): Promise<Node> => {
    const port = await findFreePort();
    const environment = { ...database.environment, DATABASE_URL: throughProxy, PORT: String(port) };
    const node = await startNode(workbench, { name, role: 'api', environment, directory });
    await node.ready();
    return { url: `http://127.0.0.1:${port}`, node };
  };

  const { url, node } = await start('probed');
  const pids = (await node.workerPids()).join();
  const times = isQuick ? 1 : 3;
  const outages: readonly (readonly [string, Faults])[] = [
    ['refuses', { isRefusing: true }],
    ['is silent', { isSilent: true }],
  ];
  for (const [what, faults] of outages) {
    const complaints: string[] = [];
    let [slowestDown, slowestBack] = [0, 0];
    for (let time = 0; time < times; time++) {
      proxy.set(faults);
      if (faults.isRefusing) proxy.reset();
      const downMs = await msUntil(url, 503, unreadyWithinMs);
      // The process must stay alive, so that no supervisor restarts it.
      const until = performance.now() + (isQuick ? outageMs.quick : outageMs.full);
      while (performance.now() < until) {
        const status = await statusOf(`${url}/healthz`);
        if (status !== 200) complaints.push(`/healthz answered ${status}`);
        if ((await statusOf(`${url}/readyz`)) !== 503) complaints.push('/readyz was not 503 all the time');
        await sleep(200);
      }
      proxy.set({});
      const backMs = await msUntil(url, 200, readyWithinMs);
      if (downMs > unreadyWithinMs) complaints.push(`/readyz was not 503 for ${downMs.toFixed(0)} ms`);
      if (backMs > readyWithinMs) complaints.push(`/readyz was not 200 for ${backMs.toFixed(0)} ms`);
      [slowestDown, slowestBack] = [Math.max(slowestDown, downMs), Math.max(slowestBack, backMs)];
    }
    if ((await node.workerPids()).join() !== pids) complaints.push('its process was started again');
    report.claim(
      `a database that ${what}: not ready within 2 s, alive all the time, ready within 10 s afterwards`,
      `${times} times; ${slowestDown.toFixed(0)} ms, back after ${slowestBack.toFixed(0)} ms`,
      complaints,
    );
  }

  const restarts = isQuick ? 1 : 10;
  const complaints: string[] = [];
  let [slowestEnd, shortestServed] = [0, Number.POSITIVE_INFINITY];
  for (let restart = 0; restart < restarts; restart++) {
    const ending = restart === 0 ? { url, node } : await start(`ending-${restart}`);
    const ended = ending.node.terminate();
    const toldAt = performance.now();
    const unreadyMs = await msUntil(ending.url, 503, unreadyWithinMs);
    if (unreadyMs > unreadyWithinMs) complaints.push(`told to end, it was ready for ${unreadyMs.toFixed(0)} ms`);
    let served = 0;
    while ((await statusOf(`${ending.url}/v1/channels`)) === 200) {
      served = performance.now() - toldAt;
      await sleep(pollMs);
    }
    const { code, ms } = await ended;
    if (code !== 0) complaints.push(`it ended with ${code}`);
    if (served < servesOnMs) complaints.push(`it served for ${served.toFixed(0)} ms`);
    if (ms > endsWithinMs) complaints.push(`it took ${ms.toFixed(0)} ms to end`);
    [slowestEnd, shortestServed] = [Math.max(slowestEnd, ms), Math.min(shortestServed, served)];
  }
  report.claim(
    'told to end it is not ready at once, serves on, and ends within 25 s with 0 (R-87)',
    `${restarts} times; served for ${(shortestServed / 1000).toFixed(1)} s, ended after ${(slowestEnd / 1000).toFixed(1)} s`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-86',
  title: 'What probes are told, and how soon',
  leftOut: 'measures how soon probes are answered, on a quiet machine',
  run,
};
