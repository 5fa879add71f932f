// while one app sends to a million devices, another app's send to one device reaches its
// provider soon. The same holds while the first app's pushes get no answer, or get 429.
import { setTimeout as sleep } from 'node:timers/promises';
import { addDevices, type MixedApp } from '../../../rig/src/mixed-app.ts';
import { type RunningService, startRunningService } from '../../../rig/src/running-service.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

interface Trouble {
  readonly name: string;
  /**
   * The sandbox's action on the large app's pushes. Null: it answers after a while, like a
   * provider.
   */
  readonly action: object | null;
  readonly devices: number;
  /** How long the small app sends. Null: until the large app's send has ended. */
  readonly seconds: number | null;
}

const everyMs = 100;
const p99MsMost = 2_000;
/**
 * One in this many sends goes to more devices than the accepting process works itself, so that it
 * needs a turn at a worker.
 */
const someEvery = 20;
const someDevices = 60;
const someMsMost = 5_000;
const providerMs = 40;

const troublesOf = (isQuick: boolean): readonly Trouble[] => [
  { name: 'sends', action: null, devices: isQuick ? 20_000 : 1_000_000, seconds: null },
  {
    name: 'waits for answers that do not come',
    action: { type: 'hang', delivers: false },
    devices: isQuick ? 4_000 : 20_000,
    seconds: isQuick ? 10 : 60,
  },
  {
    name: 'is told 429, come back in a minute',
    action: { type: 'status', status: 429, retry_after: 60 },
    devices: isQuick ? 4_000 : 20_000,
    seconds: isQuick ? 10 : 60,
  },
];

interface Sent {
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly devices: number;
}

interface SmallApp {
  readonly app: MixedApp;
  readonly devices: readonly string[];
}

/** The small app's sends while one trouble lasted. */
interface Watched {
  readonly trouble: Trouble;
  readonly sent: readonly Sent[];
}

async function watch(
  service: RunningService,
  { seed, report }: ProofOptions,
  small: SmallApp,
  trouble: Trouble,
  number: number,
): Promise<Watched> {
  const large = await service.newApp(`Large ${number}`);
  const tokenPrefix = `large${number}`;
  report.progress(`  ${trouble.devices.toLocaleString('en')} devices of an app that ${trouble.name}`);
  const plan = { count: trouble.devices, platform: 'web' as const, seed: `fairness ${seed} ${number}`, tokenPrefix };
  await addDevices(service.database.sql, large, service.sandbox, plan, () => undefined);
  await service.database.sql`ANALYZE`;
  const slowness = { match: {}, action: { type: 'slow', delay_ms: providerMs } };
  const fault = trouble.action && { match: { token_prefix: tokenPrefix }, action: trouble.action };
  await service.sandbox.setFaults(fault ? [fault, slowness] : [slowness]);

  const message = await service.send(large, { audience: { all: true }, content: { title: 'Sale' } });
  const sent: Sent[] = [];
  const asked: Promise<string>[] = [];
  const endAt = trouble.seconds === null ? undefined : performance.now() + trouble.seconds * 1_000;
  let isOver = false;
  const untilOver =
    endAt === undefined &&
    service.untilFinal(large, message).then(() => {
      isOver = true;
    });
  const mayGoOn = (): boolean => (endAt === undefined ? !isOver : performance.now() < endAt);
  for (let next = performance.now(); mayGoOn(); next += everyMs) {
    await sleep(Math.max(0, next - performance.now()));
    const title = `Order ${number}-${sent.length}`;
    const ids = sent.length % someEvery === someEvery - 1 ? small.devices : small.devices.slice(0, 1);
    sent.push({ title, at: Date.now(), devices: ids.length });
    asked.push(service.send(small.app, { audience: { device_ids: ids }, content: { title } }));
  }
  await Promise.all(asked);
  await untilOver;
  // The rest of the large app's send is cancelled.
  await service.suspend(large);
  return { trouble, sent };
}

/** Claims the time until the last device of each send was reached. */
function claimLatency(
  { report }: ProofOptions,
  { trouble, sent }: Watched,
  arrived: ReadonlyMap<string, readonly number[]>,
  bound: { readonly devices: number; readonly msMost: number; readonly leastSends: number },
): void {
  const complaints: string[] = [];
  const latencies: number[] = [];
  for (const { title, at } of sent.filter(({ devices }) => devices === bound.devices)) {
    const arrivals = arrived.get(title) ?? [];
    if (arrivals.length !== bound.devices) complaints.push(`${title} reached the provider ${arrivals.length} times`);
    latencies.push(arrivals.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...arrivals) - at);
  }
  latencies.sort((a, b) => a - b);
  const quantile = (share: number): number => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;
  const p99 = quantile(0.99);
  if (latencies.length < bound.leastSends) complaints.push(`only ${latencies.length} sends were watched`);
  if (!(p99 <= bound.msMost)) complaints.push(`the p99 is ${p99} ms`);
  const whom = bound.devices === 1 ? 'one device is' : `${bound.devices} devices are`;
  report.claim(
    `another app's ${whom} reached at p99 within ${bound.msMost / 1_000} s while an app with ${trouble.devices.toLocaleString('en')} ${trouble.name}`,
    `${latencies.length} sends: p50 ${quantile(0.5)} ms, p99 ${p99} ms, most ${quantile(1)} ms`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-62',
  title: "one app's million does not delay another app's one",
  leftOut: 'compares times on a quiet machine, through three troubles of ten seconds and more',
  async run(options) {
    const service = await startRunningService(options.workbench, 1);
    const app = await service.newApp('Small');
    const devices: string[] = [];
    const plan = { count: someDevices, platform: 'web' as const, seed: `small ${options.seed}` };
    await addDevices(service.database.sql, app, service.sandbox, plan, (made) => {
      devices.push(...made.map(({ id }) => id));
    });
    const watched: Watched[] = [];
    for (const [number, trouble] of troublesOf(options.isQuick).entries())
      watched.push(await watch(service, options, { app, devices }, trouble, number));

    const arrived = new Map<string, number[]>();
    const refused = new Map<number, number>();
    await service.readHistory(([, at, status, , , , title]) => {
      if (title.startsWith('Order ')) arrived.set(title, [...(arrived.get(title) ?? []), at]);
      else refused.set(status, (refused.get(status) ?? 0) + 1);
    });
    for (const each of watched) {
      claimLatency(options, each, arrived, { devices: 1, msMost: p99MsMost, leastSends: 50 });
      claimLatency(options, each, arrived, { devices: someDevices, msMost: someMsMost, leastSends: 3 });
    }
    const seen = [...refused].map(([status, count]) => `${count.toLocaleString('en')} × ${status || 'no answer'}`);
    const troubles = [201, 0, 429].filter((status) => (refused.get(status) ?? 0) === 0);
    options.report.claim(
      'the large apps had the answers that they were to have',
      seen.join(', '),
      troubles.map((status) => `nobody had ${status || 'no answer'}`),
    );
  },
};
