// Splits one line of a CSV into fields (RFC 4180). Spaces are part of the text, and nothing is
// guessed: text after a closing quote makes the line unreadable. Pure.

/** Returns undefined when the quotes do not match. */
export function readFields(text: string, delimiter: string): string[] | undefined {
  if (!text.includes('"')) return text.split(delimiter);
  const fields: string[] = [];
  for (let at = 0; ; ) {
    if (text[at] !== '"') {
      const end = text.indexOf(delimiter, at);
      fields.push(end === -1 ? text.slice(at) : text.slice(at, end));
      if (end === -1) return fields;
      at = end + 1;
      continue;
    }
    let end = text.indexOf('"', at + 1);
    while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
    if (end === -1) return undefined;
    fields.push(text.slice(at + 1, end).replaceAll('""', '"'));
    if (end + 1 === text.length) return fields;
    if (text[end + 1] !== delimiter) return undefined;
    at = end + 2;
  }
}
