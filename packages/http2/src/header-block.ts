// A header block that arrives in parts: HEADERS and the following CONTINUATIONs (RFC 9113 6.2,
// 6.10). Bytes and frames are bounded, so that an endless block ends the connection.
import { errorCodes, ProtocolError } from './protocol-error.ts';

const blockBytesMax = 65_536;
const continuationsMax = 32;

export class HeaderBlock {
  readonly streamId: number;
  readonly isEndOfStream: boolean;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(streamId: number, isEndOfStream: boolean) {
    this.streamId = streamId;
    this.isEndOfStream = isEndOfStream;
  }

  /** Copies the bytes, because they belong to the reader. */
  push(bytes: Buffer, start: number, end: number): void {
    this.#bytes += end - start;
    if (this.#parts.length > continuationsMax || this.#bytes > blockBytesMax) {
      throw new ProtocolError(errorCodes.enhanceYourCalm, 'A header block has no end.');
    }
    this.#parts.push(Buffer.from(bytes.subarray(start, end)));
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
