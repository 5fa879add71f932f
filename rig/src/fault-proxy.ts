// A TCP proxy that fails as networks fail: between a service and its database, or between a service
// and a provider. It knows no protocol; a caller that must cut at a certain message passes a
// `Watch` that does.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** The faults of the connection, in both directions. An empty object means none. */
export interface Faults {
  /** Everything arrives this much later. */
  readonly latencyMs?: number;
  readonly bytesPerSecond?: number;
  /** Data passes in pieces of this size, one per turn of the event loop. */
  readonly sliceBytes?: number;
  /**
   * A black hole: connections are accepted and stay open, and nothing passes. The held data passes
   * when this ends.
   */
  readonly isSilent?: boolean;
  /** An end is passed on this much later. */
  readonly closeAfterMs?: number;
  /** Each connection is reset once this many bytes came from the target. */
  readonly limitBytes?: number;
  /** New connections are reset. */
  readonly isRefusing?: boolean;
}

/**
 * Sees what the client of one connection sends, before it is passed on, and what the target
 * answers.
 */
export interface Watch {
  /**
   * `cut` drops the data and ends the connection on both sides. `mute` passes the data on and ends
   * the client's side when the target answers.
   */
  ofClient(chunk: Buffer): 'pass' | 'cut' | 'mute';
}

export interface FaultProxy {
  readonly port: number;
  /** Connections that are open on the client's side. */
  readonly connections: number;
  /** Bytes that clients have sent so far. */
  readonly bytesFromClients: number;
  /** Replaces the current faults, for open connections too. */
  set(faults: Faults): void;
  /** Resets all open connections. */
  reset(): void;
  /**
   * Silently dead TCP: open connections end at the target, and their clients are never told. New
   * connections work.
   */
  halfOpen(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly target: Socket;
  bytesFromTarget: number;
  isMuted: boolean;
  isHalfOpen: boolean;
}

/** The most that one direction holds before its sender has to wait. */
const heldBytesMax = 1024 * 1024;

export async function startFaultProxy(target: NetConnectOpts, watch?: () => Watch): Promise<FaultProxy> {
  let faults: Faults = {};
  const waitingForHealth = new Set<() => void>();
  let bytesFromClients = 0;
  const pairs = new Set<Pair>();

  const resetPair = ({ client, target: far }: Pair): void => {
    resetSocket(client);
    far.destroy();
  };

  /** Passes on what one side sends, with the current latency, rate and slice size. */
  const carry = (pair: Pair, from: Socket, to: Socket): void => {
    const held: { chunk: Buffer | null; at: number }[] = [];
    let heldBytes = 0;
    let isCarrying = false;
    const carryAll = async (): Promise<void> => {
      for (let next = held.shift(); next; next = held.shift()) {
        while (faults.isSilent) await new Promise<void>((resolve) => waitingForHealth.add(resolve));
        const waitMs = next.at + (faults.latencyMs ?? 0) - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        if (next.chunk === null) {
          if (faults.closeAfterMs) await sleep(faults.closeAfterMs);
          if (!pair.isHalfOpen) to.end();
          continue;
        }
        const { sliceBytes = next.chunk.length, bytesPerSecond } = faults;
        for (let start = 0; start < next.chunk.length && to.writable; start += sliceBytes) {
          const slice = next.chunk.subarray(start, start + sliceBytes);
          if (!to.write(slice)) await drainedOrClosed(to);
          if (bytesPerSecond) await sleep((slice.length / bytesPerSecond) * 1000);
          else if (faults.sliceBytes) await nextTurn();
        }
        heldBytes -= next.chunk.length;
        if (heldBytes < heldBytesMax) from.resume();
      }
    };
    const hold = (chunk: Buffer | null): void => {
      held.push({ chunk, at: performance.now() });
      heldBytes += chunk?.length ?? 0;
      if (heldBytes >= heldBytesMax) from.pause();
      if (isCarrying) return;
      isCarrying = true;
      void carryAll().then(() => {
        isCarrying = false;
      });
    };
    from.on('data', hold);
    from.on('end', () => hold(null));
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => undefined);
    if (faults.isRefusing) return void client.resetAndDestroy();
    const far = connect({ ...target, allowHalfOpen: true } as NetConnectOpts);
    const pair: Pair = { client, target: far, bytesFromTarget: 0, isMuted: false, isHalfOpen: false };
    pairs.add(pair);
    // TCP must not combine slices again.
    for (const socket of [client, far]) socket.setNoDelay(true);
    const watched = watch?.();
    client.on('data', (chunk: Buffer) => {
      bytesFromClients += chunk.length;
      const verdict = watched?.ofClient(chunk) ?? 'pass';
      if (verdict === 'mute') pair.isMuted = true;
      if (verdict === 'cut') resetPair(pair);
    });
    far.on('data', (chunk: Buffer) => {
      pair.bytesFromTarget += chunk.length;
      if (pair.isMuted || pair.bytesFromTarget > (faults.limitBytes ?? Number.POSITIVE_INFINITY)) resetPair(pair);
    });
    carry(pair, client, far);
    carry(pair, far, client);
    far.on('error', () => {
      if (!pair.isHalfOpen) resetSocket(client);
    });
    // When a client gives up a dead target, there is no connection left to close at the target.
    client.on('end', () => {
      if (pair.isHalfOpen) client.destroy();
    });
    client.on('close', () => {
      pairs.delete(pair);
      far.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size;
    },
    get bytesFromClients() {
      return bytesFromClients;
    },
    set(given) {
      faults = given;
      for (const resolve of waitingForHealth) resolve();
      waitingForHealth.clear();
    },
    reset() {
      for (const pair of pairs) resetPair(pair);
    },
    halfOpen() {
      for (const pair of pairs) {
        pair.isHalfOpen = true;
        pair.target.destroy();
      }
    },
    async close() {
      server.close();
      for (const { client, target: far } of pairs) {
        client.destroy();
        far.destroy();
      }
      await once(server, 'close');
    },
  };
}

/**
 * A socket whose end is being sent is not reset: Node does not do it, and a process that tried
 * could not end, because `CleanupHandles` waits.
 */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function drainedOrClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
