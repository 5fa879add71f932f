// Prints the answer of a command: one JSON document on standard output with `--json`, else text for
// a person. Progress and errors go to standard error, so that the output can be piped.
import type { Command } from 'commander';
import { inOneLine } from '../ground/one-line.ts';
import { CommandError } from './command-error.ts';

export interface Answer {
  /** The document that `--json` prints. */
  readonly document: object;
  /** The text for a person, without its last line break. */
  readonly text: string;
  /**
   * Set when the command did its work but the result is bad: one line for standard error. The exit
   * status is then 1.
   */
  readonly problem?: string;
}

export interface AnswerOptions {
  readonly json?: boolean;
}

/** Adds the option `--json` to a command. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document');
}

/**
 * Prints the answer of `work`. If the answer has a problem, throws it as a `CommandError` after the
 * printing.
 */
export async function answer(options: AnswerOptions, work: () => Promise<Answer>): Promise<void> {
  const { document, text, problem } = await work();
  process.stdout.write(options.json ? `${JSON.stringify(document, null, 2)}\n` : `${text}\n`);
  if (problem !== undefined) throw new CommandError(problem);
}

/** Writes a line to standard error, for a person who waits. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Formats rows as columns under their headings, two spaces apart. The last column is not padded.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(printable));
  const widths = headings.map((_heading, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Makes text from the database safe for a terminal. Characters that no name may contain become
 * U+FFFD, so that the text cannot move the cursor, break or reverse a line, or colour the rest
 * (R-81).
 */
export function printable(text: string): string {
  return inOneLine(text, '\uFFFD');
}
