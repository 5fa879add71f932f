// A file's bytes become records: the lines of a CSV, in which a quoted field may hold line breaks, the lines of NDJSON, or the
// objects in a JSON document's list. Holds one record at a time, however large the file is and whatever is in it, and knows of
// each where it stands. Pure.

/** As large as the body of a request may be that says the same (contract 1). */
export const recordBytesMax = 256 * 1024;

export interface FileRecord {
  /** The number of the line in which it begins, from 1. */
  readonly line: number;
  /** Where the next record may begin. */
  readonly after: Position;
  /** Without its line break. Of one that cannot be read, the beginning. */
  readonly bytes: Buffer;
  /** Why it cannot be read. */
  readonly fault: string | null;
}

export interface Position {
  /** Bytes from the file's beginning. */
  readonly offset: number;
  readonly line: number;
}

export interface RecordSplitter {
  push(bytes: Buffer): FileRecord[];
  /** The file is over: what is left of it. */
  end(): FileRecord[];
}

export const fileStart: Position = { offset: 0, line: 1 };

const [lf, cr, quote, backslash] = [0x0a, 0x0d, 0x22, 0x5c];
const [brace, bracket, braceEnd, bracketEnd] = [0x7b, 0x5b, 0x7d, 0x5d];
/** Of a record that is too long, enough to recognise it. */
const faultBytesKept = 1024;

const tooLong = `A line has at most ${recordBytesMax / 1024} KiB.`;
const unclosed = 'A quote is opened here that is never closed: all that follows it was read as its text.';
const unended = 'The file ends in the middle of this.';

/** Where scanning stands: between records, or inside of one, in a state of its own. */
interface Scan {
  /** Takes one byte; true: the record ends with it. */
  take(byte: number): boolean;
  /** True: a record has begun. */
  isInside(): boolean;
  /** True: the file may not end here. */
  readonly openFault: string | null;
  /** The byte that ends a record is its own. */
  readonly keepsEnd: boolean;
}

/** Lines end where no quoted field is open (RFC 4180). */
export function splitCsv(delimiter: number, from: Position = fileStart): RecordSplitter {
  // 0: a field begins; 1: in a plain one; 2: in a quoted one; 3: behind a quote inside of one.
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

/** The objects that stand `depth` brackets deep: 1 in a list, 2 in a list that is a field of an object. */
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
  // What is known of the record that has begun, from earlier pieces of the file.
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
