// while one app sends to a million devices, another app's send to one device reaches its provider soon; and so it does while
// the first app's pushes are not answered at all, or are answered with 429.
import { setTimeout as pause } from 'node:timers/promises';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { addDevices, type MixedApp } from '../rig/mixed-app.ts';
import { type RunningService, startRunningService } from '../rig/running-service.ts';

interface Trouble {
  readonly name: string;
  /** What the sandbox does with the large app's pushes; null: it answers after a while, like a provider. */
  readonly action: object | null;
  readonly devices: number;
  /** How long the small app sends, or until the large one is through. */
  readonly seconds: number;
}

const everyMs = 100;
const p99MsMost = 2_000;
/** On a machine on which a send takes this long while nobody else sends, so many times that. */
const timesAlone = 4;
const aloneSeconds = 10;
/** Every so many sends one goes to more devices than the accepting process works itself: it has to find a turn at a worker. */
const someEvery = 20;
const someDevices = 60;
const someMsMost = 5_000;
const providerMs = 40;

const slowness = { match: {}, action: { type: 'slow', delay_ms: providerMs } };

const troublesOf = (isQuick: boolean): readonly Trouble[] => [
  { name: 'sends', action: null, devices: isQuick ? 20_000 : 1_000_000, seconds: 120 },
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

/** What the small app sent while one trouble lasted. */
interface Watched {
  readonly trouble: Trouble;
  readonly sent: readonly Sent[];
  /** The large one was through before the small one's time was over. */
  readonly isThrough: boolean;
  /** Of the large one, sent or failed meanwhile. */
  readonly done: number;
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
  const fault = trouble.action && { match: { token_prefix: tokenPrefix }, action: trouble.action };
  await service.sandbox.setFaults(fault ? [fault, slowness] : [slowness]);

  const message = await service.send(large, { audience: { all: true }, content: { title: 'Sale' } });
  let isOver = false;
  const ended = service.untilFinal(large, message).then(() => {
    isOver = true;
  });
  const sent = await sendOften(service, small, `Order ${number}`, trouble.seconds, () => isOver);
  const { report: counts, status } = await service.messageOf(large, message);
  // What is still open of it is not sent any more.
  await service.suspend(large);
  await ended;
  return { trouble, sent, isThrough: status !== 'sending', done: (counts['sent'] ?? 0) + (counts['failed'] ?? 0) };
}

/** Sends one after the other for so long, at an even pace and without waiting for answers; all of them are answered at its end. */
async function sendOften(
  service: RunningService,
  small: SmallApp,
  name: string,
  seconds: number,
  isOver: () => boolean = () => false,
): Promise<Sent[]> {
  const sent: Sent[] = [];
  const asked: Promise<string>[] = [];
  const endAt = performance.now() + seconds * 1_000;
  for (let next = performance.now(); performance.now() < endAt && !isOver(); next += everyMs) {
    await pause(Math.max(0, next - performance.now()));
    const title = `${name}-${sent.length}`;
    const ids = sent.length % someEvery === someEvery - 1 ? small.devices : small.devices.slice(0, 1);
    sent.push({ title, at: Date.now(), devices: ids.length });
    asked.push(service.send(small.app, { audience: { device_ids: ids }, content: { title } }));
  }
  await Promise.all(asked);
  return sent;
}

type Arrivals = ReadonlyMap<string, readonly number[]>;

/** From the request to the last of its devices, in order; infinite where one was never reached. */
function latenciesOf(sent: readonly Sent[], arrived: Arrivals, devices: number): number[] {
  return sent
    .filter((each) => each.devices === devices)
    .map(({ title, at }) => {
      const arrivals = arrived.get(title) ?? [];
      return arrivals.length < devices ? Number.POSITIVE_INFINITY : Math.max(...arrivals) - at;
    })
    .sort((a, b) => a - b);
}

const quantile = (latencies: readonly number[], share: number): number =>
  latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN;

/** Until the last device of each send was reached. `alone`: the same while nobody else sent. */
function claimLatency(
  { report }: ProofOptions,
  { trouble, sent, isThrough, done }: Watched,
  arrived: Arrivals,
  alone: readonly Sent[],
  bound: { readonly devices: number; readonly msMost: number; readonly leastSends: number },
): void {
  const complaints: string[] = [];
  for (const { title } of sent.filter(({ devices }) => devices === bound.devices)) {
    const count = arrived.get(title)?.length ?? 0;
    if (count !== bound.devices) complaints.push(`${title} reached the provider ${count} times`);
  }
  const latencies = latenciesOf(sent, arrived, bound.devices);
  const p99 = quantile(latencies, 0.99);
  const p99Alone = quantile(latenciesOf(alone, arrived, bound.devices), 0.99);
  const msMost = Math.max(bound.msMost, timesAlone * p99Alone);
  if (latencies.length < bound.leastSends) complaints.push(`only ${latencies.length} sends were watched`);
  if (!(p99 <= msMost)) complaints.push(`the p99 is ${p99} ms`);
  if (trouble.action === null && !isThrough && done === 0) complaints.push('the large app sent nothing meanwhile');
  const whom = bound.devices === 1 ? 'one device is' : `${bound.devices} devices are`;
  const within = msMost > bound.msMost ? `${timesAlone} times what it takes alone` : `${bound.msMost / 1_000} s`;
  report.claim(
    `another app's ${whom} reached at p99 within ${within} while an app with ${trouble.devices.toLocaleString('en')} ${trouble.name}`,
    `${latencies.length} sends: p50 ${quantile(latencies, 0.5)} ms, p99 ${p99} ms, most ${quantile(latencies, 1)} ms; alone p99 ${p99Alone} ms`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-62',
  title: "one app's million does not delay another app's one",
  async run(options) {
    const service = await startRunningService(options.workbench, 1);
    const app = await service.newApp('Small');
    const devices: string[] = [];
    const plan = { count: someDevices, platform: 'web' as const, seed: `small ${options.seed}` };
    await addDevices(service.database.sql, app, service.sandbox, plan, (made) => {
      devices.push(...made.map(({ id }) => id));
    });
    const small: SmallApp = { app, devices };
    await service.sandbox.setFaults([slowness]);
    const alone = await sendOften(service, small, 'Alone', aloneSeconds);
    const watched: Watched[] = [];
    for (const [number, trouble] of troublesOf(options.isQuick).entries())
      watched.push(await watch(service, options, small, trouble, number));

    const arrived = new Map<string, number[]>();
    const refused = new Map<number, number>();
    await service.readHistory(([, at, status, , , , title]) => {
      if (/^(Order|Alone)/.test(title)) arrived.set(title, [...(arrived.get(title) ?? []), at]);
      else refused.set(status, (refused.get(status) ?? 0) + 1);
    });
    for (const each of watched) {
      claimLatency(options, each, arrived, alone, { devices: 1, msMost: p99MsMost, leastSends: 50 });
      claimLatency(options, each, arrived, alone, { devices: someDevices, msMost: someMsMost, leastSends: 3 });
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
