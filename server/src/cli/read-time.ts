// A time in an option, as people write it for the API: ISO-8601 with an offset.
import { instantForm, parseInstant } from '../platform/instant.ts';
import { printable } from './answer.ts';
import { CommandError } from './command-error.ts';

/** `option` is named when the text is no such time. */
export function readTime(option: string, text: string): Date {
  const instant = parseInstant(text);
  if (instant) return new Date(instant.ms);
  throw new CommandError(`${option} is ${instantForm}, not '${printable(text)}'`);
}
