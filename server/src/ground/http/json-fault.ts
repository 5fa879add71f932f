// Finds the place where a text stops being JSON, to tell its author. V8 says where, but not for an
// unexpected token.

export interface JsonFault {
  /** Both count from 1; a column counts UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  /** The unexpected character; null when the text ends too early. */
  readonly found: string | null;
}

/** Returns undefined when the text is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const message = refusalOf(text);
  if (message === undefined) return undefined;
  const at = positionIn(message) ?? (isOfToken(message) ? findToken(text) : text.length);
  const before = text.slice(0, at);
  const code = text.codePointAt(at);
  return {
    line: before.split('\n').length,
    column: at - before.lastIndexOf('\n'),
    found: code === undefined ? null : String.fromCodePoint(code),
  };
}

function refusalOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function positionIn(message: string): number | undefined {
  const [, position] = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  return position === undefined ? undefined : Number(position);
}

/** The other message without a position is "Unexpected end of JSON input". */
function isOfToken(message: string): boolean {
  return message.endsWith('is not valid JSON');
}

// V8 refuses every part that begins the text and contains the token for the token. It refuses a
// shorter part for its end, if at all. So the token's position is found by halving.
function findToken(text: string): number {
  let [before, after] = [0, text.length];
  while (after - before > 1) {
    const middle = (before + after) >>> 1;
    if (isOfToken(refusalOf(text.slice(0, middle)) ?? '')) after = middle;
    else before = middle;
  }
  return before;
}
