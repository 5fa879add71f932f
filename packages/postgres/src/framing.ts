// The borders of the messages that a server sends (PostgreSQL documentation, 54.1). `pg`'s parser
// trusts them, and reads an error without its end byte for ever.

const headBytes = 5;
/** ErrorResponse and NoticeResponse: fields, and a zero byte after the last one. */
const withFields = new Set(['E'.charCodeAt(0), 'N'.charCodeAt(0)]);

export class Framing {
  /** A letter, and a length that counts itself. */
  readonly #head = Buffer.alloc(headBytes);
  #headBytes = 0;
  /** Bytes of the message that are still to come. */
  #rest = 0;
  #hasFields = false;
  /** Zero bytes at the end of the received part of the message. */
  #zeros = 0;

  /** Takes the next bytes, in pieces of any size. Throws if they cannot be messages. */
  follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#rest > 0) at = this.#skip(bytes, at);
      else this.#readHead(bytes[at++] as number);
    }
  }

  #readHead(byte: number): void {
    this.#head[this.#headBytes++] = byte;
    if (this.#headBytes < headBytes) return;
    this.#headBytes = 0;
    this.#zeros = 0;
    this.#rest = this.#head.readUInt32BE(1) - (headBytes - 1);
    this.#hasFields = withFields.has(this.#head[0] as number);
    if (this.#rest < 0 || (this.#hasFields && this.#rest === 0))
      throw new Error('the server sent a message without its length');
  }

  #skip(bytes: Buffer, from: number): number {
    const to = Math.min(from + this.#rest, bytes.length);
    this.#rest -= to - from;
    if (!this.#hasFields) return to;
    for (let at = from; at < to; at++) this.#zeros = bytes[at] === 0 ? this.#zeros + 1 : 0;
    // The zero that ends the last field, and the zero after it.
    if (this.#rest === 0 && this.#zeros < 2) throw new Error('the server sent an error without its end');
    return to;
  }
}
