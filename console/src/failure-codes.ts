// The codes that a delivery can end with, in the service's own words, and the page of the console
// on which the next step is done.
import { codeMeanings } from './failure-codes.gen.ts';
import { paths } from './paths.ts';

interface CodeMeaning {
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
}

const codes: Readonly<Record<string, CodeMeaning>> = codeMeanings;
const pages: Readonly<Record<string, 'channels'>> = {
  invalid_token: 'channels',
  credential_mismatch: 'channels',
  auth_failed: 'channels',
  not_configured: 'channels',
};

/** Every code with its short name, failures before skips. */
export const codeTitles: readonly (readonly [code: string, title: string])[] = Object.entries(codes).map(
  ([code, { title }]) => [code, title],
);

/** A code in a few words. A code that this console does not know yet stands for itself. */
export const codeTitle = (code: string): string => codes[code]?.title ?? code;

/**
 * The meaning of a code and the next step; undefined for a code that this console does not know
 * yet.
 */
export const meaningOfCode = (code: string): CodeMeaning | undefined => codes[code];

/** The page of the next step, if the console has it. */
export function pageOfCode(code: string, app: string): string | undefined {
  const page = pages[code];
  return page && paths[page](app);
}

/** The service's meaning completes "The push failed: …". This makes it a separate sentence. */
export function asSentence(meaning: string): string {
  return `${meaning.slice(0, 1).toUpperCase()}${meaning.slice(1)}.`;
}
