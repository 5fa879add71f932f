// Runs one peer in a process of its own: opens it, warms it up, and measures one long send.

import { cpuSecondsOf } from '../../rig/src/measure.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { sharesOf } from './channels.ts';
import { startChild } from './child.ts';
import { watchOthers } from './costs.ts';
import type { PeerPlan } from './peer-plans.ts';
import type { PeerSetup, ToPeer } from './peers/peer.ts';
import type { Receiver } from './receiver.ts';

export interface PeerRun {
  readonly perSecond: number;
  readonly cpuSecondsPer1000: number;
  /** CPU seconds of the receiver meanwhile. */
  readonly receiverCpuSecondsPer1000: number;
  /** How many cores programs outside the benchmark kept busy meanwhile. */
  readonly foreignCores: number;
}

export interface PeerRunPlan {
  readonly setup: PeerSetup;
  readonly warmUpPushes: number;
  readonly pushes: number;
  readonly latencyMs: number;
}

export async function runPeer(
  workbench: Workbench,
  receiver: Receiver,
  { name, program }: Pick<PeerPlan, 'name' | 'program'>,
  { setup, warmUpPushes, pushes, latencyMs }: PeerRunPlan,
): Promise<PeerRun> {
  const child = startChild<ToPeer>(workbench, name, program);
  await child.ask({ type: 'open', setup });
  await child.ask({ type: 'send', count: warmUpPushes });
  await receiver.reset({ latencyMs });
  const countOthers = await watchOthers();
  const before = [await cpuSecondsOf(child.pid), await cpuSecondsOf(receiver.pid)] as const;
  const seconds = await child.ask<number>({ type: 'send', count: pushes });
  const after = [await cpuSecondsOf(child.pid), await cpuSecondsOf(receiver.pid)] as const;
  const foreignCores = await countOthers();
  await receiver.expectPushes(sharesOf(setup.way, pushes));
  await child.stop();
  const perSecond = pushes / seconds;
  progress(`${name}: ${Math.round(perSecond)} pushes a second, others on ${foreignCores} cores`);
  return {
    perSecond,
    cpuSecondsPer1000: ((after[0] - before[0]) / pushes) * 1000,
    receiverCpuSecondsPer1000: ((after[1] - before[1]) / pushes) * 1000,
    foreignCores,
  };
}
