// The private directory of the server's socket, in the system's temporary folder. Everybody writes there, so it is used
// only if nobody else made it or can enter it: whoever reaches the socket is the database's superuser.
import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Cluster } from './cluster.ts';
import { canReach, type ProgramUser } from './programs.ts';

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, its closing zero among them. */
const SOCKET_PATH_BYTES_MAX = 103;

const PREFIX = 'carillon-';

/** A link to the cluster inside the directory: the short way to the socket that lies in a cluster of long path. */
export const LINK = 'cluster';

/** Whether a directory has such a name as is made here. */
export function isSocketDirectory(path: string): boolean {
  return basename(path).startsWith(PREFIX);
}

export function fitsSocket(directory: string): boolean {
  return Buffer.byteLength(`${directory}/.s.PGSQL.65535`) <= SOCKET_PATH_BYTES_MAX;
}

/** Claims a directory of short name, or returns undefined where no temporary folder can be written: a read-only container. */
export async function claimSocketDirectory({ directory, user }: Cluster): Promise<string | undefined> {
  // The cluster's identity (the first field of pg_control) belongs to the name: a server may be left of a data directory
  // that was removed, and stand in the way of the one that was made in its place.
  const identity = (await readFile(join(directory, 'global/pg_control'))).subarray(0, 8);
  const name = `${PREFIX}${createHash('sha256').update(directory).update(identity).digest('hex').slice(0, 10)}`;
  for (const folder of new Set([resolve(tmpdir()), '/tmp'])) {
    // As long as it can get: with the suffix of mkdtemp, and a link to the cluster inside.
    if (!fitsSocket(join(folder, `${name}-123456`, LINK)) || !(await canReach(user, folder))) continue;
    const claimed = await claimDirectory(join(folder, name), user).catch(() => undefined);
    if (claimed !== undefined) return claimed;
  }
  return undefined;
}

/** Makes the directory, or takes it if it is private already, or makes one beside it if a stranger has that name. */
export async function claimDirectory(path: string, user: ProgramUser | undefined): Promise<string> {
  let claimed = path;
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const isLink = (await lstat(path)).isSymbolicLink();
    if (!isLink && (await isPrivate(path, user))) return path;
    claimed = await mkdtemp(`${path}-`);
  }
  if (user) await chown(claimed, user.uid, user.gid);
  return claimed;
}

export async function isPrivate(path: string, user: ProgramUser | undefined): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return (
    found?.uid === (user?.uid ?? process.getuid?.()) && found?.isDirectory() === true && (found.mode & 0o077) === 0
  );
}
