// A TCP proxy that fails in the ways networks do: between a service and its database, or between it and a provider. Knows
// nothing of what passes; whoever must cut at a certain word hands in a `Watch` that does.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** What is wrong with the way, both directions alike. An empty object: nothing. */
export interface Faults {
  /** Everything arrives this much later. */
  readonly latencyMs?: number;
  readonly bytesPerSecond?: number;
  /** Passed on in pieces of this size, one a turn of the event loop. */
  readonly sliceBytes?: number;
  /** A black hole: connections are accepted and stay open, nothing passes and nobody is told. What was said passes when it ends. */
  readonly isSilent?: boolean;
  /** An end is passed on this much later. */
  readonly closeAfterMs?: number;
  /** Each connection is reset once so many bytes came from the target. */
  readonly limitBytes?: number;
  /** New connections are reset. */
  readonly isRefusing?: boolean;
}

/** Sees what the client of one connection says, before it is passed on, and what the target answers. */
export interface Watch {
  /** `cut` ends the connection for both, in place of passing this on; `mute` passes it on, and ends the client's side when the target answers. */
  ofClient(chunk: Buffer): 'pass' | 'cut' | 'mute';
}

export interface FaultProxy {
  readonly port: number;
  /** Connections that are open on the client's side. */
  readonly connections: number;
  /** Bytes that clients sent so far. */
  readonly bytesFromClients: number;
  /** Replaces what is wrong; holds for open connections too. */
  set(faults: Faults): void;
  /** Resets what is open. */
  reset(): void;
  /** TCP silently dead: what is open now ends at the target, and its client is never told. New connections are well. */
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

/** A direction holds no more than this before its sender has to wait. */
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

  /** Passes on what one side says, as late, as slowly and in such pieces as the faults of the moment ask for. */
  const carry = (pair: Pair, from: Socket, to: Socket): void => {
    const held: { chunk: Buffer | null; at: number }[] = [];
    let heldBytes = 0;
    let isCarrying = false;
    const carryAll = async (): Promise<void> => {
      for (let next = held.shift(); next; next = held.shift()) {
        while (faults.isSilent) await new Promise<void>((resolve) => waitingForHealth.add(resolve));
        const waitMs = next.at + (faults.latencyMs ?? 0) - performance.now();
        if (waitMs > 0) await pause(waitMs);
        if (next.chunk === null) {
          if (faults.closeAfterMs) await pause(faults.closeAfterMs);
          if (!pair.isHalfOpen) to.end();
          continue;
        }
        const { sliceBytes = next.chunk.length, bytesPerSecond } = faults;
        for (let start = 0; start < next.chunk.length && to.writable; start += sliceBytes) {
          const slice = next.chunk.subarray(start, start + sliceBytes);
          if (!to.write(slice)) await drainedOrClosed(to);
          if (bytesPerSecond) await pause((slice.length / bytesPerSecond) * 1000);
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
    // Slices must not be put together again.
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
    // A client that gives up on a dead target has nobody left to say goodbye to it.
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

/** Node resets no socket whose end it is sending, and a process that asked for it can then not end (`CleanupHandles` waits for it). */
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
