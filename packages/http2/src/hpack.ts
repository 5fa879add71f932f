// Header compression (RFC 7541). The encoder assumes that most fields are the same in every request
// and the rest are unique. The decoder accepts everything a peer may send, within bounds, and
// throws a `ProtocolError` for anything else.
import { ByteWriter } from './byte-writer.ts';
import { DynamicTable, type HeaderField, sizeOf, staticFields, tableSizeDefault } from './hpack-table.ts';
import { decodeHuffman, encodeHuffman } from './huffman.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';

/**
 * How a field is written (RFC 7541 6.2): added to the table, not added, or never to be added by any
 * intermediary.
 */
export type Indexing = 'indexed' | 'plain' | 'never';

/** Bytes that a field takes in addition to its characters, at most: an index and two lengths. */
export const fieldOverheadBytes = 12;

const staticIndexes = new Map<string, Map<string, number>>();
for (const [i, { name, value }] of staticFields.entries()) {
  const values = staticIndexes.get(name) ?? new Map<string, number>();
  if (!values.has(value)) values.set(value, i + 1);
  staticIndexes.set(name, values);
}
const staticNameIndexes = new Map(staticFields.map(({ name }, i) => [name, i + 1] as const).reverse());

interface Remembered extends HeaderField {
  /** The number of fields that were added before it. */
  readonly number: number;
}

export class HpackEncoder {
  readonly #byName = new Map<string, Remembered[]>();
  readonly #table = new DynamicTable<Remembered>((field) => this.#forget(field));
  /** The last secret that was written, with its encoded bytes. */
  #secret: (HeaderField & { readonly bytes: Uint8Array }) | undefined;
  /**
   * Table sizes that the peer requested and that are not acknowledged yet: the smallest since then,
   * and the last.
   */
  #leastSize: number | undefined;
  #lastSize = tableSizeDefault;

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE. More than the default is never used. */
  resize(sizeMax: number): void {
    const size = Math.min(sizeMax, tableSizeDefault);
    if (size === this.#lastSize) return;
    this.#leastSize = Math.min(this.#leastSize ?? size, size);
    this.#lastSize = size;
  }

  /**
   * Begins a block: acknowledges a changed table size (RFC 7541 4.2). Needs reserved room for two
   * fields.
   */
  begin(out: ByteWriter): void {
    if (this.#leastSize === undefined) return;
    for (const size of new Set([this.#leastSize, this.#lastSize])) {
      this.#table.resize(size);
      writeInteger(out, 0x20, 5, size);
    }
    this.#leastSize = undefined;
  }

  /** Writes a field. Needs reserved room for its characters and `fieldOverheadBytes`. */
  write(out: ByteWriter, name: string, value: string, indexing: Indexing): void {
    if (indexing !== 'indexed') {
      this.#writeLiteral(out, indexing === 'never' ? 0x10 : 0, 4, name, value);
      return;
    }
    const index = this.#find(name, value);
    if (index > 0) {
      writeInteger(out, 0x80, 7, index);
      return;
    }
    const field = { name, value, number: this.#table.added };
    // A field that would evict nearly all others is not added.
    if (sizeOf(field) > this.#table.sizeMax / 2) {
      this.#writeLiteral(out, 0, 4, name, value);
      return;
    }
    this.#writeLiteral(out, 0x40, 6, name, value);
    this.#table.add(field);
    const known = this.#byName.get(name);
    if (known === undefined) this.#byName.set(name, [field]);
    else known.push(field);
  }

  /**
   * Writes a secret that is the same in most requests, such as a bearer token. It is never
   * indexed (RFC 7541 7.1.3), so each request contains it completely. Its Huffman code is computed
   * once and then copied. Needs the same room.
   */
  writeSecret(out: ByteWriter, name: string, value: string): void {
    if (this.#secret?.value !== value || this.#secret.name !== name)
      this.#secret = { name, value, bytes: neverIndexed(name, value) };
    const { bytes } = this.#secret;
    out.writeBytes(bytes, 0, bytes.length);
  }

  #find(name: string, value: string): number {
    const known = this.#byName.get(name);
    if (known !== undefined) {
      for (let i = known.length - 1; i >= 0; i -= 1) {
        const field = known[i];
        if (field?.value === value) return this.#indexOf(field);
      }
    }
    return staticIndexes.get(name)?.get(value) ?? 0;
  }

  #indexOf({ number }: Remembered): number {
    return staticFields.length + this.#table.added - number;
  }

  #forget(field: Remembered): void {
    const known = this.#byName.get(field.name);
    // The oldest field of a name is evicted first.
    known?.shift();
    if (known?.length === 0) this.#byName.delete(field.name);
  }

  #writeLiteral(out: ByteWriter, pattern: number, prefixBits: number, name: string, value: string): void {
    const known = this.#byName.get(name)?.[0];
    const index = staticNameIndexes.get(name) ?? (known ? this.#indexOf(known) : 0);
    writeInteger(out, pattern, prefixBits, index);
    if (index === 0) writeString(out, name);
    writeString(out, value);
  }
}

/**
 * Writes a literal that refers to the static table only, so that its bytes are the same on every
 * connection at any time.
 */
function neverIndexed(name: string, value: string): Uint8Array {
  const out = new ByteWriter();
  const coded = encodeHuffman(value);
  const index = staticNameIndexes.get(name) ?? 0;
  writeInteger(out, 0x10, 4, index);
  if (index === 0) writeString(out, name);
  if (coded.length < value.length) {
    out.reserve(coded.length + fieldOverheadBytes);
    writeInteger(out, 0x80, 7, coded.length);
    out.writeBytes(coded, 0, coded.length);
  } else {
    out.reserve(value.length + fieldOverheadBytes);
    writeString(out, value);
  }
  return new Uint8Array(out.bytes.subarray(0, out.length));
}

/** Writes an integer (RFC 7541 5.1). */
function writeInteger(out: ByteWriter, pattern: number, prefixBits: number, value: number): void {
  const most = (1 << prefixBits) - 1;
  if (value < most) {
    out.bytes[out.length++] = pattern | value;
    return;
  }
  out.bytes[out.length++] = pattern | most;
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) out.bytes[out.length++] = (rest & 127) | 128;
  out.bytes[out.length++] = rest;
}

function writeString(out: ByteWriter, text: string): void {
  writeInteger(out, 0, 7, text.length);
  out.writeLatin1(text);
}

export interface DecodedField extends HeaderField {
  /**
   * Whether RFC 9113 8.2.1 allows name and value. Computed once, because an indexed field is used a
   * thousand times.
   */
  readonly isValid: boolean;
}

const validName = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const hasForbidden = (value: string): boolean => value.includes('\n') || value.includes('\r') || value.includes('\0');

function makeField(name: string, value: string): DecodedField {
  return { name, value, isValid: validName.test(name) && !hasForbidden(value) };
}

const decodedStaticFields = staticFields.map(({ name, value }) => makeField(name, value));

export class HpackDecoder {
  readonly #table = new DynamicTable<DecodedField>();
  readonly #sizeMax: number;
  readonly #listSizeMax: number;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /**
   * `listSizeMax` limits the decoded size of one block, counted as in RFC 9113 6.5.2, because a
   * small block can decode to many fields.
   */
  constructor({ tableSizeMax, listSizeMax }: { readonly tableSizeMax: number; readonly listSizeMax: number }) {
    this.#sizeMax = tableSizeMax;
    this.#listSizeMax = listSizeMax;
    this.#table.resize(tableSizeMax);
  }

  /** Decodes one complete block. After an error the connection cannot be read any more. */
  decode(bytes: Buffer, start: number, end: number): DecodedField[] {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const fields: DecodedField[] = [];
    let listSize = 0;
    while (this.#at < end) {
      const field = this.#decodeField(fields.length === 0);
      if (field === undefined) continue;
      listSize += sizeOf(field);
      if (listSize > this.#listSizeMax)
        throw new ProtocolError(errorCodes.enhanceYourCalm, 'The headers are too many.');
      fields.push(field);
    }
    return fields;
  }

  /** Returns undefined for a new size of the table, which is not a field. */
  #decodeField(mayResize: boolean): DecodedField | undefined {
    const first = this.#bytes[this.#at] ?? 0;
    if (first >= 0x80) return this.#fieldAt(this.#readInteger(7));
    if (first >= 0x40) {
      const field = this.#readLiteral(6);
      this.#table.add(field);
      return field;
    }
    if (first < 0x20) return this.#readLiteral(4);
    const size = this.#readInteger(5);
    if (!mayResize || size > this.#sizeMax) throw broken('The table is resized where or to what it may not be.');
    this.#table.resize(size);
    return undefined;
  }

  #fieldAt(index: number): DecodedField {
    const { length } = decodedStaticFields;
    const field = index <= length ? decodedStaticFields[index - 1] : this.#table.at(index - length - 1);
    if (field === undefined) throw broken(`No field has the index ${index}.`);
    return field;
  }

  #readLiteral(prefixBits: number): DecodedField {
    const index = this.#readInteger(prefixBits);
    const name = index === 0 ? this.#readString() : this.#fieldAt(index).name;
    return makeField(name, this.#readString());
  }

  #readInteger(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = (this.#bytes[this.#at++] ?? 0) & most;
    if (value < most) return value;
    // No valid number in such a block needs more than three further bytes.
    for (let shift = 0; shift <= 14 && this.#at < this.#end; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw broken('A number breaks off or is too large.');
  }

  #readString(): string {
    if (this.#at >= this.#end) throw broken('A string is missing.');
    const isHuffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#readInteger(7);
    const start = this.#at;
    if (length > this.#end - start) throw broken('A string breaks off.');
    this.#at = start + length;
    if (!isHuffman) return this.#bytes.toString('latin1', start, this.#at);
    const text = decodeHuffman(this.#bytes, start, this.#at);
    if (text === undefined) throw broken('A string is not in the Huffman code.');
    return text;
  }
}

function broken(message: string): ProtocolError {
  return new ProtocolError(errorCodes.compressionError, message);
}
