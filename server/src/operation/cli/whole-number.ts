// Reads a whole number within bounds from the command line.
import { CommandError } from './command-error.ts';

/**
 * Returns a reader for an option or a word. The reader throws a `CommandError` for any other text.
 */
export function wholeNumber(name: string, least = 0, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new CommandError(`${name} is a whole number from ${least} to ${most}, not '${text}'`);
  };
}
