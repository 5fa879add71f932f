// Detects a file's format by its beginning: the names of its columns, or the shape of its first
// object. A file of no known format is refused before anything is stored. Pure.
import { isUtf8 } from 'node:buffer';
import { parseJson } from '../../ground/http/json.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { readFields } from './csv-fields.ts';
import { splitAccounts } from './firebase-columns.ts';
import { airshipChannels, airshipNamedUsers } from './format-airship.ts';
import { findColumnCount, firebaseCsv, firebaseJson } from './format-firebase.ts';
import { oneSignalCsv } from './format-onesignal.ts';
import { columnName, HeaderError, ownCsv, ownNdjson } from './format-own.ts';
import { type Format, type GivenRow, parseForeignJson, Refused } from './given-row.ts';
import { ImportError } from './input.ts';
import {
  type FileRecord,
  fileStart,
  type Position,
  type RecordSplitter,
  splitCsv,
  splitLines,
  splitObjects,
} from './records.ts';

export interface Detected {
  readonly name: string;
  readonly kind: 'csv' | 'ndjson';
  /** The line that names the columns, with its line break; null when there is none. */
  readonly header: Buffer | null;
  /** The separator of two fields of a CSV. */
  readonly delimiter: string;
  /** Columns that an import ignores. */
  readonly ignored: readonly string[];
  /** The place of the first record. */
  readonly from: Position;
  split(from: Position): RecordSplitter;
  /** Reads a record. Throws `Refused`, or the 400 for text that is no JSON. */
  read(record: FileRecord): readonly GivenRow[];
}

/** Bytes of a file that detection reads. */
export const headBytes = 64 * 1024;

/**
 * Detects the format. Throws `ImportError` for a file that cannot be imported at all. `head` is the
 * file's beginning, or all of it.
 */
export function detectFormat(head: Buffer): Detected {
  const mark = head.subarray(0, 3).toString('hex');
  // Some programs write no byte order mark. A NUL among the first characters shows the same.
  if (mark.startsWith('fffe') || mark.startsWith('feff') || head.subarray(0, 4).includes(0)) {
    throw new ImportError('The file is UTF-16: save it as UTF-8');
  }
  const markBytes = mark === 'efbbbf' ? 3 : 0;
  const from: Position = { offset: markBytes, line: 1 };
  const text = head.subarray(markBytes).toString('latin1').trimStart();
  if (text === '') throw new ImportError('The file is empty');
  if (text.startsWith('[')) return detectJson(head, markBytes, 1);
  if (isEnvelope(text)) return detectJson(head, markBytes, 2);
  if (text.startsWith('{')) return detectJson(head, markBytes, 0);
  return detectCsv(head, from);
}

// A list in a field of an object, with scalar fields before it: {"ok":true,"channels":[…
function isEnvelope(text: string): boolean {
  return /^\{(?:\s*"\w{1,40}"\s*:\s*(?:true|false|null|\d{1,20}|"[^"\\]{0,500}")\s*,){0,10}\s*"(?:channels|users|named_users)"\s*:\s*\[/.test(
    text,
  );
}

// Depth 0: one object in each line.
function detectJson(head: Buffer, markBytes: number, depth: number): Detected {
  const split = (from: Position): RecordSplitter => (depth === 0 ? splitLines(from) : splitObjects(depth, from));
  const sniffing = split(fileStart);
  const [first] = [...sniffing.push(head.subarray(markBytes)), ...sniffing.end()];
  const format = formatOf(first);
  return {
    name: format.name,
    kind: 'ndjson',
    header: null,
    delimiter: '',
    ignored: [],
    // The byte order mark is not white space in JSON, so the first line begins after it. A search
    // for objects begins at the file's beginning.
    from: depth === 0 ? { offset: markBytes, line: 1 } : fileStart,
    split,
    read: ({ bytes }) => format.read(format === ownNdjson ? parseJson(bytes) : parseLoosely(bytes)),
  };
}

// In a file of another service, a string that cannot be stored is dropped alone.
function parseLoosely(bytes: Buffer): unknown {
  try {
    if (isUtf8(bytes)) return parseForeignJson(bytes.toString('utf8'));
  } catch {
    // The API's parser throws an error that names the fault.
  }
  return parseJson(bytes);
}

function formatOf(first: FileRecord | undefined): Format<unknown> {
  let value: unknown;
  try {
    value = first && parseLoosely(first.bytes);
  } catch {
    return ownNdjson;
  }
  if (!isRecord(value)) return ownNdjson;
  if ('channel_id' in value && 'device_type' in value) return airshipChannels;
  if ('named_user_id' in value && !('platform' in value)) return airshipNamedUsers;
  if ('localId' in value) return firebaseJson;
  return ownNdjson;
}

function detectCsv(head: Buffer, from: Position): Detected {
  const count = findColumnCount(head.subarray(from.offset));
  if (count !== undefined) {
    const { name, read } = firebaseCsv(count);
    const split = (position: Position): RecordSplitter => splitAccounts(count, position);
    return { name, kind: 'csv', header: null, delimiter: ',', ignored: [], from, split, read };
  }
  const delimiter = guessDelimiter(head);
  const split = (position: Position): RecordSplitter => splitCsv(delimiter.charCodeAt(0), position);
  const sniffing = split(from);
  const [first] = [...sniffing.push(head.subarray(from.offset)), ...sniffing.end()];
  if (!first || first.fault !== null || !isUtf8(first.bytes)) {
    throw new ImportError('The first line must name the columns, in UTF-8');
  }
  // The format of very old programs. Otherwise the whole file would be one line and nothing would
  // be imported.
  const outside = first.bytes.toString('latin1').replace(/"[^"]*"/g, '');
  if (outside.includes('\r')) throw new ImportError('Its lines end with CR alone: save the file with LF or CRLF');
  const names = (readFields(first.bytes.toString('utf8'), delimiter) ?? []).map((name) => name.trim());
  const format = oneSignalCsv(names.map((name) => name.toLowerCase())) ?? ownColumns(names);
  refuseTwice(names);
  return {
    name: format.name,
    kind: 'csv',
    header: Buffer.from(`${first.bytes.toString('utf8')}\n`),
    delimiter,
    ignored: 'ignored' in format ? (format.ignored as readonly string[]) : [],
    from: first.after,
    split,
    read: (record) => format.read(readCells(record, delimiter, names.length)),
  };
}

function ownColumns(names: readonly string[]): Format<readonly string[]> {
  try {
    const format = ownCsv(names);
    if (format) return format;
  } catch (error) {
    throw error instanceof HeaderError ? new ImportError(error.message) : error;
  }
  const shown = names.slice(0, 8).map((name) => `'${name.slice(0, 40)}'`);
  throw new ImportError(
    `No known format has these columns: ${shown.join(', ')}. Devices have platform and token, users external_id`,
  );
}

function refuseTwice(names: readonly string[]): void {
  // The type in a header is no part of the property's name.
  const columns = names.map((name) => columnName(name).replace(/^((?:user\.)?properties\.[^:]*):.*$/s, '$1'));
  const twice = names.find((name, i) => name !== '' && columns.indexOf(columns[i] ?? '') !== i);
  if (twice !== undefined) throw new ImportError(`Two columns are named '${twice.slice(0, 40)}'`);
}

// The separator that occurs most often in the first line, outside of quotes; some programs write
// semicolons or tabs.
function guessDelimiter(head: Buffer): string {
  const [line = ''] = head.toString('latin1').split('\n', 1);
  const outside = line.replace(/"[^"]*"/g, '');
  const count = (mark: string): number => outside.split(mark).length;
  return [',', ';', '\t'].reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}

/** Reads the cells of a line that has as many as the header. */
function readCells({ bytes, fault }: FileRecord, delimiter: string, count: number): string[] {
  if (fault !== null) throw new Refused(fault);
  if (!isUtf8(bytes)) throw new Refused('It is not UTF-8.');
  const cells = readFields(bytes.toString('utf8'), delimiter);
  if (!cells)
    throw new Refused('Its quotes do not fit: a quoted field ends with a quote, and quotes in it are doubled.');
  if (cells.length !== count) throw new Refused(`The header has ${count} columns and this line ${cells.length}.`);
  return cells;
}
