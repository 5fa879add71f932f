// Runs one peer in a process of its own: opens it, warms it up, and measures one long send.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { watchOthers } from './costs.ts';
import { cpuSecondsOf } from './measure.ts';
import type { FromPeer, PeerSetup, ToPeer } from './peers/peer.ts';
import type { Receiver } from './receiver.ts';
import { BenchError, plainEnvironment, progress, repository, stopChild, type Workbench } from './workbench.ts';

export interface PeerRun {
  readonly perSecond: number;
  readonly cpuSecondsPer1000: number;
  /** What the receiver spent meanwhile. */
  readonly receiverCpuSecondsPer1000: number;
  /** How many cores all others kept busy meanwhile. */
  readonly foreignCores: number;
}

export interface PeerPlan {
  readonly name: string;
  /** Its script. */
  readonly program: URL;
  readonly setup: PeerSetup;
  readonly warmUpPushes: number;
  readonly pushes: number;
}

export async function runPeer(workbench: Workbench, receiver: Receiver, plan: PeerPlan): Promise<PeerRun> {
  const child = fork(fileURLToPath(plan.program), [], {
    cwd: repository,
    execArgv: ['--import', 'tsx'],
    env: plainEnvironment(),
  });
  workbench.onClose(() => stopChild(child, 'SIGTERM'));
  const pid = child.pid ?? 0;
  await tell(child, { type: 'open', setup: plan.setup });
  await tell(child, { type: 'send', count: plan.warmUpPushes });
  await receiver.reset();
  const countOthers = await watchOthers();
  const before = [await cpuSecondsOf(pid), await cpuSecondsOf(receiver.pid)] as const;
  const { seconds } = await tell(child, { type: 'send', count: plan.pushes });
  const after = [await cpuSecondsOf(pid), await cpuSecondsOf(receiver.pid)] as const;
  const foreignCores = await countOthers();
  await receiver.expectAccepted(plan.pushes);
  await stopChild(child, 'SIGTERM');
  const perSecond = plan.pushes / seconds;
  progress(`${plan.name}: ${Math.round(perSecond)} pushes a second, others on ${foreignCores} cores`);
  return {
    perSecond,
    cpuSecondsPer1000: ((after[0] - before[0]) / plan.pushes) * 1000,
    receiverCpuSecondsPer1000: ((after[1] - before[1]) / plan.pushes) * 1000,
    foreignCores,
  };
}

type Answer<Message extends ToPeer> = Extract<FromPeer, { type: Message['type'] extends 'open' ? 'ready' : 'sent' }>;

/** Sends one message and resolves with the answer to it. */
function tell<Message extends ToPeer>(child: ChildProcess, message: Message): Promise<Answer<Message>> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new BenchError('a peer ended by itself'));
    child.once('exit', onExit);
    child.once('message', (answer: FromPeer) => {
      child.off('exit', onExit);
      if (answer.type === 'failed') reject(new BenchError(`a peer failed: ${answer.reason}`));
      else resolve(answer as Answer<Message>);
    });
    child.send(message);
  });
}
