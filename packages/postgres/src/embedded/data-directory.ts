// The folder that DATA_DIR names: found, or created when it does not exist. Rejects with a sentence
// for an operator when this user cannot work in it, before anything is stored there.
import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';

/**
 * Nobody else needs to read a data directory. As root the database runs as another user, who has to
 * pass through it.
 */
const folderMode = process.getuid?.() === 0 ? 0o711 : 0o700;

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'cannot be used by this user',
  EPERM: 'cannot be used by this user',
  EROFS: 'is on a file system that cannot be written',
  ENOTDIR: 'is a file, or a part of its path is one',
  EEXIST: 'is a file, or a part of its path is one',
  ENOENT: 'cannot be made there',
  ENOSPC: 'is on a full disk',
};

/** The data directory, without symbolic links; undefined when there is none. */
export async function findDataDirectory(path: string): Promise<string | undefined> {
  try {
    const found = await realpath(path);
    // A path that ends in a slash fails for anything but a folder, and for a folder that this user
    // cannot enter.
    await access(`${found}/`, constants.X_OK);
    return found;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw describeDataDirectoryError(error, path);
  }
}

/**
 * Returns the same path, and creates the folder and its parents when they do not exist. This user
 * can write in it.
 */
export async function makeDataDirectory(path: string): Promise<string> {
  try {
    await makeFolder(resolve(path));
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (error) {
    throw describeDataDirectoryError(error, path);
  }
}

/**
 * The error that says what is wrong with the folder and what to do; any other error is unchanged.
 */
export function describeDataDirectoryError(error: unknown, path: string): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) return error;
  const user = process.getuid?.() === 0 ? 'root' : userName();
  return new Error(
    `DATA_DIR ${path} ${reason} (${code}): choose a folder that the user ${user} can write, with DATA_DIR=…`,
    { cause: error },
  );
}

/** The name of this user; the user's id when it has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/**
 * Creates a folder and its parents, one at a time. `mkdir` with `recursive` never returns when the
 * system answers ENOENT below an existing folder, as /proc does (Node 20.20).
 */
async function makeFolder(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path, { mode: folderMode }).catch(async (error: NodeJS.ErrnoException) => {
    // Another process may have created it first.
    if (error.code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  });
}
