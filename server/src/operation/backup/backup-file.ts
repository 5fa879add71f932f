// The file of a backup: written under another name in the same folder, and linked to its own name
// when it is complete. A file that cannot be written is refused before the database is read.
import { createWriteStream } from 'node:fs';
import { link, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';

/** The reason why a backup cannot be written, as a sentence for an operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export interface BackupFile {
  /** Its path when it is complete. */
  readonly file: string;
  readonly target: Writable;
  /**
   * Gives the complete file its name, and returns its size in bytes. Throws `BackupError` when the
   * name was taken meanwhile.
   */
  publish(): Promise<number>;
  /** Removes the unfinished file, under its temporary name. */
  discard(): Promise<void>;
}

/**
 * Opens a new backup file. Throws `BackupError` when it cannot be written or when `file` exists.
 */
export async function openBackupFile(file: string): Promise<BackupFile> {
  if (await stat(file).catch(() => undefined)) throw new BackupError(`${file} exists already`);
  const unfinished = `${file}.unfinished-${process.pid}`;
  const handle = await open(unfinished, 'wx', 0o600).catch(asBackupError(file));
  return {
    file,
    target: createWriteStream(unfinished, { fd: handle, flush: true }),
    async publish() {
      await link(unfinished, file).catch(asBackupError(file));
      return (await stat(file)).size;
    },
    discard: () => rm(unfinished, { force: true }),
  };
}

/** Turns the system's error into a sentence with the path. */
export function asBackupError(file: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error instanceof BackupError) throw error;
    throw new BackupError(`${file} cannot be written: ${reasonOf(file, error)}`, { cause: error });
  };
}

function reasonOf(file: string, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return `the folder ${dirname(file)} does not exist`;
    case 'ENOTDIR':
      return `${dirname(file)} is no folder`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not write to ${dirname(file)}`;
    case 'EROFS':
      return `${dirname(file)} is read-only`;
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'EEXIST':
      return 'it exists already';
    default:
      return message;
  }
}
