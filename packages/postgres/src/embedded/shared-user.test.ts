// Under root, the database's files belong to a user with few other processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { chooseProgramUser } from './programs.ts';
import { findNeighbours, warnOfNeighbours } from './shared-user.ts';

const line = (name: string, uid: number): string => `${name}:x:${uid}:${uid + 1}::/:/usr/sbin/nologin\n`;
const isRoot = process.getuid?.() === 0;

it.each<[string, string, object | undefined]>([
  ['postgres before all', line('nobody', 9) + line('carillon', 7) + line('postgres', 5), { uid: 5, gid: 6 }],
  ['carillon where there is no postgres', line('nobody', 9) + line('carillon', 7), { uid: 7, gid: 8 }],
  ['nobody at last', line('root', 0) + line('nobody', 9), { uid: 9, gid: 10 }],
  [
    'nobody of macOS',
    'nobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false\n',
    { uid: 2 ** 32 - 2, gid: 2 ** 32 - 2 },
  ],
  ['no user whose name only begins so', line('postgres2', 5) + line('xcarillon', 7), undefined],
])('under root PostgreSQL runs as %s', (_which, passwd, user) => {
  expect(chooseProgramUser(passwd)).toEqual(user);
});

it.runIf(process.platform === 'linux')('processes of a user are found by their programs', async () => {
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  expect(await findNeighbours(self)).toContain('node');
});

it.runIf(process.platform === 'linux' && isRoot)(
  'a process that runs as nobody beside the database is warned of, with what to do; a user of its own is not',
  async () => {
    const nobody = chooseProgramUser(
      (await readFile('/etc/passwd', 'utf8')).replaceAll(/^(?:postgres|carillon):/gm, 'x:'),
    );
    const stranger = spawn('sleep', ['600'], { ...nobody, stdio: 'ignore' });
    onTestFinished(() => void stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    expect(await warnOfNeighbours(nobody, '/var/lib/carillon')).toMatch(
      /^PostgreSQL runs as the user nobody, and so do .*sleep.*, which can read its files\. Stop Carillon.*chown -R carillon: \/var\/lib\/carillon/,
    );
    expect(await warnOfNeighbours({ uid: 0, gid: 0 }, '/var/lib/carillon')).toBeUndefined();
  },
);
