// Directories that exist completely or not at all: they are created under another name and then
// renamed. Remains of a killed process are deleted by the next one.
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The start of this process. Process ids are reused; in a container the very next process may have
 * the same one.
 */
const ownStart = Math.trunc(performance.timeOrigin);

/** Creates an empty private directory that will be renamed to `path`. */
export async function makeUnfinished(path: string): Promise<string> {
  return mkdtemp(`${path}.new-${process.pid}-${ownStart}-`);
}

/** Renames the directory. When another process was first, its directory stays. */
export async function moveInto(unfinished: string, path: string): Promise<void> {
  await rename(unfinished, path).catch(async (error) => {
    unless('EEXIST', 'ENOTEMPTY')(error);
    await rm(unfinished, { recursive: true });
  });
}

/** Deletes the unfinished directories of dead processes in `home`. */
export async function sweep(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const [, pid, startedAt] = /\.new-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined) continue;
    const isAtWork = Number(pid) === process.pid ? Number(startedAt) === ownStart : isAlive(Number(pid));
    // An initdb outlives its killed parent for a moment and still writes.
    if (!isAtWork) await rm(join(home, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    unless('ENOENT', 'ENOTDIR')(error);
    return undefined;
  });
}

/** A handler that ignores these system errors and throws all others. */
export function unless(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}
