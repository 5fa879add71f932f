// Writes a file as NAME.part until it is complete, so that a file under its own name is always
// complete. An interrupted file is continued after its last whole record. Only its owner can read
// it.
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { open, rename, truncate } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { CommandError } from './answer.ts';
import type { Table } from './export-tables.ts';
import { writeText } from './output-stream.ts';
import type { RowFormat } from './row-format.ts';

export interface WrittenFile {
  readonly file: string;
  /** The number of rows that this run wrote. */
  readonly rows: number;
  /** True: the rows follow rows of an earlier run. */
  readonly resumed: boolean;
}

/**
 * Writes a table into a file, or the rest of it after an interrupted run. Throws a `CommandError`
 * if the file exists already, or if NAME.part contains something else.
 */
export async function writeTable(file: string, table: Table, format: RowFormat): Promise<WrittenFile> {
  const part = await openPartFile(file, format);
  let written = 0;
  for await (const rows of table.pages(part.after)) {
    await part.write(rows.map(format.write).join(''));
    written += rows.length;
  }
  await part.finish();
  return { file, rows: written, resumed: part.after !== null };
}

interface PartFile {
  /** The key of the last row in the file; null: the file has no row. */
  readonly after: readonly string[] | null;
  write(text: string): Promise<void>;
  /** Ends the file and gives it its own name. */
  finish(): Promise<void>;
}

async function openPartFile(file: string, format: RowFormat): Promise<PartFile> {
  if (existsSync(file)) throw new CommandError(`${file} exists already`);
  const part = `${file}.part`;
  const found = existsSync(part) ? await readEnd(part, format) : { bytes: 0, after: null };
  if (found.bytes > 0) await truncate(part, found.bytes);
  const output = createWriteStream(part, { flags: found.bytes > 0 ? 'a' : 'w', mode: 0o600 });
  // The error is also reported by the write or the end that it causes to fail.
  output.on('error', () => undefined);
  if (found.bytes === 0 && format.head !== '') await writeText(output, format.head);
  return {
    after: found.after,
    async write(text) {
      await writeText(output, text).catch((error: unknown) => {
        throw output.errored ?? error;
      });
    },
    async finish() {
      output.end();
      await finished(output);
      const handle = await open(part, 'r');
      await handle.sync();
      await handle.close();
      await rename(part, file);
    },
  };
}

/**
 * Finds the end and the key of the last complete record. Throws a `CommandError` if the file
 * contains something else.
 */
async function readEnd(part: string, format: RowFormat): Promise<{ bytes: number; after: readonly string[] | null }> {
  const scan = { at: 0, inQuotes: false, ends: [0, 0] as [number, number], records: 0 };
  const quote = format.head === '' ? -1 : 0x22;
  for await (const chunk of createReadStream(part) as AsyncIterable<Buffer>) {
    for (const byte of chunk) {
      scan.at++;
      // A quote within quotes is doubled: the first one closes the quotes, the second one opens
      // them again.
      if (byte === quote) scan.inQuotes = !scan.inQuotes;
      if (byte !== 0x0a || scan.inQuotes) continue;
      scan.ends = [scan.ends[1], scan.at];
      scan.records++;
    }
  }
  const other = new CommandError(`${part} holds something else: remove it, or name another file`);
  const [from, to] = scan.ends;
  const head = Buffer.byteLength(format.head);
  if (head > 0 && (await readText(part, 0, Math.min(head, scan.at))) !== format.head.slice(0, scan.at)) throw other;
  if (to <= head) return { bytes: to, after: null };
  const after = format.readKey(await readText(part, from, to));
  if (!after) throw other;
  return { bytes: to, after };
}

async function readText(file: string, from: number, to: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.alloc(to - from);
    await handle.read(buffer, 0, buffer.length, from);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
}
