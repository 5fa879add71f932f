// The folder that DATA_DIR names: found, or made where it is not there. Rejects in words for an operator where this user
// cannot work in it, before anything lies there.
import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'cannot be used by this user',
  EPERM: 'cannot be used by this user',
  EROFS: 'is on a file system that cannot be written',
  ENOTDIR: 'is a file, or a part of its path is one',
  EEXIST: 'is a file, or a part of its path is one',
  ENOENT: 'cannot be made there',
  ENOSPC: 'is on a full disk',
};

/** The data directory without symbolic links, or undefined where there is none. */
export async function findDataDirectory(path: string): Promise<string | undefined> {
  try {
    const found = await realpath(path);
    // A path that ends in a slash fails where there is no folder. So does one that this user cannot enter.
    await access(`${found}/`, constants.X_OK);
    return found;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw describeDataDirectoryError(error, path);
  }
}

/** The same, made with its parents where it is not there. This user can write in it. */
export async function makeDataDirectory(path: string): Promise<string> {
  try {
    await makeFolder(resolve(path));
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (error) {
    throw describeDataDirectoryError(error, path);
  }
}

/** Says what is wrong with the folder and what to do. Returns any other error as it is. */
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

/** A user id without a name stands for itself. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/**
 * Makes a folder and its parents, one at a time: `mkdir` with `recursive` never returns where the system answers ENOENT
 * below a folder that exists, as /proc does (Node 20.20).
 */
async function makeFolder(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
    // Another process may have been first.
    if (error.code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  });
}
