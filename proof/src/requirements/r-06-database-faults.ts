// the database crashes and the connection to it fails in many ways, again and again, while
// messages are sent. No process may end because of a fault, the service must be back soon after the
// database, and the totals must hold as after kills.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy } from '../../../rig/src/fault-proxy.ts';
import { stopAtOnce } from '../../../rig/src/run-database.ts';
import type { Verdict } from '../chaos/check-history.ts';
import { runChaos, type Stage } from '../chaos/run.ts';
import type { Requirement } from '../requirement.ts';

interface Fault {
  readonly name: string;
  /** Breaks something. The returned function repairs it. */
  break(stage: Stage, proxy: FaultProxy): Promise<() => void> | (() => void);
  readonly lastsMs: number;
  readonly times: { readonly full: number; readonly quick: number };
}

const nothing = (): void => undefined;

/** A fault of the connection to the database that lasts for `lastsMs`. */
function condition(name: string, lastsMs: number, full: number, faults: Parameters<FaultProxy['set']>[0]): Fault {
  return {
    name,
    lastsMs,
    times: { full, quick: 1 },
    break(_stage, proxy) {
      proxy.set(faults);
      return () => proxy.set({});
    },
  };
}

const faults: readonly Fault[] = [
  {
    name: 'pg_ctl stop -m immediate',
    lastsMs: 0,
    times: { full: 20, quick: 1 },
    async break({ database }) {
      await stopAtOnce(database);
      return nothing;
    },
  },
  condition('2 s of latency', 6000, 3, { latencyMs: 2000 }),
  condition('slices of 50 bytes', 4000, 3, { sliceBytes: 50 }),
  condition('20 kB a second', 5000, 3, { bytesPerSecond: 20_000 }),
  condition('connections cut after 2 kB', 4000, 3, { limitBytes: 2000 }),
  condition('connections refused', 5000, 3, { isRefusing: true }),
  condition('ends that come 3 s late', 4000, 2, { closeAfterMs: 3000 }),
  condition('a black hole', 8000, 3, { isSilent: true }),
  condition('a black hole for longer than a lease', 30_000, 1, { isSilent: true }),
  {
    name: 'resets',
    lastsMs: 500,
    times: { full: 10, quick: 1 },
    break(_stage, proxy) {
      proxy.reset();
      return nothing;
    },
  },
  {
    name: 'half-open connections',
    lastsMs: 500,
    times: { full: 5, quick: 1 },
    break(_stage, proxy) {
      proxy.halfOpen();
      return nothing;
    },
  },
];

const backWithinMs = 10_000;
const pollMs = 50;
/**
 * More devices than one process works alone, so that a worker must take part. The probe uses an app
 * of its own, which gets its turn beside the busy app, so the bound does not depend on the
 * busy app's queue.
 */
const probeDevices = 60;

export const requirement: Requirement = {
  number: 'R-06',
  title: 'database faults: nobody exits, all is back at once, nothing is lost',
  leftOut: 'stops the database and the way to it nine times, on a quiet machine',
  async run({ isQuick, seed, report, workbench }) {
    const verdict = await runChaos(workbench, {
      devices: isQuick ? 2000 : 20_000,
      seed,
      keepDir: undefined,
      faults: 'none',
      isProxied: true,
      probeDevices,
      async trouble(stage) {
        for (const fault of faults) {
          const times = isQuick ? fault.times.quick : fault.times.full;
          const { complaints, slowestMs } = await breakOften(stage, fault, times);
          report.claim(`${fault.name}, ${times} times`, `back after ${(slowestMs / 1000).toFixed(1)} s`, complaints);
        }
      },
    });
    report.claim('the totals of R-01 hold', describe(verdict), [...verdict.violations, ...verdict.waits]);
  },
};

function describe({ deliveries, lost, duplicates, max_requests_per_device }: Verdict): string {
  return `${deliveries} deliveries, ${lost} lost, ${duplicates} repeated, at most ${max_requests_per_device} a device`;
}

async function breakOften(stage: Stage, fault: Fault, times: number) {
  const { nodes, proxy } = stage;
  if (!proxy) throw new Error('the run has no proxy');
  const complaints: string[] = [];
  let slowestMs = 0;
  const before = JSON.stringify([...(await nodes.pids())]);
  for (let time = 1; time <= times; time++) {
    const at = Date.now();
    const mend = await fault.break(stage, proxy);
    await sleep(fault.lastsMs);
    mend();
    await untilDatabaseAnswers(stage);
    const mendedAt = performance.now();
    await untilServed(stage);
    const backMs = performance.now() - mendedAt;
    // Outcomes that could not be committed during the outage may be repeated.
    await nodes.noteOutage({ at, until: Date.now(), by: fault.name });
    slowestMs = Math.max(slowestMs, backMs);
    if (backMs > backWithinMs) complaints.push(`back after ${Math.round(backMs)} ms, the ${time}th time`);
  }
  const after = JSON.stringify([...(await nodes.pids())]);
  if (after !== before) complaints.push(`processes ended: they were ${before} and are ${after}`);
  return { complaints, slowestMs };
}

async function untilDatabaseAnswers({ database }: Stage): Promise<void> {
  for (;;) {
    const answers = await database.sql`SELECT 1`.catch(() => undefined);
    if (answers) return;
    await sleep(pollMs);
  }
}

/**
 * Resolves when the service reports that it is ready and a message that was requested after that
 * has been sent.
 */
async function untilServed({ apiUrl, probe, sender }: Stage): Promise<void> {
  if (!probe) throw new Error('the run has no app for probes');
  const get = (path: string) =>
    fetch(apiUrl + path, {
      headers: { authorization: `Bearer ${probe.serverKey}` },
      signal: AbortSignal.timeout(2000),
    }).catch(() => undefined);
  while ((await get('/readyz'))?.status !== 200) await sleep(pollMs);
  const id = await sender.sendProbe();
  for (;;) {
    const message = (await (await get(`/v1/messages/${id}`))?.json().catch(() => undefined)) as
      | { status?: string }
      | undefined;
    if (message?.status === 'sent') return;
    await sleep(pollMs);
  }
}
