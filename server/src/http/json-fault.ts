// Finds the place where a text stops being JSON, to tell its author: V8 names a position only for
// some texts. Use it only for a text that JSON.parse has refused and that is not nested deeper than
// a body may be.

export interface JsonFault {
  /** Both count from 1; a column counts UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  /** The unexpected character; null when the text ends too early. */
  readonly found: string | null;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** The characters allowed after a backslash. */
const escapes = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y;
/** The characters of a string up to the next quote, backslash or control character. */
const plain = /[ !#-[\]-\uffff]*/y;
const space = /[ \t\n\r]*/y;
const literals = ['true', 'false', 'null'];

/** Thrown to stop reading at the fault. */
class Fault {
  readonly at: number;
  constructor(at: number) {
    this.at = at;
  }
}

/** Returns undefined when the text is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  try {
    const end = skip(text, readValue(text, skip(text, 0)));
    if (end === text.length) return undefined;
    throw new Fault(end);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.at);
    const line = before.split('\n').length;
    const column = error.at - before.lastIndexOf('\n');
    const code = text.codePointAt(error.at);
    return { line, column, found: code === undefined ? null : String.fromCodePoint(code) };
  }
}

function readValue(text: string, at: number): number {
  const first = text[at];
  if (first === '{') return readMembers(text, at + 1, '}', (from) => readMember(text, from));
  if (first === '[') return readMembers(text, at + 1, ']', (from) => readValue(text, from));
  if (first === '"') return readString(text, at);
  const literal = literals.find((each) => each[0] === first);
  if (literal !== undefined) return readLiteral(text, at, literal);
  const end = match(number, text, at);
  if (end === at) throw new Fault(text[at] === '-' ? at + 1 : at);
  return end;
}

function readMembers(text: string, from: number, close: string, read: (from: number) => number): number {
  let at = skip(text, from);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skip(text, read(at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ',') throw new Fault(at);
    at = skip(text, at + 1);
  }
}

function readMember(text: string, from: number): number {
  if (text[from] !== '"') throw new Fault(from);
  const at = skip(text, readString(text, from));
  if (text[at] !== ':') throw new Fault(at);
  return readValue(text, skip(text, at + 1));
}

function readString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    at = match(plain, text, at);
    const character = text[at];
    if (character === '"') return at + 1;
    // Control characters must be escaped.
    if (character !== '\\') throw new Fault(at);
    const end = match(escapes, text, at + 1);
    if (end === at + 1) throw new Fault(at);
    at = end;
  }
}

function readLiteral(text: string, from: number, literal: string): number {
  for (let i = 0; i < literal.length; i++) if (text[from + i] !== literal[i]) throw new Fault(from + i);
  return from + literal.length;
}

function skip(text: string, from: number): number {
  // Most tokens have no space before them, and a pattern costs more than a comparison.
  return text.charCodeAt(from) > 0x20 ? from : match(space, text, from);
}

/** The end of a sticky pattern's match at `from`; `from` itself when it does not match. */
function match(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}
