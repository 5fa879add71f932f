// Directories that are either whole or not there: they are made under another name and renamed. What a killed process left
// unfinished, the next one sweeps away.
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** When this process began: ids are used again, in a container by the very next process. */
const STARTED_AT = Math.trunc(performance.timeOrigin);

/** An empty directory, entered by nobody else, that will be renamed to `path`. */
export async function makeUnfinished(path: string): Promise<string> {
  return mkdtemp(`${path}.new-${process.pid}-${STARTED_AT}-`);
}

/** Gives it its name; where another process was first, that one's stays. */
export async function moveInto(unfinished: string, path: string): Promise<void> {
  await rename(unfinished, path).catch(async (error) => {
    unless('EEXIST', 'ENOTEMPTY')(error);
    await rm(unfinished, { recursive: true });
  });
}

/** Removes what killed processes left in `home`. */
export async function sweep(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const [, pid, startedAt] = /\.new-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined) continue;
    const isAtWork = Number(pid) === process.pid ? Number(startedAt) === STARTED_AT : isAlive(Number(pid));
    // An initdb outlives its killed parent for a moment, and is still writing.
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

/** A handler that swallows these system errors and passes on all others. */
export function unless(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}
