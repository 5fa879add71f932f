// Reads the file that an option names, such as a private key. Never shows its content.
import { readFileSync } from 'node:fs';
import { CommandError } from './command-error.ts';

/** Throws a `CommandError` that names `option` and the file. */
export function readText(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${option} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
