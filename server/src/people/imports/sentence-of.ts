// Explains in sentences why rows are refused. Pure.

import { ApiError } from '../../ground/http/api-error.ts';
import { Refused } from './given-row.ts';

/**
 * Returns the sentence of a refusal. Any other error is a fault; it is thrown again and ends the
 * import.
 */
export function sentenceOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (!(error instanceof ApiError)) throw error;
  const issues = error.details.issues ?? [];
  const said = issues
    .slice(0, 5)
    // The API's message says "the body"; here the body is a line, or an object of a list.
    .map(({ path, message }) => (path.length === 0 ? ofARecord(message) : `${path.join('.')}: ${message}`));
  return said.length === 0 ? error.message : said.join(' ');
}

/** Rewrites the message for a record of a file. The line number is stored beside the reason. */
function ofARecord(message: string): string {
  return message.replace(/^The body\b/, 'It').replace(' at line 1, column ', ' at column ');
}

/**
 * Returns the sentence of data that the database refuses: values with a form that the type does not
 * allow, values that a constraint forbids, and values that are too large. Undefined for any other
 * error.
 */
export function sentenceOfData(error: unknown): string | undefined {
  const code = String((error as { code?: unknown } | null)?.code);
  return /^(22|23|54)...$/.test(code) ? `The database cannot store it (${code}).` : undefined;
}
