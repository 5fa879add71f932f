// Reads a whole number within bounds from the command line.
import { CommandError } from './command-error.ts';

/**
 * Returns an argument parser for an option. The parser throws a `CommandError` for any other text.
 */
export function wholeNumber(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new CommandError(`${option} is a whole number from ${least} to ${most}, not '${text}'`);
  };
}
