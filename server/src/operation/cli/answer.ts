// Prints the answer of a command: one JSON document on standard output with `--json`, else text for
// a person. Progress and errors go to standard error, so that the output can be piped.
import { type Look, render } from './render.ts';

/** Ends a command with one clear line for the operator and exit status 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export interface Answer extends Look {
  /** The document that `--json` prints. */
  readonly document: object;
  /** The text for a person, without its last line break. Absent: the document is rendered. */
  readonly text?: string;
  /**
   * Set where the command did its work but the result is bad: one line for standard error. The exit
   * status is then 1.
   */
  readonly problem?: string | undefined;
}

export interface AnswerOptions {
  readonly json?: boolean;
}

/**
 * Prints the answer. If the answer has a problem, throws it as a `CommandError` after the
 * printing.
 */
export async function answer({ json }: AnswerOptions, { document, text, problem, ...look }: Answer): Promise<void> {
  process.stdout.write(json ? `${JSON.stringify(document, null, 2)}\n` : `${text ?? render(document, look)}\n`);
  if (problem !== undefined) throw new CommandError(problem);
}

/** Writes a line to standard error, for a person who waits. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}
