// A whole number on the command line, within bounds.
import { CommandError } from './command-error.ts';

/** For an option's argument parser. */
export function wholeNumber(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new CommandError(`${option} is a whole number from ${least} to ${most}, not '${text}'`);
  };
}
