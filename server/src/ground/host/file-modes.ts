// Finds files with secrets that other users of this machine can read or write.
import { stat } from 'node:fs/promises';
import { ifThere } from './if-there.ts';

export interface OpenFile {
  readonly path: string;
  /** The file's permissions, such as `0644`. */
  readonly mode: string;
}

/**
 * Selects the existing files of `paths` that give rights to a group or to everybody. Windows has no
 * such bits, so the result is empty there.
 */
export async function listOpenFiles(paths: readonly string[]): Promise<OpenFile[]> {
  if (process.platform === 'win32') return [];
  const found = await Promise.all(
    paths.map(async (path): Promise<OpenFile[]> => {
      const mode = ((await ifThere(stat(path)))?.mode ?? 0) & 0o777;
      return (mode & 0o077) === 0 ? [] : [{ path, mode: mode.toString(8).padStart(4, '0') }];
    }),
  );
  return found.flat();
}
