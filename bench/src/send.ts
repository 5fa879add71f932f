// Measures the work `send`: one message to many devices, from its request to the commit of its last
// delivery. It compares Carillon with libraries that people would use instead and with a bare loop,
// in one run at one receiver.

import { RunError, type Workbench } from '../../rig/src/workbench.ts';
import { channelsOf, type Way, ways } from './channels.ts';
import { bodyOf } from './content.ts';
import { makeCredentials } from './credentials.ts';
import { type Figure, figure } from './figures.ts';
import { barePlanOf, peerPlansOf } from './peer-plans.ts';
import { startReceiver } from './receiver.ts';
import { findKept, type Measured, type RunOptions } from './results.ts';
import { type PeerRun, runPeer } from './run-peer.ts';
import { sendWithCarillon } from './send-with-carillon.ts';

interface SendOptions extends RunOptions {
  readonly channel?: Way;
  readonly devices?: number;
  /** Milliseconds of the push services, from a request to its answer. */
  readonly latency?: number;
  /** The share of tokens that are gone; 0 means none. */
  readonly refuse?: number;
  readonly workers?: number;
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
const devicesUsual = 100_000;

/** Targets beside each library and beside the bare loop. */
const peerWanted: Readonly<Partial<Record<Way, number>>> = { webpush: 7, apns: 1, fcm: 1 };
const limitWanted: Readonly<Partial<Record<Way, number>>> = { apns: 1.05, fcm: 1 };
/** Targets of a send beside the same without dead tokens, without latency, and to fewer devices. */
const [refusedWanted, latencyWanted, largerWanted] = [0.95, 0.9, 0.9];

/** The name of the file that a result is kept in. */
function nameOf({ channel, devices = devicesUsual, latency = 0, refuse = 0, workers }: Partial<SendOptions>): string {
  const parts = [
    `send-${channel}`,
    ...(devices === devicesUsual ? [] : [devices]),
    ...(latency === 0 ? [] : [`latency-${latency}`]),
    ...(refuse === 0 ? [] : [`refuse-${refuse}`]),
    ...(workers === undefined ? [] : [`workers-${workers}`]),
  ];
  return parts.join('-');
}

export async function measureSend(workbench: Workbench, options: SendOptions): Promise<Measured> {
  const { channel: way, isQuick, latency: latencyMs = 0, refuse = 0, workers, profile: profileDir } = options;
  const { devices = isQuick ? 1_000 : devicesUsual } = options;
  if (way === undefined) throw new RunError(`Say which way: --channel ${ways.join('|')}.`);
  if (way === 'mixed' && refuse > 0) throw new RunError('--refuse is an option of a single channel.');
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
  // The other sides run first, while no process of Carillon can slow them.
  const sides: (PeerRun & { readonly side: string; readonly atLeast: number | undefined })[] = [];
  for (const peer of peerPlansOf(way)) {
    const side = `${peer.name} ${peer.version}, ${peer.note}`;
    sides.push({ side, atLeast: peerWanted[way], ...(await runPeer(workbench, receiver, peer, plan)) });
  }
  const bare = barePlanOf(way);
  sides.push({ side: bare.name, atLeast: limitWanted[way], ...(await runPeer(workbench, receiver, bare, plan)) });
  const ours = await sendWithCarillon(workbench, receiver, {
    way,
    devices,
    credentials,
    latencyMs,
    warmUpPushes: warmUpPushes[size],
    refuseEvery: refuse === 0 ? 0 : Math.round(1 / refuse),
    workers,
    profileDir,
  });

  const besideEach = (name: string, rate: number): Figure[] =>
    sides.map(({ side, perSecond, atLeast }) =>
      figure(name, rate, '/s', { beside: { side, value: perSecond }, atLeast }),
    );
  const [circumstance, atLeast] = refuse > 0 ? ['dead tokens', refusedWanted] : ['latency', latencyWanted];
  const besidePlain = (name: string, rate: number, plainRate: number): Figure =>
    figure(`pushes a second with ${circumstance}, ${name}`, rate, '/s', {
      beside: { side: 'none', value: plainRate },
      atLeast,
    });
  const { again, compared } = ours;
  return {
    name: nameOf({ ...options, devices }),
    isTrial: devices < devicesUsual,
    params: {
      channel: way,
      devices,
      latency_ms: latencyMs,
      refuse,
      peer_pushes: pushes,
      payload_bytes: meanBodyBytes(way),
      ...ours.processCounts,
    },
    figures: [
      figure('pushes a second, every outcome recorded', ours.perSecond, '/s'),
      ...besideEach('pushes a second', ours.perSecond),
      ...(again === undefined ? [] : besideEach('the same send again', again)),
      ...(compared
        ? [
            besidePlain(`mean of ${compared.rounds}`, compared.perSecond, compared.perSecondPlain),
            besidePlain('the first time', compared.perSecondFirst, compared.perSecondPlain),
          ]
        : []),
      ...besideUsual(ours.perSecond, devices, nameOf({ channel: way, latency: latencyMs })),
      figure('CPU for 1,000', ours.cpuSeconds, 's'),
      ...sides.map(({ side, cpu }) =>
        figure('CPU for 1,000', ours.cpuSeconds, 's', { beside: { side, value: cpu.peer } }),
      ),
      ...sides.map(({ side, cpu }) => figure(`CPU for 1,000: the receiver of ${side}`, cpu.receiver, 's')),
      ...ours.costs,
    ],
    foreignCores: Math.max(ours.foreignCores, ...sides.map((each) => each.foreignCores)),
    postgres: ours.postgres,
  };
}

/** More devices than usual beside the kept result of the usual number. */
function besideUsual(rate: number, devices: number, usualName: string): Figure[] {
  const usual = devices > devicesUsual ? findKept(usualName) : undefined;
  const value = usual?.figures[0]?.value;
  if (!usual || typeof value !== 'number') return [];
  const beside = { side: `${devicesUsual} devices (${usual.commit})`, value };
  return [figure('pushes a second', rate, '/s', { beside, atLeast: largerWanted })];
}

/** Mean bytes of a push's body before encryption. */
function meanBodyBytes(way: Way): number {
  const tokenOfUsualLength = 'x'.repeat(163);
  const sizes = channelsOf(way).map((channel) => bodyOf[channel](tokenOfUsualLength).length);
  return Math.round(sizes.reduce((sum, each) => sum + each, 0) / sizes.length);
}
