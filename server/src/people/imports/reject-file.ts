// The list of rejected records beside the imported file: a CSV with line number and reason before
// the original line, or the same as NDJSON. The corrected list can be imported again. Each write
// starts at a known place, so that a repeated write changes nothing. Only the owner can read the
// file, because it contains tokens.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { writeCell } from '../../ground/values/csv.ts';
import type { Detected } from './detect.ts';
import { ImportError } from './input.ts';
import type { FileRecord } from './records.ts';

export interface Reject {
  readonly record: FileRecord;
  /** The reasons, each once; a record may name several devices. */
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
   * Writes rejects from `at` on (0: the beginning) and returns the place where they end; the file
   * is cut there. Throws `ImportError` unless all of them are on the disk, and when lines of an
   * earlier run are missing.
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
    // A symbolic link here would let the operator's rights write another file.
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
      // An unreadable record would make the list unreadable too.
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

/**
 * Writes all bytes. One write may take only a part of them, for example on a disk that is nearly
 * full.
 */
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
