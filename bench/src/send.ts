// Measures the work `send`: one message to many devices, from its request to the commit of its last
// delivery. It compares Carillon with libraries that people would use instead and with a bare loop,
// in one run at one receiver.

import { requireProc, rounded } from '../../rig/src/measure.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import type { Way } from './channels.ts';
import { channelsOf } from './channels.ts';
import { bodyOf } from './content.ts';
import { makeCredentials } from './credentials.ts';
import { barePlanOf, peerPlansOf } from './peer-plans.ts';
import type { Part } from './profile.ts';
import { startReceiver } from './receiver.ts';
import { completeResult, findKept, type Result, type SendMeasured } from './results.ts';
import { type PeerRun, runPeer } from './run-peer.ts';
import { sendWithCarillon } from './send-with-carillon.ts';

export interface SendOptions {
  readonly way: Way;
  readonly devices: number;
  /** Latency of the push services, from a request to its answer. */
  readonly latencyMs: number;
  /** The share of tokens that are gone; 0 means none. */
  readonly refuse: number;
  readonly workers: number | undefined;
  readonly isQuick: boolean;
  readonly profileDir: string | undefined;
}

// All of these are multiples of three, so that `mixed` has equal thirds.
/** Pushes of a peer's run: some seconds for the slowest peer, at least a second for the fastest. */
const peerPushes: Readonly<Record<Way, number>> = { webpush: 21_000, apns: 90_000, fcm: 90_000, mixed: 30_000 };
/** Pushes of a peer's run with a latency, which slows all peers equally. */
const latePeerPushes = 15_000;
const quickPeerPushes = 500;
const peerDevicesMax = 6_000;
/**
 * Pushes of the warm-up, which compiles hot code and opens connections. Neither side's figures
 * include it.
 */
const warmUpPushes = { full: 3_000, quick: 100 };

/** The usual number of devices. Results of other sizes are compared with its result. */
export const devicesUsual = 100_000;

/** The name of the file that a result is kept in. */
export function sendName({
  way,
  devices,
  latencyMs,
  refuse = 0,
  workers,
}: Pick<SendOptions, 'way' | 'devices' | 'latencyMs'> & Partial<Pick<SendOptions, 'refuse' | 'workers'>>): string {
  const parts = [
    `send-${way}`,
    ...(devices === devicesUsual ? [] : [devices]),
    ...(latencyMs === 0 ? [] : [`latency-${latencyMs}`]),
    ...(refuse === 0 ? [] : [`refuse-${refuse}`]),
    ...(workers === undefined ? [] : [`workers-${workers}`]),
  ];
  return parts.join('-');
}

export async function measureSend(
  workbench: Workbench,
  { way, devices, latencyMs, refuse, workers, isQuick, profileDir }: SendOptions,
): Promise<{ result: Result<SendMeasured>; workerParts: readonly Part[] }> {
  await requireProc();
  const size = isQuick ? 'quick' : 'full';
  const receiver = await startReceiver(workbench);
  const credentials = makeCredentials(receiver.address);
  const pushes = isQuick ? quickPeerPushes : latencyMs > 0 ? latePeerPushes : peerPushes[way];
  const plan = {
    setup: { way, address: receiver.address, credentials, devices: Math.min(pushes, peerDevicesMax) },
    pushes,
    warmUpPushes: warmUpPushes[size],
    latencyMs,
  };
  // The peers run first, while no process of Carillon can slow them.
  const peers = [];
  for (const peer of peerPlansOf(way)) {
    const { name, version, note } = peer;
    peers.push({ name, version, ...presentPeer(await runPeer(workbench, receiver, peer, plan)), processes: 1, note });
  }
  const bare = barePlanOf(way);
  const limit = { name: bare.name, ...presentPeer(await runPeer(workbench, receiver, bare, plan)) };
  const { ours, refused, compared, again, postgres, workerParts } = await sendWithCarillon(workbench, receiver, {
    way,
    devices,
    credentials,
    latencyMs,
    warmUpPushes: warmUpPushes[size],
    refuseEvery: refuse === 0 ? 0 : Math.round(1 / refuse),
    workers,
    profileDir,
  });

  const bestPeerRate = Math.max(...peers.map((peer) => peer.per_second));
  const usual = devices <= devicesUsual ? undefined : findKept(sendName({ way, devices: devicesUsual, latencyMs }));
  const measured: SendMeasured = {
    work: 'send',
    params: {
      channel: way,
      devices,
      latency_ms: latencyMs,
      peer_pushes: pushes,
      payload_bytes: meanBodyBytes(way),
      quick: isQuick,
    },
    ours,
    peers,
    limit,
    ratio_best_peer: rounded(ours.per_second / bestPeerRate),
    ratio_best_peer_cpu: rounded(
      Math.min(...peers.map((peer) => peer.cpu_seconds_per_1000)) / ours.cpu_seconds_per_1000,
    ),
    ratio_limit: rounded(ours.per_second / limit.per_second),
    ...(again !== undefined && {
      again: {
        per_second: again,
        ratio_best_peer: rounded(again / bestPeerRate),
        ratio_limit: rounded(again / limit.per_second),
      },
    }),
    ...(compared &&
      refuse === 0 && {
        ratio_latency: rounded(compared.ratio),
        ratio_latency_first: rounded(compared.ratioFirst),
      }),
    ...(compared &&
      refuse > 0 && {
        refusals: {
          share: refuse,
          refused,
          per_second_without: compared.perSecondPlain,
          ratio: rounded(compared.ratio),
          ratio_first: rounded(compared.ratioFirst),
        },
      }),
    ...(usual?.work === 'send' && {
      beside: {
        devices: devicesUsual,
        per_second: usual.ours.per_second,
        commit: usual.commit,
        ratio: rounded(ours.per_second / usual.ours.per_second),
      },
    }),
  };
  return { result: completeResult(measured, postgres), workerParts };
}

/** Mean bytes of a push's body before encryption. */
function meanBodyBytes(way: Way): number {
  const tokenOfUsualLength = 'x'.repeat(163);
  const sizes = channelsOf(way).map((channel) => bodyOf[channel](tokenOfUsualLength).length);
  return Math.round(sizes.reduce((sum, each) => sum + each, 0) / sizes.length);
}

function presentPeer({ perSecond, cpuSecondsPer1000, receiverCpuSecondsPer1000, foreignCores }: PeerRun) {
  return {
    per_second: Math.round(perSecond),
    cpu_seconds_per_1000: rounded(cpuSecondsPer1000),
    receiver_cpu_seconds_per_1000: rounded(receiverCpuSecondsPer1000),
    foreign_cores: foreignCores,
  };
}
