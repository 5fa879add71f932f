// Refuses characters in names that move a cursor, break a line, reverse text or cannot be seen. A
// name with them could pass for another one in a list, a terminal or a log.

/**
 * Control characters, the controls of direction (Unicode UAX #9, section 2), and characters of no
 * width. Joiners (U+200C, U+200D) are allowed, because Persian and emoji need them.
 */
const unseen = '\\p{Cc}\\u061C\\u200B\\u200E\\u200F\\u2028\\u2029\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u2069\\uFEFF';
const anyUnseen = new RegExp(`[${unseen}]`, 'u');
const everyUnseen = new RegExp(`[${unseen}]`, 'gu');

/** Whether a text can be shown as the name of something. */
export function isOneLine(text: string): boolean {
  return text.isWellFormed() && !anyUnseen.test(text);
}

/** The text with another character in place of each that a name may not hold. */
export function inOneLine(text: string, replacement: string): string {
  return text.replaceAll(everyUnseen, replacement);
}
