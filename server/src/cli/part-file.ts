// A file that is being written stands beside its name, as NAME.part, until it is whole: so a file under its own name is never half of
// one, and what was interrupted is taken up behind its last whole record. Readable for its owner alone.
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { open, rename, truncate } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { CommandError } from './command-error.ts';
import type { Table } from './export-tables.ts';
import { writeText } from './output-stream.ts';
import type { RowFormat } from './row-format.ts';

export interface WrittenFile {
  readonly file: string;
  /** Those that were written now. */
  readonly rows: number;
  /** True: behind others that were there. */
  readonly resumed: boolean;
}

/**
 * Writes a table into a file, or the rest of it where it was interrupted. Throws a `CommandError` where the name is taken, or where
 * what was begun is something else.
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
  /** The key of the last row that stands in it. */
  readonly after: readonly string[] | null;
  write(text: string): Promise<void>;
  /** It is whole: from now on it has its name. */
  finish(): Promise<void>;
}

async function openPartFile(file: string, format: RowFormat): Promise<PartFile> {
  if (existsSync(file)) throw new CommandError(`${file} is there already`);
  const part = `${file}.part`;
  const found = existsSync(part) ? await readEnd(part, format) : { bytes: 0, after: null };
  if (found.bytes > 0) await truncate(part, found.bytes);
  const output = createWriteStream(part, { flags: found.bytes > 0 ? 'a' : 'w', mode: 0o600 });
  // Told by the write or the end that it befalls.
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

/** Where its last whole record ends, and which that is. */
async function readEnd(part: string, format: RowFormat): Promise<{ bytes: number; after: readonly string[] | null }> {
  const scan = { at: 0, inQuotes: false, ends: [0, 0] as [number, number], records: 0 };
  const quote = format.head === '' ? -1 : 0x22;
  for await (const chunk of createReadStream(part) as AsyncIterable<Buffer>) {
    for (const byte of chunk) {
      scan.at++;
      // A quote within quotes is doubled: it closes and opens again.
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
