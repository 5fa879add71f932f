// Splits a file's bytes into records: lines of a CSV, in which a quoted field may contain line
// breaks, lines of NDJSON, or the objects of a list in JSON. Holds one record at a time, however
// large the file is, and knows the position of each. Pure.
import { bodyBytesDefault } from '../../ground/http/request-body.ts';

/** The limit of a request that would contain the same data. */
export const recordBytesMax = bodyBytesDefault;

export interface FileRecord {
  /** The number of the line in which the record begins, from 1. */
  readonly line: number;
  /** The position at which the next record may begin. */
  readonly after: Position;
  /** The record without its line break. For an unreadable record, its beginning. */
  readonly bytes: Buffer;
  /** The reason why the record cannot be read; null when it can. */
  readonly fault: string | null;
}

export interface Position {
  /** Bytes from the file's beginning. */
  readonly offset: number;
  readonly line: number;
}

export interface RecordSplitter {
  push(bytes: Buffer): FileRecord[];
  /** Ends the file and returns the last record, if there is one. */
  end(): FileRecord[];
}

export const fileStart: Position = { offset: 0, line: 1 };

const [lf, cr, quote, backslash] = [0x0a, 0x0d, 0x22, 0x5c];
const [brace, bracket, braceEnd, bracketEnd] = [0x7b, 0x5b, 0x7d, 0x5d];
/** Bytes kept of a record that is too long, enough to recognise it. */
const faultBytesKept = 1024;

const tooLong = `A line has at most ${recordBytesMax / 1024} KiB.`;
const unclosed = 'A quote is opened here that is never closed: all that follows it was read as its text.';
const unended = 'The file ends in the middle of this.';

/** The state of a scan: between records or inside one. */
interface Scan {
  /** Takes one byte; returns true when the record ends with it. */
  take(byte: number): boolean;
  /** Returns whether a record has begun. */
  isInside(): boolean;
  /** The fault of a file that ends here; null when it may end here. */
  readonly openFault: string | null;
  /** True when the byte that ends a record belongs to the record. */
  readonly keepsEnd: boolean;
}

/** Splits at line ends outside of quoted fields (RFC 4180). */
export function splitCsv(delimiter: number, from: Position = fileStart): RecordSplitter {
  // 0: at the beginning of a field; 1: in a plain field; 2: in a quoted field; 3: after a quote
  // inside a quoted field.
  let state = 0;
  return split(from, {
    take(byte) {
      if (state === 2) {
        if (byte === quote) state = 3;
        return false;
      }
      if (byte === lf) {
        state = 0;
        return true;
      }
      if (byte === quote && state !== 1) state = 2;
      else state = byte === delimiter ? 0 : 1;
      return false;
    },
    isInside: () => true,
    get openFault() {
      return state === 2 ? unclosed : null;
    },
    keepsEnd: false,
  });
}

export function splitLines(from: Position = fileStart): RecordSplitter {
  return split(from, { take: (byte) => byte === lf, isInside: () => true, openFault: null, keepsEnd: false });
}

/** Splits into lines of which each keeps its end, blank ones too. */
export function splitKeepingEnds(from: Position): RecordSplitter {
  return split(from, { take: (byte) => byte === lf, isInside: () => true, openFault: null, keepsEnd: true });
}

/** Joins such lines to a record; undefined when they are blank. */
export function recordOf(lines: readonly FileRecord[]): FileRecord | undefined {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) return undefined;
  const text = withoutLineEnd(Buffer.concat(lines.map(({ bytes }) => bytes)).toString('latin1'));
  const fault = lines.find((line) => line.fault !== null)?.fault ?? null;
  return text === '' ? undefined : { ...first, after: last.after, bytes: Buffer.from(text, 'latin1'), fault };
}

export function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n?$/, '');
}

/**
 * Splits into the objects that stand `depth` brackets deep: 1 in a list, 2 in a list that is a
 * field of an object.
 */
export function splitObjects(depth: number, from: Position = fileStart): RecordSplitter {
  let level = from.offset === 0 ? 0 : depth;
  let isString = false;
  let isEscaped = false;
  return split(from, {
    take(byte) {
      if (isEscaped) isEscaped = false;
      else if (isString) {
        if (byte === backslash) isEscaped = true;
        else if (byte === quote) isString = false;
      } else if (byte === quote) isString = true;
      else if (byte === brace || byte === bracket) level++;
      else if (byte === braceEnd || byte === bracketEnd) return level-- === depth + 1 && byte === braceEnd;
      return false;
    },
    isInside: () => level > depth,
    get openFault() {
      return level > depth ? unended : null;
    },
    keepsEnd: true,
  });
}

function split(from: Position, scan: Scan): RecordSplitter {
  let { offset, line } = from;
  let beginsInLine = line;
  // The parts of the current record that earlier pieces of the file contained.
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isTooLong = false;

  const hold = (bytes: Buffer): void => {
    heldBytes += bytes.length;
    if (heldBytes <= recordBytesMax) held.push(bytes);
    else if (!isTooLong) {
      isTooLong = true;
      held = [Buffer.from(Buffer.concat([...held, bytes]).subarray(0, faultBytesKept))];
    }
  };
  const finish = (fault: string | null): FileRecord[] => {
    let bytes = held.length === 1 && held[0] ? held[0] : Buffer.concat(held);
    if (bytes.at(-1) === cr && !isTooLong) bytes = bytes.subarray(0, -1);
    const record = { line: beginsInLine, after: { offset, line }, bytes, fault: isTooLong ? tooLong : fault };
    held = [];
    heldBytes = 0;
    isTooLong = false;
    return bytes.length === 0 ? [] : [record];
  };

  return {
    push(bytes) {
      const records: FileRecord[] = [];
      const startOffset = offset;
      let begin = 0;
      let wasInside = scan.isInside();
      if (heldBytes === 0) beginsInLine = line;
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i] ?? 0;
        if (byte === lf) line++;
        const isEnd = scan.take(byte);
        if (isEnd) {
          hold(bytes.subarray(begin, scan.keepsEnd ? i + 1 : i));
          offset = startOffset + i + 1;
          records.push(...finish(null));
          begin = i + 1;
          beginsInLine = line;
          wasInside = scan.isInside();
        } else if (!wasInside) {
          wasInside = scan.isInside();
          begin = wasInside ? i : i + 1;
          beginsInLine = line;
        }
      }
      offset = startOffset + bytes.length;
      if (wasInside && begin < bytes.length) hold(bytes.subarray(begin));
      return records;
    },
    end() {
      return heldBytes === 0 ? [] : finish(scan.openFault);
    },
  };
}
