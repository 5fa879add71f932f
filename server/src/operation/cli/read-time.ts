// Reads a time from an option, in the form that the API takes: ISO 8601 with an offset.
import { instantForm, parseInstant } from '../../ground/values/instant.ts';
import { CommandError } from './command-error.ts';
import { printable } from './render.ts';

/** Throws a `CommandError` that names `option` where the text is no such time. */
export function readTime(option: string, text: string): Date {
  const instant = parseInstant(text);
  if (instant) return new Date(instant.ms);
  throw new CommandError(`${option} is ${instantForm}, not '${printable(text)}'`);
}
