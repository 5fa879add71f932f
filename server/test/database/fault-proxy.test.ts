// Tests the proxy that other tests break connections with.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openPool, transaction } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import { type FaultProxy, startFaultProxy } from '../../../rig/src/fault-proxy.ts';

interface Way {
  readonly proxy: FaultProxy;
  /** The target's sides of all connections so far. */
  readonly targets: readonly Socket[];
  dial(): Promise<Socket>;
}

/** A target that returns what it gets in upper case, and ends when it is ended. */
async function setUp(): Promise<Way> {
  const targets: Socket[] = [];
  const server = createServer((socket) => {
    targets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startFaultProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  onTestFinished(async () => {
    await proxy.close();
    server.close();
    for (const socket of targets) socket.destroy();
  });
  return {
    proxy,
    targets,
    async dial() {
      const socket = connect(proxy.port, '127.0.0.1');
      socket.on('error', () => undefined);
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      return socket;
    },
  };
}

async function ask(socket: Socket, words: string): Promise<string> {
  socket.write(words);
  let heard = '';
  while (heard.length < words.length) heard += String((await once(socket, 'data'))[0]);
  return heard;
}

describe('the fault proxy', () => {
  it('passes everything on without faults, ends included', async () => {
    const { dial, proxy } = await setUp();
    const socket = await dial();
    const words = 'hello '.repeat(100_000);
    expect(await ask(socket, words)).toBe(words.toUpperCase());
    expect([proxy.connections, proxy.bytesFromClients]).toEqual([1, words.length]);
    socket.end();
    await once(socket, 'close');
  });

  it('slices without losing or reordering a byte', async () => {
    const { dial, proxy } = await setUp();
    proxy.set({ sliceBytes: 7 });
    const words = Array.from({ length: 1000 }, (_, number) => `word ${number}`).join(' ');
    expect(await ask(await dial(), words)).toBe(words.toUpperCase());
  });

  it('holds what is sent into a black hole, and passes it on when that ends', async () => {
    const { dial, proxy, targets } = await setUp();
    const socket = await dial();
    expect(await ask(socket, 'before')).toBe('BEFORE');
    proxy.set({ isSilent: true });
    const answers = [ask(socket, 'into the hole'), ask(await dial(), 'and again')];
    while (proxy.bytesFromClients < 'beforeinto the holeand again'.length) await nextTurn();
    expect(targets.reduce((bytes, each) => bytes + each.bytesRead, 0)).toBe('before'.length);
    proxy.set({});
    expect(await Promise.all(answers)).toEqual(['INTO THE HOLE', 'AND AGAIN']);
  });

  it('resets open connections, and new ones while it refuses', async () => {
    const { dial, proxy } = await setUp();
    const open = await dial();
    await ask(open, 'open');
    const reset = once(open, 'error');
    proxy.reset();
    expect((await reset)[0]).toMatchObject({ code: 'ECONNRESET' });
    proxy.set({ isRefusing: true });
    const refused = dial().then((socket) => once(socket, 'end'));
    await expect(refused).rejects.toMatchObject({ code: 'ECONNRESET' });
    proxy.set({});
    expect(await ask(await dial(), 'well again')).toBe('WELL AGAIN');
  });

  it('leaves a half-open connection to its client, silently dead, and accepts others', async () => {
    const { dial, proxy, targets } = await setUp();
    const dead = await dial();
    await ask(dead, 'alive');
    const gone = once(targets[0] as Socket, 'close');
    proxy.halfOpen();
    await gone;
    dead.write('is anybody there');
    expect(await ask(await dial(), 'me')).toBe('ME');
    expect([dead.destroyed, dead.readableEnded, dead.bytesRead]).toEqual([false, false, 'alive'.length]);
  });

  it('resets a connection after a number of bytes from the target', async () => {
    const { dial, proxy } = await setUp();
    proxy.set({ limitBytes: 10 });
    const socket = await dial();
    expect(await ask(socket, 'ten bytes.')).toBe('TEN BYTES.');
    socket.write('!');
    await expect(once(socket, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(socket.bytesRead).toBe(10);
  });
});

describe('the proxy in front of a database', () => {
  async function setUpDatabase() {
    const database = await createTestDatabase();
    const { url, proxy, cutNextCommit } = await startDatabaseProxy(database.url);
    const sql = openPool({ url, connectionsMax: 1, name: 'the one', statementTimeoutMs: 10_000 });
    onTestFinished(async () => {
      await sql.end({ timeout: 1 });
      await proxy.close();
    });
    await sql`CREATE TABLE kept (number integer)`;
    const keep = (number: number): Promise<void> =>
      transaction(sql, async (tx) => void (await tx`INSERT INTO kept VALUES (${number})`));
    const kept = async (): Promise<number[]> =>
      (await database.sql<{ number: number }[]>`SELECT number FROM kept ORDER BY number`).map((row) => row.number);
    return { keep, kept, cutNextCommit };
  }

  it.each([
    ['unheard', [1, 2, 3]],
    ['lost', [1, 3]],
  ] as const)('cuts at a COMMIT that is %s, every time it is asked to', async (cut, left) => {
    const { keep, kept, cutNextCommit } = await setUpDatabase();
    await keep(1);
    const done = cutNextCommit(cut, 'the one');
    await expect(keep(2)).rejects.toMatchObject({ code: expect.stringMatching(/^(CONNECTION_|ECONNRESET)/) });
    await done;
    await keep(3);
    expect(await kept()).toEqual(left);
  });

  it('cuts no other connection', async () => {
    const { keep, kept, cutNextCommit } = await setUpDatabase();
    void cutNextCommit('lost', 'another');
    await keep(1);
    expect(await kept()).toEqual([1]);
  });
});
