import { inject, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createTestDatabase } from '../test/database.ts';
import { connect, openPool } from './db.ts';
import { startListener } from './listener.ts';

function createEar() {
  const heard: string[] = [];
  const waiting = new Set<() => void>();
  return {
    hear(payload: string): void {
      heard.push(payload);
      for (const wake of waiting) wake();
    },
    until: (payload: string) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!heard.includes(payload)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

/** With heartbeats far apart, a slow machine does not make the listener connect again. */
async function setUp(heartbeatEveryMs = 60_000) {
  const database = await createTestDatabase();
  const ear = createEar();
  const gap = createEar();
  const listener = await startListener({
    open: () => connect({ url: database.url, name: 'ear', statementTimeoutMs: 5000 }),
    sql: database.sql,
    hear: {
      greetings: (payload) => {
        if (payload === 'unreadable') throw new Error('a listener failed');
        ear.hear(payload);
      },
    },
    onGap: () => gap.hear('gap'),
    log: { debug: () => undefined, warn: () => undefined, error: () => undefined },
    heartbeatEveryMs,
  });
  whenDone(() => listener.stop());
  const greet = (payload: string) => database.sql`SELECT pg_notify('greetings', ${payload})`;
  const kill = () =>
    database.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ear'`;
  return { ...database, ear, gap, greet, kill };
}

it('hears notifications', async () => {
  const { ear, greet } = await setUp();
  await greet('hello');
  await ear.until('hello');
});

it('hears notifications after one that its listener could not handle', async () => {
  const { ear, greet } = await setUp();
  await greet('unreadable');
  await greet('hello');
  await ear.until('hello');
});

it('R-06 hears again after its connection was killed, and says that something may have been missed', async () => {
  const { ear, gap, greet, kill } = await setUp(20);
  await kill();
  await gap.until('gap');
  // One channel may hear again before the other. The gap covers a greeting between the two.
  const greeting = setInterval(() => void greet('again').catch(() => undefined), 20);
  await ear.until('again');
  clearInterval(greeting);
});

it('R-06 hears again after a while without a connection, because its own heartbeat is missing', async () => {
  const { sql, ear, gap, greet, kill } = await setUp(20);
  const [row] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  const admin = openPool({ url: inject('serverUrl'), connectionsMax: 1, name: 'tests', statementTimeoutMs: 5000 });
  whenDone(() => admin.end());
  await admin.unsafe(`ALTER DATABASE ${row?.name} ALLOW_CONNECTIONS false`);
  await kill();
  await gap.until('gap');
  await admin.unsafe(`ALTER DATABASE ${row?.name} ALLOW_CONNECTIONS true`);
  // The greeting is repeated until it is heard, because the next heartbeat has no known time.
  const greeting = setInterval(() => void greet('late').catch(() => undefined), 20);
  await ear.until('late');
  clearInterval(greeting);
});
