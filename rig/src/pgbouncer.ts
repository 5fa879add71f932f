// Debian's PgBouncer in front of a run's database. It runs as a user without rights, because it
// refuses to run as root.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getProgramUser } from '../../packages/postgres/src/embedded/programs.ts';
import { findFreePort } from './ports.ts';
import { stopChild, type Workbench } from './workbench.ts';

const program = '/usr/sbin/pgbouncer';

export const hasPgBouncer = (): boolean => existsSync(program);

/** Starts PgBouncer before a database at a unix socket. Returns the address through PgBouncer. */
export async function startPgBouncer(
  workbench: Workbench,
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<string> {
  const directory = await workbench.makeDirectory('pgbouncer');
  const address = new URL(databaseUrl);
  const port = await findFreePort();
  const file = join(directory, 'pgbouncer.ini');
  const settings = [
    '[databases]',
    `* = host=${address.searchParams.get('host')} port=${address.port || 5432} user=${address.username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'max_client_conn = 200',
    'default_pool_size = 80',
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  const child = spawn(program, ['-q', file], {
    ...(await getProgramUser()),
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  workbench.onClose(() => stopChild(child, 'SIGKILL'));
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer does not start: ${words.trim()}`);
    await sleep(20);
  }
  return `postgres://${address.username}@127.0.0.1:${port}${address.pathname}`;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
