// What a command answers: one JSON document on standard output with `--json`, else text for a person. Everything else that a
// command has to say, progress and errors, goes to standard error, so that the output can be piped.
import type { Command } from 'commander';
import { CommandError } from './command-error.ts';

export interface Answer {
  /** What `--json` prints. */
  readonly document: object;
  /** What a person reads, without its last line break. */
  readonly text: string;
  /** The command did its work and the result is bad: one line for standard error, and exit status 1. */
  readonly problem?: string;
}

export interface AnswerOptions {
  readonly json?: boolean;
}

/** Gives a command its `--json`. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document');
}

/** Prints what `work` answers. Throws its problem, after the answer was printed. */
export async function answer(options: AnswerOptions, work: () => Promise<Answer>): Promise<void> {
  const { document, text, problem } = await work();
  process.stdout.write(options.json ? `${JSON.stringify(document, null, 2)}\n` : `${text}\n`);
  if (problem !== undefined) throw new CommandError(problem);
}

/** A line for a person who waits. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Columns under their headings, two spaces apart; the last one is not padded. */
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

/** Text from the database on a terminal: nothing in it may move the cursor, break a line or colour the rest. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\uFFFD');
}
