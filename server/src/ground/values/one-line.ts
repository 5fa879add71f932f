// Refuses characters in names that move a cursor, break a line, reverse text or cannot be seen. A
// name with them could pass for another one in a list, a terminal or a log.

/**
 * Control characters, separators of lines, the controls of direction (Unicode UAX #9, section 2),
 * marks of annotations, the empty Braille cell, and everything that Unicode lets a renderer ignore.
 */
const unseen = '[\\p{Cc}\\p{Zl}\\p{Zp}\\u2800\\uFFF9-\\uFFFB\\p{Default_Ignorable_Code_Point}]';

/**
 * Unseen characters that a text needs: those within an emoji, the joiners of scripts that join their
 * letters (Persian, Hindi), and the variants of Han. After a letter of Latin they would hide.
 */
const joining = '[\\p{L}--[\\p{sc=Latin}\\p{sc=Greek}\\p{sc=Cyrillic}]]\\p{M}{0,3}';
const needed = `\\p{RGI_Emoji}|(?<=${joining})[\\u200C\\u200D](?=\\p{L})|(?<=\\p{sc=Han})[\\u{E0100}-\\u{E01EF}]`;
// TypeScript knows the flag `v` in texts alone.
const neededOrUnseen = new RegExp(`(${needed})|${unseen}`, 'gv');
const anyUnseen = new RegExp(unseen, 'v');

/** Whether a text can be shown as the name of something. */
export function isOneLine(text: string): boolean {
  // Most names have no such character at all, and this test is short.
  return text.isWellFormed() && (!anyUnseen.test(text) || inOneLine(text, '') === text);
}

/** The text with another character in place of each that a name may not hold. */
export function inOneLine(text: string, replacement: string): string {
  return text.replaceAll(neededOrUnseen, (found, isNeeded?: string) => (isNeeded === undefined ? replacement : found));
}
