// the host sleeps for two hours, and its clock or the database's is set, in the middle of
// sends by all channels. Providers, phones and the webhook's receiver judge by real time.
import { setTimeout as sleep } from 'node:timers/promises';
import { comesTrue } from '../../../rig/src/webhook-nodes.ts';
import { judge, type Sleeper } from '../clocks/judge.ts';
import { type Step, stepsOf } from '../clocks/steps.ts';
import { type Kind, type Sent, startWorld, type Tried, type World } from '../clocks/world.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const shortTtlSeconds = 60;
/** Milliseconds. A message that has neither continued nor ended by then never will. */
const deadlineMs = 120_000;

/** Each platform's devices of the worker that sleeps alone: 912 in all, so several hundred are left. */
const sleepersEach = 300;

async function send({ service, app }: Pick<World, 'service' | 'app'>, title: string, more: object = {}, ttl = 86_400) {
  const content = { title, body: 'Now.', ttl };
  return { title, id: await service.send(app, { audience: { all: true }, content, ...more }) };
}

async function tryStep(world: World, step: Step, place: number): Promise<Tried> {
  const stateOf = ({ id }: Sent) => world.service.messageOf(world.app, id);
  const titleOf = (kind: Kind): string => `${place} ${kind}`;
  await world.refuse(true);
  // Due in the middle of a step forward, or as soon as possible if there is no such step.
  const dueMs = world.nowMs() + (step.byMs > 0 ? step.byMs / 2 : 31_000);
  const before = {
    scheduled: await send(world, titleOf('scheduled'), { send_at: new Date(dueMs).toISOString() }),
    during: await send(world, titleOf('during')),
    short: await send(world, titleOf('short'), {}, shortTtlSeconds),
    paced: await send(world, titleOf('paced'), { per_second: Math.ceil(world.app.devices / 3) }),
  };
  const shortUntilMs = world.nowMs() + shortTtlSeconds * 1_000;
  await sleep(step.afterMs);
  const taken = await world.take(step);
  const steppedAt = performance.now();
  await world.refuse(false);
  const sent = { ...before, after: await send(world, titleOf('after')) };
  await comesTrue(async () => ((await stateOf(sent.after)).report['sent'] ?? 0) > 0, deadlineMs);
  const wentOnMs = performance.now() - steppedAt;
  for (const kind of ['during', 'short', 'paced', 'after'] as const)
    await comesTrue(async () => (await stateOf(sent[kind])).status !== 'sending', deadlineMs);
  const blamed = await world.listBlamed();
  await world.setRight();
  return { ...taken, step, rightMs: world.nowMs(), wentOnMs, dueMs, shortUntilMs, sent, blamed };
}

/**
 * R-04 with a steady clock that stood still: a worker sleeps for longer than its lease, with half
 * of a batch unsent. Afterwards it works alone, so that it has every chance to break the rule.
 */
async function letOneSleep(world: World): Promise<Sleeper> {
  const { service } = world;
  const app = await world.newApp('Sleeper', sleepersEach);
  const stateOf = ({ id }: Sent) => service.messageOf(app, id);
  const other = await world.suspend(2);
  const message = await send({ service, app }, 'stale', { per_second: 60 });
  await comesTrue(async () => ((await stateOf(message)).report['sent'] ?? 0) > 100, deadlineMs);
  const stale = await world.suspend(1);
  const asleepMs = world.nowMs();
  await other.wake();
  await comesTrue(async () => (await stateOf(message)).status !== 'sending', deadlineMs);
  const resting = await world.suspend(2);
  const awakeMs = world.nowMs();
  await stale.wake();
  const next = await send({ service, app }, 'awake');
  await comesTrue(async () => (await stateOf(next)).status !== 'sending', deadlineMs);
  await resting.wake();
  const ends = [await stateOf(message), await stateOf(next)];
  return { devices: app.devices, title: message.title, ends, fromMs: stale.fromMs, asleepMs, awakeMs };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const world = await startWorld(workbench, isQuick ? 20 : 60, seed);
  const tried: Tried[] = [];
  for (const step of stepsOf(isQuick)) {
    const one = await tryStep(world, step, tried.length + 1);
    tried.push(one);
    report.progress(`  ${step.name}: sends went on after ${Math.round(one.wentOnMs)} ms`);
  }
  await judge(world, tried, isQuick ? undefined : await letOneSleep(world), report);
}

export const requirement: Requirement = { number: 'R-100', title: 'Clocks that step, and hosts that sleep', run };
