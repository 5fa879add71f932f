import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConnectGate } from './connect-gate.ts';
import { Http2Pool, type Http2PoolOptions, type PoolResult } from './pool.ts';
import type { Asker, Http2Request, Http2Result, Http2Session, Http2SessionEvents } from './session.ts';

// Tests the pool's decisions with sessions and a clock that the test controls. The tests of the
// engines use real connections.

const request: Http2Request = {
  path: '/',
  headers: {},
  body: Buffer.alloc(0),
  timeoutMs: 10_000,
};
const answered: Http2Result = { status: 201, headers: {}, body: null, truncated: false, latencyMs: 1 };
const refused: Http2Result = { refused: true, latencyMs: 1 };

class ScriptedSession implements Http2Session {
  readonly events: Http2SessionEvents;
  readonly pending: Asker[] = [];
  streamsMax: number;
  isDraining = false;
  isAlive = true;
  pings = 0;

  constructor(events: Http2SessionEvents, streamsMax: number) {
    this.events = events;
    this.streamsMax = streamsMax;
  }

  get inFlight(): number {
    return this.pending.length;
  }

  request(_request: Http2Request, asker: Asker): void {
    if (this.isDraining || this.inFlight >= this.streamsMax) throw new Error('asked for more than it offers');
    this.pending.push(asker);
  }

  /** Ends the oldest stream with this result. */
  end(result: Http2Result): void {
    this.pending.shift()?.onResult(result);
    this.events.onCapacity();
    if (this.isDraining && this.inFlight === 0) this.lose(undefined);
  }

  /** Closes the connection. */
  lose(error: unknown): void {
    this.isDraining = true;
    for (const asker of this.pending.splice(0))
      asker.onResult({ transportError: 'reset', written: true, latencyMs: 1 });
    this.events.onClose(error);
  }

  async ping(): Promise<boolean> {
    this.pings += 1;
    return this.isAlive;
  }

  drain(error?: unknown): void {
    if (this.isDraining) return;
    this.isDraining = true;
    this.events.onDrain(error);
    if (this.inFlight === 0) this.events.onClose(undefined);
  }

  destroy(): void {
    this.lose(undefined);
  }
}

class ScriptedSocket extends EventEmitter {
  alpnProtocol = 'h2';
  isDestroyed = false;

  destroy(): void {
    this.isDestroyed = true;
  }
}

function setup(changed: Partial<Http2PoolOptions> & { readonly streams?: number } = {}) {
  const { streams = 2, ...options } = changed;
  const sockets: ScriptedSocket[] = [];
  const openedAtMs: number[] = [];
  const sessions: ScriptedSession[] = [];
  const pool = new Http2Pool({
    authority: 'push.example.org',
    sessionsMax: 2,
    streamsMax: 100,
    connectTimeoutMs: 10_000,
    idleMs: 60_000,
    open: () => {
      const socket = new ScriptedSocket();
      sockets.push(socket);
      openedAtMs.push(performance.now());
      return socket as unknown as TLSSocket;
    },
    engine: (_socket, { events }) => {
      const session = new ScriptedSession(events, streams);
      sessions.push(session);
      return session;
    },
    ...options,
  });
  const results: PoolResult[] = [];
  const ask = (count = 1) => {
    for (let i = 0; i < count; i += 1) void pool.request(request).then((result) => results.push(result));
  };
  /** Lets the newest connection succeed: TLS, then the peer's SETTINGS. */
  const connect = () => {
    sockets.at(-1)?.emit('secureConnect');
    sessions.at(-1)?.events.onReady();
  };
  const turn = () => vi.advanceTimersByTimeAsync(0);
  const get = (index: number) => {
    const session = sessions[index];
    if (session === undefined) throw new Error(`There is no session ${index}.`);
    return session;
  };
  /** Milliseconds between consecutive tries to connect. */
  const gaps = () => openedAtMs.slice(1).map((ms, i) => ms - (openedAtMs[i] ?? 0));
  return { pool, sockets, sessions, results, ask, connect, turn, get, gaps };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const refusedConnection = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' });

describe('a request that is no longer wanted', () => {
  test('is not sent when a stream is free for it, and those behind it are', async () => {
    const t = setup({ streams: 1, sessionsMax: 1 });
    t.ask();
    t.connect();
    const unwanted = t.pool.request({ ...request, isWanted: () => false });
    t.ask();
    t.get(0).end(answered);
    await t.turn();
    expect(await unwanted).toEqual({ transportError: 'connect_error', written: false, latencyMs: 0 });
    expect(t.get(0).inFlight).toBe(1);
    t.get(0).end(answered);
    await t.turn();
    expect(t.results).toEqual([answered, answered]);
  });
});

describe('sessions', () => {
  test('the first request opens one, and none is used before the peer has said how many streams it allows', async () => {
    const t = setup();
    t.ask(2);
    expect(t.sockets).toHaveLength(1);
    t.sockets[0]?.emit('secureConnect');
    await t.turn();
    expect(t.get(0).inFlight).toBe(0);
    t.get(0).events.onReady();
    await t.turn();
    expect(t.get(0).inFlight).toBe(2);
  });

  test('one connection is made at a time, and no more than allowed', async () => {
    const t = setup();
    t.ask(9);
    expect(t.sockets).toHaveLength(1);
    t.connect();
    expect(t.sockets).toHaveLength(2);
    t.connect();
    expect(t.sockets).toHaveLength(2);
    await t.turn();
    expect(t.sessions.map(({ inFlight }) => inFlight)).toEqual([2, 2]);
  });

  test('waiting requests are served in order, as streams end and when the peer allows more', async () => {
    const t = setup({ sessionsMax: 1 });
    t.ask(5);
    t.connect();
    await t.turn();
    t.get(0).end(answered);
    await t.turn();
    expect([t.results.length, t.get(0).inFlight]).toEqual([1, 2]);
    t.get(0).streamsMax = 3;
    t.get(0).events.onCapacity();
    await t.turn();
    expect(t.get(0).inFlight).toBe(3);
  });

  test('SETTINGS that shrink stop new streams until enough have ended', async () => {
    const t = setup({ sessionsMax: 1 });
    t.ask(3);
    t.connect();
    await t.turn();
    t.get(0).streamsMax = 1;
    t.get(0).end(answered);
    await t.turn();
    expect(t.get(0).inFlight).toBe(1);
    t.get(0).end(answered);
    await t.turn();
    expect(t.get(0).inFlight).toBe(1);
  });

  test('a peer that allows no stream within the time of a connection is out of reach, and waiting requests fail', async () => {
    const t = setup({ sessionsMax: 1, streams: 0 });
    t.ask(3);
    t.connect();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(t.results).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(t.results).toEqual(Array(3).fill({ transportError: 'connect_error', written: false, latencyMs: 0 }));
    t.ask();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(t.results).toHaveLength(4);
  });

  test('a peer that allows streams within that time serves all waiting requests', async () => {
    const t = setup({ sessionsMax: 1, streams: 0 });
    t.ask(2);
    t.connect();
    await vi.advanceTimersByTimeAsync(9_000);
    t.get(0).streamsMax = 2;
    t.get(0).events.onCapacity();
    await vi.advanceTimersByTimeAsync(5_000);
    expect([t.results.length, t.get(0).inFlight]).toEqual([0, 2]);
  });

  test('a peer without HTTP/2 gets no request', async () => {
    const t = setup();
    t.ask(3);
    const [socket] = t.sockets;
    if (socket) socket.alpnProtocol = 'http/1.1';
    socket?.emit('secureConnect');
    await t.turn();
    expect(t.results).toEqual(Array(3).fill({ unsupported: true }));
    expect([t.sessions.length, socket?.isDestroyed]).toEqual([0, true]);
  });
});

describe('when no connection can be made', () => {
  test('all waiting requests fail, as requests that were not sent', async () => {
    const t = setup();
    t.ask(3);
    t.sockets[0]?.emit('error', refusedConnection);
    t.sockets[0]?.emit('close');
    await t.turn();
    expect(t.results).toEqual(Array(3).fill({ transportError: 'connect_error', written: false, latencyMs: 0 }));
  });

  test('a peer that never finishes the handshake is given up', async () => {
    const t = setup();
    t.ask();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(t.results).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(t.results).toMatchObject([{ transportError: 'connect_error', written: false }]);
    expect(t.sockets[0]?.isDestroyed).toBe(true);
  });

  test('a peer that never sends its SETTINGS is given up as well', async () => {
    const t = setup();
    t.ask();
    t.sockets[0]?.emit('secureConnect');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(t.results).toMatchObject([{ transportError: 'connect_error', written: false }]);
  });

  const farApart = (gaps: readonly number[]) => {
    expect(gaps.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2_200);
  };

  test('attempts are at least a second apart, however many ask', async () => {
    const t = setup();
    for (let i = 0; i < 200; i += 1) {
      t.ask(5);
      t.sockets.at(-1)?.emit('error', refusedConnection);
      await vi.advanceTimersByTimeAsync(100);
    }
    farApart(t.gaps());
  });

  test.each([
    ['loses every connection at once', (session?: ScriptedSession) => session?.lose(new Error('reset'))],
    [
      'says goodbye to every connection for a cause',
      (session?: ScriptedSession) => session?.drain(new Error('GOAWAY')),
    ],
  ])('attempts are also a second apart to a peer that %s', async (_what, end) => {
    const t = setup({ sessionsMax: 1 });
    for (let i = 0; i < 200; i += 1) {
      // More than one session accepts, so that some requests always wait.
      t.ask(5);
      if (t.sockets.length > t.sessions.length) {
        t.connect();
        await t.turn();
        end(t.sessions.at(-1));
      }
      await vi.advanceTimersByTimeAsync(100);
    }
    farApart(t.gaps());
  });

  test('attempts of all pools to one host are a second apart together, however many ask', async () => {
    const gate = new ConnectGate();
    const attemptsAtMs: number[] = [];
    const open = () => {
      attemptsAtMs.push(performance.now());
      const socket = new ScriptedSocket();
      setTimeout(() => socket.emit('error', refusedConnection), 10);
      return socket as unknown as TLSSocket;
    };
    const pools = Array.from({ length: 20 }, () => setup({ gate, open }));
    // Nothing is known yet, so each pool tries on its own.
    for (const t of pools) t.ask();
    await vi.advanceTimersByTimeAsync(100);
    expect(attemptsAtMs.splice(0)).toHaveLength(20);
    for (let i = 0; i < 200; i += 1) {
      for (const t of pools) t.ask();
      await vi.advanceTimersByTimeAsync(100);
    }
    farApart(attemptsAtMs.slice(1).map((ms, i) => ms - (attemptsAtMs[i] ?? 0)));
    await vi.advanceTimersByTimeAsync(2_100);
    for (const { results } of pools) expect(results).toHaveLength(201);
  });

  test('when one pool gets through, the others may connect at once', async () => {
    const gate = new ConnectGate();
    const [a, b] = [setup({ gate }), setup({ gate })];
    a.ask();
    a.sockets[0]?.emit('error', refusedConnection);
    a.ask();
    b.ask();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(a.sockets.length + b.sockets.length).toBe(2);
    const [first, second] = b.sockets.length === 0 ? [a, b] : [b, a];
    first.connect();
    expect(a.sockets.length + b.sockets.length).toBe(3);
    second.connect();
    await a.turn();
    expect([a.get(0).inFlight, b.get(0).inFlight]).toEqual([1, 1]);
  });

  test('open sessions go on serving while another one fails', async () => {
    const t = setup();
    t.ask(5);
    t.connect();
    t.sockets[1]?.emit('error', refusedConnection);
    await t.turn();
    expect(t.results).toEqual([]);
    for (let i = 0; i < 5; i += 1) {
      t.get(0).end(answered);
      await t.turn();
    }
    expect(t.results).toEqual(Array(5).fill(answered));
  });

  test('a session lost after long service is replaced at once', async () => {
    const t = setup();
    t.ask();
    t.connect();
    await vi.advanceTimersByTimeAsync(5_000);
    t.get(0).end(answered);
    t.ask(2);
    await t.turn();
    t.get(0).lose(new Error('reset'));
    t.ask();
    await vi.advanceTimersByTimeAsync(100);
    expect(t.sockets).toHaveLength(2);
  });
});

describe('requests that were not acted upon', () => {
  test('go to another session at once, and are one request for the caller', async () => {
    const t = setup();
    t.ask(2);
    t.connect();
    await t.turn();
    t.get(0).end(refused);
    await t.turn();
    expect([t.sockets.length, t.results.length]).toEqual([2, 0]);
    t.connect();
    await t.turn();
    expect(t.sessions.map(({ inFlight }) => inFlight)).toEqual([1, 1]);
    t.get(1).end(answered);
    await t.turn();
    expect(t.results).toEqual([answered]);
  });

  test('go to a new session even where only one is allowed', async () => {
    const t = setup({ sessionsMax: 1 });
    t.ask(2);
    t.connect();
    await t.turn();
    t.get(0).end(refused);
    await t.turn();
    t.connect();
    await t.turn();
    expect(t.sessions.map(({ inFlight }) => inFlight)).toEqual([1, 1]);
  });

  test('a session that refuses gets nothing new until it answers again', async () => {
    const t = setup({ sessionsMax: 1, streams: 2 });
    t.ask(2);
    t.connect();
    await t.turn();
    t.get(0).end(refused);
    await t.turn();
    t.ask();
    await t.turn();
    expect(t.get(0).inFlight).toBe(1);
    t.get(0).end(answered);
    await t.turn();
    expect(t.get(0).inFlight).toBe(1);
  });

  test('the fourth refusal is the result', async () => {
    const t = setup();
    t.ask();
    for (let i = 0; i < 4; i += 1) {
      t.connect();
      await t.turn();
      t.sessions.at(-1)?.end(refused);
      await t.turn();
    }
    expect(t.results).toEqual([{ transportError: 'reset', written: false, latencyMs: 1 }]);
    expect(t.sockets).toHaveLength(4);
  });

  test('a peer that goes on refusing is not stormed with connections', async () => {
    const t = setup();
    for (let i = 0; i < 50; i += 1) {
      t.ask();
      if (t.sockets.length > t.sessions.length) t.connect();
      await t.turn();
      for (const session of t.sessions) while (session.inFlight > 0) session.end(refused);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(t.sockets.length).toBeLessThanOrEqual(6);
  });
});

describe('at rest', () => {
  test('a session without a request is closed after its time, and not before', async () => {
    const t = setup();
    t.ask();
    t.connect();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(t.get(0).isDraining).toBe(false);
    t.get(0).end(answered);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(t.get(0).isDraining).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect([t.get(0).isDraining, t.pool.isEmpty]).toEqual([true, true]);
  });

  test('a request in between starts the time again', async () => {
    const t = setup();
    t.ask();
    t.connect();
    await t.turn();
    t.get(0).end(answered);
    await vi.advanceTimersByTimeAsync(59_000);
    t.ask();
    await t.turn();
    t.get(0).end(answered);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(t.get(0).isDraining).toBe(false);
  });

  test('a session at rest is pinged where configured, and given up when it does not answer', async () => {
    const t = setup({ ping: { afterMs: 30_000, timeoutMs: 5_000 }, idleMs: 3_600_000 });
    t.ask();
    t.connect();
    await t.turn();
    t.get(0).end(answered);
    await vi.advanceTimersByTimeAsync(90_000);
    expect(t.get(0).pings).toBe(3);
    t.get(0).isAlive = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(t.pool.isEmpty).toBe(true);
  });
});

test('closing waits for open requests and ends every session', async () => {
  const t = setup();
  t.ask(5);
  t.connect();
  t.connect();
  await t.turn();
  let isClosed = false;
  void t.pool.close().then(() => {
    isClosed = true;
  });
  for (let i = 0; i < 5; i += 1) {
    await t.turn();
    expect(isClosed).toBe(false);
    t.sessions.find(({ inFlight }) => inFlight > 0)?.end(answered);
  }
  await t.turn();
  expect([isClosed, t.results.length, t.pool.isEmpty]).toEqual([true, 5, true]);
});

test('closing also waits for a connection that is being made', async () => {
  const t = setup();
  t.ask();
  const closed = t.pool.close();
  t.sockets[0]?.emit('error', refusedConnection);
  await closed;
  expect(t.results).toMatchObject([{ transportError: 'connect_error' }]);
});
