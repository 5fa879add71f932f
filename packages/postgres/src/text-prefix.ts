// A condition on the beginning of a text, letter case ignored, that an index on `lower(column)` can
// answer. The database's `lower` under COLLATE "C" changes only ASCII letters. Other letters are
// searched for in the usual spellings: as typed, lower case, upper case, and with a first capital.
import type { Fragment, Tx } from './db.ts';

const last = '\u{10FFFF}';

/** `lowered`: an expression such as `lower(m.name)`. */
export function beginsWith(tx: Tx, lowered: Fragment, text: string): Fragment {
  const ranges = spellingsOf(text).map(
    (spelling, i) =>
      tx`${i === 0 ? tx`` : tx`OR`} (${lowered} >= ${spelling}::text AND ${lowered} < ${spelling + last}::text)`,
  );
  return tx`(${ranges})`;
}

function spellingsOf(text: string): string[] {
  const [first = '', ...rest] = text;
  const small = text.toLowerCase();
  const capital = first.toUpperCase() + rest.join('').toLowerCase();
  return [...new Set([text, small, text.toUpperCase(), capital].map(asciiLower))];
}

function asciiLower(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
