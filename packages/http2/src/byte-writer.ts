// A growing buffer for bytes under construction. A caller reserves room first and then writes
// without checks.

const bytesAtFirst = 16_384;

/** Characters up to which a loop in JavaScript is faster than a call of the native write. */
const shortLength = 48;

export class ByteWriter {
  bytes: Buffer = Buffer.allocUnsafeSlow(bytesAtFirst);
  length = 0;

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  writeUint32(value: number): void {
    this.bytes[this.length++] = value >>> 24;
    this.bytes[this.length++] = value >>> 16;
    this.bytes[this.length++] = value >>> 8;
    this.bytes[this.length++] = value;
  }

  /** Writes one byte for each character. */
  writeLatin1(text: string): void {
    if (text.length > shortLength) {
      this.length += this.bytes.write(text, this.length, 'latin1');
      return;
    }
    const { bytes } = this;
    let at = this.length;
    for (let i = 0; i < text.length; i += 1) bytes[at++] = text.charCodeAt(i);
    this.length = at;
  }

  writeBytes(source: Uint8Array, start: number, end: number): void {
    this.bytes.set(start === 0 && end === source.length ? source : source.subarray(start, end), this.length);
    this.length += end - start;
  }
}
