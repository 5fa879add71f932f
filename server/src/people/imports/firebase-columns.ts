// The CSV of `firebase auth:export`, read by its columns. firebase-tools escapes nothing
// (src/accountExporter.ts): a display name with a comma stands in quotes, its own quotes are not
// doubled, and line breaks are written as they are. So text is a record if every column has its
// form. A record extends to the next line that begins a record. Pure.
import {
  type FileRecord,
  type Position,
  type RecordSplitter,
  recordOf,
  splitKeepingEnds,
  withoutLineEnd,
} from './records.ts';

export interface FirebaseCells {
  readonly localId: string;
  /** Null when the name can be read in several ways. */
  readonly displayName: string | null;
  readonly createdAt: string;
  /** JSON; empty when the account has no claims. */
  readonly customAttributes: string;
}

/** The numbers of columns that versions of firebase-tools write, the latest first. */
export const columnCounts = [28, 27, 26] as const;
export type ColumnCount = (typeof columnCounts)[number];

/** The vendor allows 256 characters, of at most 4 bytes in UTF-8 each. */
const nameBytesMax = 1_024;
const idBytesMax = 512;
const urlBytesMax = 2_048;
/** Bytes in which the end of a record is searched: five names, five addresses, and the claims. */
const searchBytesMax = 32 * 1024;

/**
 * The commas at which a cell from `at` may end, the likeliest first. `isOpening` marks a name with
 * an opening quote and no closing one.
 */
type Form = (text: string, at: number) => readonly number[];

const base64 = pattern(/[A-Za-z0-9+/=]*,/y);
const flag = pattern(/(?:true|false),/y);
const maybeFlag = pattern(/(?:true|false)?,/y);
const email = pattern(/(?:[^,\s"@]+@[^,\s"]+)?,/y);
const plain = pattern(/[^,\r\n]*,/y);
const createdAt = pattern(/\d{12,13},/y);
const lastLoginAt = pattern(/\d{0,16},/y);
const phone = pattern(/(?:\+?\d{1,20})?,/y);
const claims = pattern(/(?:"\{[^\r\n]*\}")?,$/y);
const provider = [plain, plain, nameEnds, urlEnds];
const forms: readonly Form[] = [
  ...[idEnds, email, flag, base64, base64, nameEnds, urlEnds],
  ...[...provider, ...provider, ...provider, ...provider],
  ...[createdAt, lastLoginAt, phone, maybeFlag, claims],
];
const [idColumn, nameColumn, createdAtColumn, claimsColumn] = [0, 5, 23, 27];

const begins = /^[^\r\n]{1,512}?,(?:[^,\s"@]+@[^,\s"]+)?,(?:true|false),[A-Za-z0-9+/=]*,[A-Za-z0-9+/=]*,/;
/** Bytes in which the first five columns stand. */
const beginBytesMax = 2_048;
const ends = /,\r?\n?$/;

function pattern(form: RegExp): Form {
  return (text, at) => {
    form.lastIndex = at;
    return form.test(text) ? [form.lastIndex - 1] : [];
  };
}

function idEnds(text: string, at: number): number[] {
  return commas(text, at, idBytesMax, /[\r\n]/).filter((end) => end > at);
}

/** A name with a comma stands in quotes; any other is written as it is. */
function nameEnds(text: string, at: number): number[] {
  const found: number[] = [];
  if (text[at] === '"') {
    const comma = text.indexOf(',', at);
    for (
      let end = text.indexOf('",', at + 1);
      end !== -1 && end - at <= nameBytesMax;
      end = text.indexOf('",', end + 1)
    ) {
      if (comma < end) found.push(end + 1);
    }
  }
  const end = text.indexOf(',', at);
  return end === -1 || end - at > nameBytesMax ? found : [...found, end];
}

/** An address of a picture is never quoted, and may have commas. */
function urlEnds(text: string, at: number): number[] {
  return text.startsWith('http', at) ? commas(text, at, urlBytesMax, /[\s"]/) : (plain(text, at) as number[]);
}

function commas(text: string, from: number, most: number, outside: RegExp): number[] {
  const within = text.slice(from, from + most);
  const length = within.search(outside);
  const found: number[] = [];
  for (let i = within.indexOf(','); i !== -1 && (length === -1 || i < length); i = within.indexOf(',', i + 1)) {
    found.push(from + i);
  }
  return found;
}

interface Reading {
  readonly cells: FirebaseCells;
  /**
   * True when every way to read the text has a name with an unclosed quote, so that the name may
   * continue in later lines.
   */
  readonly isOpen: boolean;
}

/**
 * Reads a record with this number of columns; undefined when the text has another form. `text` has
 * a character for each byte.
 */
export function readAccountCells(text: string, count: ColumnCount): Reading | undefined {
  const waysFrom = new Map<number, number>();
  const closedFrom = new Map<number, boolean>();
  // The number of ways to read the text from a column on, up to two.
  const ways = (column: number, at: number): number => {
    if (column === count) return at === text.length ? 1 : 0;
    const key = at * forms.length + column;
    const known = waysFrom.get(key);
    if (known !== undefined) return known;
    let found = 0;
    for (const end of forms[column]?.(text, at) ?? []) if (found < 2) found += ways(column + 1, end + 1);
    waysFrom.set(key, found);
    return found;
  };
  // Whether a way from a column on closes each name that it opens.
  const canClose = (column: number, at: number): boolean => {
    if (column === count) return at === text.length;
    const key = at * forms.length + column;
    const known = closedFrom.get(key);
    if (known !== undefined) return known;
    const isName = forms[column] === nameEnds && text[at] === '"';
    const found = (forms[column]?.(text, at) ?? []).some(
      (end) => !(isName && text.indexOf(',', at) === end) && canClose(column + 1, end + 1),
    );
    closedFrom.set(key, found);
    return found;
  };
  const cells: string[] = [];
  let isNameSure = true;
  for (let column = 0, at = 0; column < count; column++) {
    const [end, ...others] = (forms[column]?.(text, at) ?? []).filter((each) => ways(column + 1, each + 1) > 0);
    if (end === undefined || (column === idColumn && others.length > 0)) return undefined;
    if (column === nameColumn) isNameSure = others.length === 0;
    const cell = text.slice(at, end);
    cells.push(cell);
    at = end + 1;
  }
  const name = cells[nameColumn] ?? '';
  return {
    cells: {
      localId: fromBytes(cells[idColumn]),
      displayName: isNameSure ? fromBytes(name.includes(',') ? name.slice(1, -1) : name) : null,
      createdAt: fromBytes(cells[createdAtColumn]),
      customAttributes: fromBytes(cells[claimsColumn]).slice(1, -1).replaceAll('""', '"'),
    },
    isOpen: !canClose(0, 0),
  };
}

function fromBytes(text = ''): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

/**
 * Splits into records. A record ends at the earliest possible line. The exception is a name that
 * begins with a quote which a later line closes: then the writer has quoted the name.
 */
export function splitAccounts(count: ColumnCount, from: Position): RecordSplitter {
  const lines = splitKeepingEnds(from);
  let held: FileRecord[] = [];
  const take = (isEnd: boolean): FileRecord[] => {
    const records: FileRecord[] = [];
    let begin = 0;
    while (begin < held.length) {
      const size = sizeOfFirst(held, begin, count, isEnd);
      if (size === 0) break;
      const record = recordOf(held.slice(begin, begin + size));
      if (record) records.push(record);
      begin += size;
    }
    held = held.slice(begin);
    return records;
  };
  return {
    push(bytes) {
      held.push(...lines.push(bytes));
      return take(false);
    },
    end() {
      held.push(...lines.end());
      return take(true);
    },
  };
}

// The number of lines of the first record; 0 when more lines are needed to decide.
function sizeOfFirst(lines: readonly FileRecord[], begin: number, count: ColumnCount, isEnd: boolean): number {
  if (lines[begin]?.fault !== null || !isBegin(lines[begin])) return 1;
  let text = '';
  let shortest: { readonly size: number; readonly isOpen: boolean } | undefined;
  let sizeToNext = 0;
  for (let i = begin; text.length <= searchBytesMax; i++) {
    const [line, next] = [lines[i], lines[i + 1]];
    if (!next && !isEnd) return 0;
    if (!line) break;
    const [size, added] = [i + 1 - begin, line.bytes.toString('latin1')];
    text += added;
    const reading = ends.test(added) ? readAccountCells(withoutLineEnd(text), count) : undefined;
    const isBoundary = !next || isBegin(next);
    if (reading && isBoundary && !reading.isOpen) return size;
    if (reading) shortest ??= { size, isOpen: reading.isOpen };
    if (!isBoundary) continue;
    sizeToNext ||= size;
    // Text after an account that is no account ends where the next account begins.
    if (shortest && !shortest.isOpen) break;
  }
  return shortest?.size ?? (sizeToNext || 1);
}

function isBegin(line: FileRecord | undefined): boolean {
  return line !== undefined && begins.test(line.bytes.subarray(0, beginBytesMax).toString('latin1'));
}
