// The input of an import as a stream of bytes, unpacked when it is gzip: a file, a pipe or standard
// input. A fingerprint identifies the file, so that a later run can continue. Only a few pieces of
// the input are in memory at a time.
import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A fault of a file as a whole, as a sentence for people. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

export interface Input {
  /**
   * Identifies this state of this file; null for input that can be read only once, such as a pipe.
   */
  readonly fingerprint: Buffer | null;
  /** The unpacked bytes, which can be read once. Rejects with `ImportError`. */
  readonly bytes: AsyncIterable<Buffer>;
  close(): Promise<void>;
}

const pieceBytes = 256 * 1024;
const endBytes = 64 * 1024;

/** Opens a file; `-` is standard input. Throws `ImportError` when it cannot be read. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') {
    return { fingerprint: null, bytes: unpacked('standard input', process.stdin), close: async () => undefined };
  }
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new ImportError(`${path} is a directory`);
    const file = await open(path);
    const stream = file.createReadStream({
      highWaterMark: pieceBytes,
      autoClose: false,
      ...(found.isFile() && { start: 0 }),
    });
    return {
      fingerprint: found.isFile() ? await fingerprintOf(file) : null,
      bytes: unpacked(path, stream),
      close: async () => {
        stream.destroy();
        await file.close();
      },
    };
  } catch (error) {
    throw error instanceof ImportError ? error : new ImportError(`${path} cannot be read (${codeOf(error)})`);
  }
}

// The hash covers size, time of change, beginning and end, because reading the whole file would
// take as long as importing it.
async function fingerprintOf(file: FileHandle): Promise<Buffer> {
  const { size, mtimeMs } = await file.stat();
  const hash = createHash('sha256').update(`${size} ${mtimeMs} `);
  for (const position of [0, Math.max(0, size - endBytes)]) {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(endBytes), position });
    hash.update(buffer.subarray(0, bytesRead));
  }
  return hash.digest();
}

async function* unpacked(name: string, stream: Readable): AsyncGenerator<Buffer> {
  try {
    const pieces: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
    const head = await readHead(pieces, 2);
    const whole = chain(head, pieces);
    const isGzip = head[0] === 0x1f && head[1] === 0x8b;
    // An error of the file reaches the reader through the other end of the pipeline.
    yield* isGzip ? pipeline(Readable.from(whole), createGunzip({ chunkSize: pieceBytes }), () => undefined) : whole;
  } catch (error) {
    throw new ImportError(`${name} cannot be read further (${codeOf(error)})`);
  }
}

/** Reads at least `least` bytes from the beginning, or all when there are fewer. */
export async function readHead(pieces: AsyncIterator<Buffer>, least: number): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < least) {
    const next = await pieces.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

/** Yields the bytes that were read already, then the rest. */
export async function* chain(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
