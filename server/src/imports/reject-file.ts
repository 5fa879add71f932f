// The list of rejected records beside the file that was imported: a CSV with the line's number and the reason before the line as
// it was, or the same as NDJSON. Whoever repairs it can import it. Written at a known place, so that a repeated write changes
// nothing, and readable for its owner alone: it holds tokens.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { writeCell } from '../platform/csv.ts';
import type { Detected } from './detect.ts';
import { ImportError } from './input.ts';
import type { FileRecord } from './records.ts';

export interface Reject {
  readonly record: FileRecord;
  /** Why, each reason once: a record may name several devices. */
  readonly sentences: readonly string[];
}

export class RejectFile {
  readonly path: string;
  readonly #format: Pick<Detected, 'kind' | 'header' | 'delimiter'>;
  #file: FileHandle | undefined;

  constructor(path: string, format: Pick<Detected, 'kind' | 'header' | 'delimiter'>) {
    this.path = path;
    this.#format = format;
  }

  /**
   * Writes rejects from a place on, 0 being the beginning, and returns where they end. The rest of the file is cut off. Throws
   * `ImportError` unless all of them stand on the disk, and where what an earlier run wrote does not.
   */
  async write(at: number, rejects: readonly Reject[]): Promise<number> {
    if (rejects.length === 0 && (at === 0 || this.#file)) return at;
    const lines = rejects.map((reject) => this.#line(reject));
    const bytes = Buffer.concat(at === 0 ? [this.#heading(), ...lines] : lines);
    try {
      const file = await this.#handle(at === 0);
      const { size } = await file.stat();
      if (size < at) throw this.#isGone();
      await file.truncate(at);
      await writeAll(file, bytes, at);
      await file.datasync();
      return at + bytes.length;
    } catch (error) {
      if (error instanceof ImportError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' && at > 0) throw this.#isGone();
      throw new ImportError(`${this.path} cannot be written (${code})`);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  #isGone(): ImportError {
    return new ImportError(
      `${this.path} lacks lines that an earlier run wrote: put it back as it was, or give the file a new time of change (touch), and it is imported from its beginning`,
    );
  }

  async #handle(mayMake: boolean): Promise<FileHandle> {
    if (this.#file) return this.#file;
    // A link there would lead the operator's rights to another file.
    const flags = constants.O_RDWR | constants.O_NOFOLLOW | (mayMake ? constants.O_CREAT : 0);
    this.#file = await open(this.path, flags, 0o600);
    return this.#file;
  }

  #heading(): Buffer {
    const { kind, header, delimiter } = this.#format;
    if (kind === 'ndjson' || header === null) return Buffer.alloc(0);
    return Buffer.concat([Buffer.from(`line${delimiter}reason${delimiter}`), header]);
  }

  #line({ record: { line, bytes, fault }, sentences }: Reject): Buffer {
    const { kind, delimiter } = this.#format;
    const sentence = sentences.join(' ');
    if (kind === 'csv') {
      // What cannot be read would make the list unreadable, too.
      const kept = fault === null ? bytes : Buffer.alloc(0);
      return Buffer.concat([
        Buffer.from(`${line}${delimiter}${writeCell(sentence)}${delimiter}`),
        kept,
        Buffer.from('\n'),
      ]);
    }
    return Buffer.from(`${JSON.stringify({ line, reason: sentence, ...readBack(bytes) })}\n`);
  }
}

/** As much as it can take is what one write takes: of a disk that is nearly full, a part. */
export async function writeAll(file: Pick<FileHandle, 'write'>, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, at + written);
    if (bytesWritten === 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' });
    written += bytesWritten;
  }
}

function readBack(bytes: Buffer): { row: unknown } | { text: string } {
  const text = bytes.toString('utf8');
  try {
    return { row: JSON.parse(text) };
  } catch {
    return { text: text.slice(0, 1000) };
  }
}
