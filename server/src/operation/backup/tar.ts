// The part of the tar format (POSIX.1-1988 "ustar") that a backup needs: directories, and files of
// known size, which any tar can list. No file is held in memory.

const blockBytes = 512;
const zeros = Buffer.alloc(64 * 1024);

const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;

/** A directory, as bytes of a tar file. */
export function tarDirectory(name: string): Buffer {
  return headerOf(`${name}/`, 0, '5');
}

/**
 * A file of `size` bytes. Content beyond `size` is cut off; missing content is filled with zeros.
 */
export async function* tarFile(
  name: string,
  size: number,
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield headerOf(name, size, '0');
  let left = size;
  for await (const chunk of content) {
    if (left === 0) break;
    const taken = chunk.subarray(0, left);
    left -= taken.length;
    // A copy, because readers reuse their buffers.
    yield Buffer.from(taken);
  }
  for (let missing = left + paddingOf(size); missing > 0; missing -= zeros.length) yield zeros.subarray(0, missing);
}

/** The end mark of a tar file. */
export function tarEnd(): Buffer {
  return zeros.subarray(0, 2 * blockBytes);
}

function headerOf(name: string, size: number, type: '0' | '5'): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the path ${name} is too long for a backup`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0);
  header.write(octal(type === '5' ? 0o700 : 0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.floor(Date.now() / 1000), 11), 136);
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write('ustar\0' + '00', 257);
  header.write(`${octal(sumOf(header), 6)} `, 148);
  return header;
}

function sumOf(header: Buffer): number {
  let sum = 0;
  for (const byte of header) sum += byte;
  return sum;
}

export interface TarEntry {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly size: number;
  /** Read it before the next entry; unread content is skipped. */
  readonly content: AsyncIterable<Buffer>;
}

/** Yields the entries in order. Rejects a file that is no tar or that ends too early. */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const bytes = new Bytes(source);
  for (;;) {
    const header = await bytes.take(blockBytes);
    if (header.every((byte) => byte === 0)) {
      // A second empty block, and whatever checks the rest, such as the checksum of gzip.
      await bytes.take(blockBytes);
      await bytes.skipRest();
      return;
    }
    const textAt = (from: number, to: number): string =>
      header.subarray(from, to).toString('utf8').split('\0', 1)[0] ?? '';
    const said = Number.parseInt(textAt(148, 156), 8);
    header.fill(' ', 148, 156);
    if (textAt(257, 262) !== 'ustar' || sumOf(header) !== said) throw new Error('it is no tar file');
    const size = Number.parseInt(textAt(124, 136), 8);
    const type = textAt(156, 157);
    const content = bytes.upTo(size);
    yield { name: textAt(0, 100).replace(/\/$/, ''), isDirectory: type === '5', size, content };
    for await (const _skipped of content);
    await bytes.take(paddingOf(size));
  }
}

/** A source that is read in pieces of a chosen size. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for await (const chunk of this.upTo(count)) taken.push(chunk);
    return Buffer.concat(taken);
  }

  async skipRest(): Promise<void> {
    while (!(await this.#source.next()).done);
  }

  upTo(count: number): AsyncIterable<Buffer> {
    let left = count;
    const next = async (): Promise<IteratorResult<Buffer>> => {
      if (left === 0) return { done: true, value: undefined };
      if (this.#rest.length === 0) {
        const read = await this.#source.next();
        if (read.done) throw new Error('it ends too soon');
        this.#rest = read.value;
      }
      const value = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(value.length);
      left -= value.length;
      return { done: false, value };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }
}
