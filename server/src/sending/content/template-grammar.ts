// The closed grammar of templates (contract 7.3). Every template is read here first, and liquidjs
// sees only what passed. Its own reader skips much that is malformed (`{{ a b }}`, a stray comma),
// and its known flaws lie in tags, filters and lookups that this grammar does not have. Every form
// accepted here means the same to liquidjs.

export const attributes = ['first_name', 'external_id', 'country', 'language', 'timezone'] as const;
export type Attribute = (typeof attributes)[number];

/** The number of arguments of each filter: least and most. */
export const filterArguments = {
  default: [1, 1],
  upcase: [0, 0],
  downcase: [0, 0],
  capitalize: [0, 0],
  strip: [0, 0],
  truncate: [0, 2],
  append: [1, 1],
  prepend: [1, 1],
  replace: [2, 2],
  remove: [1, 1],
  round: [0, 1],
  floor: [0, 0],
  ceil: [0, 0],
  plus: [1, 1],
  minus: [1, 1],
  times: [1, 1],
  divided_by: [1, 1],
  date: [1, 1],
} as const;
export type FilterName = keyof typeof filterArguments;
const filterNames: ReadonlySet<string> = new Set(Object.keys(filterArguments));

/** The tags that open a block. Every other tag is removed from liquidjs. */
export const blockTags = ['if', 'unless', 'case'] as const;

const tagNames = [...blockTags, 'elsif', 'else', 'when', 'endif', 'endunless', 'endcase'];
const tagsMax = 50;
const keyLengthMax = 64;
const literals = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank']);
const operators = new Set(['and', 'or', 'not', 'contains']);

/** The parts of a template. */
export interface TemplateParts {
  /** The profile attributes that the template reads, and the property keys. */
  readonly attributes: ReadonlySet<Attribute>;
  readonly propertyKeys: ReadonlySet<string>;
  /** The literal text before, between and after the tags, in order. */
  readonly texts: readonly string[];
  /** The numbers inside `{{ }}` and those that filters read in tags, in order, and where each begins. */
  readonly numbers: readonly { readonly at: number; readonly text: string }[];
}

/** The reason why a template is refused, in words for its author. */
export class TemplateSyntaxError extends Error {
  override readonly name = 'TemplateSyntaxError';
  readonly allowed: readonly string[] | undefined;
  constructor(message: string, allowed?: readonly string[]) {
    super(message);
    this.allowed = allowed;
  }
}

interface Block {
  readonly tag: (typeof blockTags)[number];
  hasElse: boolean;
}

interface Reader {
  readonly source: string;
  at: number;
  readonly attributes: Set<Attribute>;
  readonly propertyKeys: Set<string>;
  readonly texts: string[];
  readonly numbers: { readonly at: number; readonly text: string }[];
  readonly blocks: Block[];
  /** True inside `{% %}`. liquidjs ignores quotes when it looks for the end of such a tag. */
  inTag: boolean;
}

// Each pattern can match in one way only, so that none backtracks.
const opening = /\{\{-?|\{%-?/g;
const word = /[A-Za-z_](?:[A-Za-z0-9_]|-(?![%}]\}))*/y;
const number = /[+-]?[0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9_.])/y;
const quoted = /'(?:[^'\\]|\\['"\\nt])*'|"(?:[^"\\]|\\['"\\nt])*"/y;
const comparison = /==|!=|>=|<=|>|<|contains(?![A-Za-z0-9_-])/y;
const conjunction = /(?:and|or)(?![A-Za-z0-9_-])/y;
const negation = /not(?![A-Za-z0-9_-])/y;
const alternative = /,|or(?![A-Za-z0-9_-])/y;
const outputEnd = /-?\}\}/y;
const tagEnd = /-?%\}/y;

/** Whether the text contains a tag. */
export function hasTags(source: string): boolean {
  return source.includes('{{') || source.includes('{%');
}

/**
 * Reads a template, in time linear in its length. Throws `TemplateSyntaxError`, and nothing else.
 */
export function readTemplate(source: string): TemplateParts {
  const reader: Reader = {
    source,
    at: 0,
    attributes: new Set(),
    propertyKeys: new Set(),
    texts: [],
    numbers: [],
    blocks: [],
    inTag: false,
  };
  for (let tags = 1; ; tags++) {
    opening.lastIndex = reader.at;
    const found = opening.exec(source);
    reader.texts.push(source.slice(reader.at, found?.index));
    if (!found) break;
    if (tags > tagsMax) throw new TemplateSyntaxError(`There are more than ${tagsMax} tags.`);
    reader.at = opening.lastIndex;
    reader.inTag = found[0].startsWith('{%');
    if (reader.inTag) readTag(reader);
    else readFilteredValue(reader);
    if (take(reader, reader.inTag ? tagEnd : outputEnd) === null) {
      if (reader.at >= source.length)
        throw new TemplateSyntaxError(`A tag is not closed: ${excerpt(source, found.index)}`);
      throw unexpected(reader);
    }
  }
  const open = reader.blocks.at(-1);
  if (open) throw new TemplateSyntaxError(`{% ${open.tag} %} is not closed: {% end${open.tag} %} is missing.`);
  return reader;
}

function readTag(reader: Reader): void {
  const name = take(reader, word);
  const block = reader.blocks.at(-1);
  switch (name) {
    case 'if':
    case 'unless':
      readCondition(reader);
      reader.blocks.push({ tag: name, hasElse: false });
      return;
    case 'case':
      readFilteredValue(reader);
      reader.blocks.push({ tag: name, hasElse: false });
      return;
    case 'elsif':
      if (!block || block.tag === 'case' || block.hasElse) throw misplaced(name);
      readCondition(reader);
      return;
    case 'when':
      if (block?.tag !== 'case' || block.hasElse) throw misplaced(name);
      do readOperand(reader);
      while (take(reader, alternative) !== null);
      return;
    case 'else':
      if (!block || block.hasElse) throw misplaced(name);
      block.hasElse = true;
      return;
    case 'endif':
    case 'endunless':
    case 'endcase':
      if (name !== `end${block?.tag}`) throw misplaced(name);
      reader.blocks.pop();
      return;
    case null:
      throw unexpected(reader);
    default:
      throw new TemplateSyntaxError(`There is no tag '${clip(name)}'.`, tagNames);
  }
}

// A comparison takes no filter: liquidjs would apply the filter to the result of the whole
// condition, which no author means.
function readCondition(reader: Reader): void {
  let isBare = readTest(reader);
  while (take(reader, conjunction) !== null) {
    readTest(reader);
    isBare = false;
  }
  if (isBare) readFilters(reader);
}

/** Reads one side of `and` or `or`. True when it is a value and nothing more. */
function readTest(reader: Reader): boolean {
  let isBare = true;
  while (take(reader, negation) !== null) isBare = false;
  readOperand(reader);
  if (take(reader, comparison) === null) return isBare;
  readOperand(reader);
  return false;
}

function readFilteredValue(reader: Reader): void {
  readOperand(reader);
  readFilters(reader);
}

function readFilters(reader: Reader): void {
  while (takeText(reader, '|')) {
    const name = take(reader, word);
    if (name === null) throw unexpected(reader);
    if (!isFilterName(name)) {
      throw new TemplateSyntaxError(`There is no filter '${clip(name)}'.`, Object.keys(filterArguments));
    }
    let given = 0;
    if (takeText(reader, ':')) {
      do {
        readOperand(reader, true);
        given++;
      } while (takeText(reader, ','));
    }
    const [least, most] = filterArguments[name];
    if (given < least || given > most) {
      const wanted = least === most ? String(least) : `${least} to ${most}`;
      throw new TemplateSyntaxError(`Filter '${name}' takes ${wanted} arguments, not ${given}.`);
    }
    // A date is written in the recipient's time zone.
    if (name === 'date') reader.attributes.add('timezone');
  }
}

function readOperand(reader: Reader, isArgument = false): void {
  skipBlanks(reader);
  const first = reader.source[reader.at];
  const text = first === "'" || first === '"' ? take(reader, quoted) : null;
  if (text !== null) {
    if (reader.inTag && text.includes('%}')) throw new TemplateSyntaxError("A text inside {% %} cannot hold '%}'.");
    return;
  }
  const digits = take(reader, number);
  if (digits !== null) {
    // The number stays a number in a comparison. As a text it would equal no property.
    if (!reader.inTag || isArgument || filterAhead(reader))
      reader.numbers.push({ at: reader.at - digits.length, text: digits });
    return;
  }
  const name = take(reader, word);
  if (name === null || operators.has(name)) throw unexpected(reader);
  const next = reader.source[reader.at];
  if (literals.has(name) && next !== '.' && next !== '[') return;
  if (name === 'properties' && next === '.') {
    reader.at++;
    word.lastIndex = reader.at;
    const key = word.exec(reader.source)?.[0];
    if (key === undefined) throw unexpected(reader);
    reader.at = word.lastIndex;
    if (key.length > keyLengthMax) throw unknownVariable(`properties.${key}`);
    if (reader.source[reader.at] === '.' || reader.source[reader.at] === '[')
      throw unknownVariable(`properties.${key}…`);
    reader.propertyKeys.add(key);
    return;
  }
  if (!isAttribute(name) || next === '.' || next === '[') throw unknownVariable(name);
  reader.attributes.add(name);
}

/** Skips blanks. Then takes the text that the pattern matches, or nothing. */
function take(reader: Reader, pattern: RegExp): string | null {
  skipBlanks(reader);
  pattern.lastIndex = reader.at;
  if (!pattern.test(reader.source)) return null;
  const from = reader.at;
  reader.at = pattern.lastIndex;
  return reader.source.slice(from, reader.at);
}

function filterAhead({ source, at }: Reader): boolean {
  return source[endOfBlanks(source, at)] === '|';
}

function takeText(reader: Reader, text: '|' | ':' | ','): boolean {
  skipBlanks(reader);
  if (reader.source[reader.at] !== text) return false;
  reader.at++;
  return true;
}

function skipBlanks(reader: Reader): void {
  reader.at = endOfBlanks(reader.source, reader.at);
}

// Without a pattern, because this runs before each word, and templates of strangers may have many
// words.
function endOfBlanks(source: string, from: number): number {
  for (let at = from; ; at++) {
    const code = source.charCodeAt(at);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d && code !== 0x0a && code !== 0xa0) return at;
  }
}

function isAttribute(name: string): name is Attribute {
  return (attributes as readonly string[]).includes(name);
}

function isFilterName(name: string): name is FilterName {
  return filterNames.has(name);
}

function unknownVariable(name: string): TemplateSyntaxError {
  return new TemplateSyntaxError(`There is no variable '${clip(name)}'.`, [...attributes, 'properties.<key>']);
}

function misplaced(tag: string): TemplateSyntaxError {
  return new TemplateSyntaxError(`{% ${tag} %} stands where it does not belong.`);
}

function unexpected(reader: Reader): TemplateSyntaxError {
  const { source, at } = reader;
  const first = source[at];
  if (first === undefined) return new TemplateSyntaxError('The last tag is not closed.');
  if (first === "'" || first === '"') {
    return new TemplateSyntaxError(
      `A quoted text is not closed, or has a backslash before something other than a quote, a backslash, n or t: ${excerpt(source, at)}`,
    );
  }
  if (/[\u2018\u2019\u201c\u201d\u00ab\u00bb]/.test(first)) {
    return new TemplateSyntaxError(`Write quotes as ' or ": ${excerpt(source, at)}`);
  }
  return new TemplateSyntaxError(`Not understood: ${excerpt(source, at)}`);
}

function excerpt(source: string, at: number): string {
  return `${clip(source.slice(at, at + 64))} (character ${at + 1})`;
}

// Cuts between code points, so that no answer holds half a character.
function clip(text: string): string {
  const start = [...text.slice(0, 64)].slice(0, 30).join('');
  return start.length < text.length ? `${start.toWellFormed()}…` : start.toWellFormed();
}
