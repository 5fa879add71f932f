// The list of rejected records beside the file that was imported: a CSV with the line's number and the reason before the line as
// it was, or the same as NDJSON. Whoever repairs it can import it. Written at a known place, so that a repeated write changes
// nothing, and readable for its owner alone: it holds tokens.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { writeField } from './csv-fields.ts';
import type { Detected } from './detect.ts';
import { ImportError } from './input.ts';
import type { FileRecord } from './records.ts';

export interface Reject {
  readonly record: FileRecord;
  readonly sentence: string;
}

export class RejectFile {
  readonly path: string;
  readonly #format: Pick<Detected, 'kind' | 'header' | 'delimiter'>;
  #file: FileHandle | undefined;

  constructor(path: string, format: Pick<Detected, 'kind' | 'header' | 'delimiter'>) {
    this.path = path;
    this.#format = format;
  }

  /** Writes rejects from a place on, 0 being the beginning, and returns where they end. The rest of the file is cut off. */
  async write(at: number, rejects: readonly Reject[]): Promise<number> {
    if (rejects.length === 0 && (at === 0 || this.#file)) return at;
    try {
      const start = await this.#open(at);
      const lines = rejects.map((reject) => this.#line(reject));
      const bytes = Buffer.concat(start === 0 ? [this.#heading(), ...lines] : lines);
      await (await this.#handle(false)).truncate(start);
      await (await this.#handle(false)).write(bytes, 0, bytes.length, start);
      return start + bytes.length;
    } catch (error) {
      throw new ImportError(`${this.path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  // Where to write: at the beginning where what an earlier run wrote is gone.
  async #open(at: number): Promise<number> {
    const file = await this.#handle(true);
    return at <= (await file.stat()).size ? at : 0;
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

  #line({ record: { line, bytes, fault }, sentence }: Reject): Buffer {
    const { kind, delimiter } = this.#format;
    if (kind === 'csv') {
      // What cannot be read would make the list unreadable, too.
      const kept = fault === null ? bytes : Buffer.alloc(0);
      return Buffer.concat([
        Buffer.from(`${line}${delimiter}${writeField(sentence)}${delimiter}`),
        kept,
        Buffer.from('\n'),
      ]);
    }
    return Buffer.from(`${JSON.stringify({ line, reason: sentence, ...readBack(bytes) })}\n`);
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
