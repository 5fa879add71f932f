// The private directory of the server's socket, in the system's temporary folder. Everybody may
// write to that folder, so a directory is used only if nobody else created it or can enter it. Any
// process that reaches the socket is the database's superuser.
import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Cluster } from './cluster.ts';
import { owner } from './owner.ts';
import { canReach, type ProgramUser } from './programs.ts';

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, including its closing zero. */
const socketPathBytesMax = 103;

const prefix = `${owner.name}-`;

/**
 * A link to the cluster inside the directory: the short path to a socket in a cluster with a long
 * path.
 */
export const linkName = 'cluster';

/** Returns whether a directory has a name as created here. */
export function isSocketDirectory(path: string): boolean {
  return basename(path).startsWith(prefix);
}

export function fitsSocket(directory: string): boolean {
  return Buffer.byteLength(`${directory}/.s.PGSQL.65535`) <= socketPathBytesMax;
}

/**
 * Claims a directory with a short name; undefined when no temporary folder is writable, as in a
 * read-only container.
 */
export async function claimSocketDirectory({ directory, user }: Cluster): Promise<string | undefined> {
  // The name includes the cluster's identity (the first field of pg_control). The server of a
  // deleted data directory may still run, and must not block the one that replaced it.
  const identity = (await readFile(join(directory, 'global/pg_control'))).subarray(0, 8);
  const name = `${prefix}${createHash('sha256').update(directory).update(identity).digest('hex').slice(0, 10)}`;
  for (const folder of new Set([resolve(tmpdir()), '/tmp'])) {
    // The longest possible path: with the suffix of mkdtemp, and the link to the cluster.
    if (!fitsSocket(join(folder, `${name}-123456`, linkName)) || !(await canReach(user, folder))) continue;
    const claimed = await claimDirectory(join(folder, name), user).catch(() => undefined);
    if (claimed !== undefined) return claimed;
  }
  return undefined;
}

/**
 * Creates the directory, or takes an existing private one, or creates one beside it when another
 * user has the name.
 */
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
