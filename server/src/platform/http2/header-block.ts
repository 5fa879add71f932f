// A header block on its way: HEADERS and the CONTINUATIONs that follow it, put together (RFC 9113 6.2, 6.10), within a bound
// of bytes and of frames, so that a block without end ends the connection.
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

  /** Copies: the bytes belong to the reader. */
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
