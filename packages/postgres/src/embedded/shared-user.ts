// Warns when PostgreSQL runs as `nobody` together with other processes: every process of `nobody`
// can read the database's files.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { owner } from './owner.ts';
import type { ProgramUser } from './programs.ts';

/** Lists the names of other processes of `user`, sorted. Empty when the system has no /proc. */
export async function findNeighbours(user: ProgramUser): Promise<string[]> {
  const names = new Set<string>();
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? [];
    if (Number(uid) !== user.uid) continue;
    const program = basename(await readlink(`/proc/${pid}/exe`).catch(() => ''));
    // These processes are servers of this program or another of its kind.
    if (program !== 'postgres') names.add(program || (/^Name:\t(.*)$/m.exec(status)?.[1] ?? pid));
  }
  return [...names].sort();
}

/**
 * Returns a warning for the operator; undefined when the user belongs to the database alone or no
 * other process runs as it.
 */
export async function warnOfNeighbours(user: ProgramUser | undefined, directory: string): Promise<string | undefined> {
  if (!user || (await nameOf(user)) !== 'nobody') return undefined;
  const neighbours = await findNeighbours(user);
  if (neighbours.length === 0) return undefined;
  return (
    `PostgreSQL runs as the user nobody, and so do ${neighbours.join(', ')}, which can read its files. ` +
    `Stop ${owner.title}, make a user for the database (useradd --system ${owner.name}), give it the files (chown -R ${owner.name}: ${directory}), and start again.`
  );
}

async function nameOf(user: ProgramUser): Promise<string | undefined> {
  const list = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return list
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , uid]) => Number(uid) >>> 0 === user.uid)?.[0];
}
