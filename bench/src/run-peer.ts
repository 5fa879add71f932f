// Runs one peer in a process of its own: opens it, warms it up, and measures one long send.

import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { sharesOf } from './channels.ts';
import { startChild } from './child.ts';
import { type Costs, watchCosts } from './costs.ts';
import type { PeerPlan } from './peer-plans.ts';
import type { PeerSetup, ToPeer } from './peers/peer.ts';
import type { Receiver } from './receiver.ts';

export interface PeerRun extends Costs<'peer' | 'receiver'> {
  readonly perSecond: number;
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
  const countCosts = await watchCosts({ peer: [child.pid], receiver: [receiver.pid] });
  const seconds = await child.ask<number>({ type: 'send', count: pushes });
  const costs = await countCosts(pushes);
  await receiver.expectPushes(sharesOf(setup.way, pushes));
  await child.stop();
  const perSecond = pushes / seconds;
  progress(`${name}: ${Math.round(perSecond)} pushes a second, others on ${costs.foreignCores} cores`);
  return { perSecond, ...costs };
}
