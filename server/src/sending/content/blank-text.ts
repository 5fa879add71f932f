// Text that shows nothing: white space and invisible characters (contract 7.3). Pure.

// Default_Ignorable_Code_Point is Unicode's own list of characters without a glyph (UAX #44). The
// braille pattern without dots is a character by itself, and looks like a blank.
const blank = /^[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether a device would show nothing of the text. */
export function isBlank(text: string): boolean {
  return blank.test(text);
}
