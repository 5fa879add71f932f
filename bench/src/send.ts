// `send`: one message to many devices, from its request to the commit of its last delivery, against the library that people
// would use instead and against a bare loop, all in one run and at one receiver.
import { createRequire } from 'node:module';
import { payloadOfOne, ttlSeconds } from './content.ts';
import { requireProc, rounded } from './measure.ts';
import { inFlight } from './peers/peer.ts';
import type { Part } from './profile.ts';
import { startReceiver } from './receiver.ts';
import { completeResult, type Result, type SendMeasured } from './results.ts';
import { type PeerRun, runPeer } from './run-peer.ts';
import { sendWithCarillon } from './send-with-carillon.ts';
import type { Workbench } from './workbench.ts';

export interface SendOptions {
  readonly devices: number;
  readonly isQuick: boolean;
  readonly profileDir: string | undefined;
}

/** Enough for a steady rate of a peer that does a thousand a second. */
const peerPushes = { full: 20_000, quick: 1_000 };
const peerSubscriptionsMax = 5_000;
/** Compiles what is hot, opens connections, and is counted on neither side. */
const warmUpPushes = { full: 1_000, quick: 200 };

export async function measureSend(
  workbench: Workbench,
  { devices, isQuick, profileDir }: SendOptions,
): Promise<{ result: Result<SendMeasured>; workerParts: readonly Part[] }> {
  await requireProc();
  const size = isQuick ? 'quick' : 'full';
  const receiver = await startReceiver(workbench);
  const payload = payloadOfOne().toString('utf8');
  const pushes = peerPushes[size];
  const subscriptions = Math.min(pushes, peerSubscriptionsMax);
  const plan = {
    setup: { address: receiver.address, subscriptions, payload, ttlSeconds },
    pushes,
    warmUpPushes: warmUpPushes[size],
  };
  // The peers first: then nothing of ours is there to slow them.
  const library = await runPeer(workbench, receiver, {
    ...plan,
    name: 'web-push',
    program: new URL('./peers/web-push.ts', import.meta.url),
  });
  const loop = await runPeer(workbench, receiver, {
    ...plan,
    name: 'bare loop',
    program: new URL('./peers/bare-loop.ts', import.meta.url),
  });
  const { ours, postgres, workerParts } = await sendWithCarillon(workbench, receiver, {
    devices,
    warmUpPushes: warmUpPushes[size],
    profileDir,
  });

  const measured: SendMeasured = {
    work: 'send',
    params: {
      channel: 'webpush',
      devices,
      peer_pushes: pushes,
      payload_bytes: Buffer.byteLength(payload),
      quick: isQuick,
    },
    ours,
    peers: [
      {
        name: 'web-push',
        version: versionOf('web-push'),
        ...presentPeer(library),
        processes: 1,
        note: `keep-alive agent, ${inFlight} in flight, sends only`,
      },
    ],
    limit: { name: 'bare node:http2 loop that encrypts', ...presentPeer(loop) },
    ratio_best_peer: rounded(ours.per_second / library.perSecond),
    ratio_best_peer_cpu: rounded(library.cpuSecondsPer1000 / ours.cpu_seconds_per_1000),
    ratio_limit: rounded(ours.per_second / loop.perSecond),
  };
  return { result: completeResult(measured, postgres), workerParts };
}

function presentPeer({ perSecond, cpuSecondsPer1000, receiverCpuSecondsPer1000, foreignCores }: PeerRun) {
  return {
    per_second: Math.round(perSecond),
    cpu_seconds_per_1000: rounded(cpuSecondsPer1000),
    receiver_cpu_seconds_per_1000: rounded(receiverCpuSecondsPer1000),
    foreign_cores: foreignCores,
  };
}

function versionOf(name: string): string {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version: string };
  return version;
}
