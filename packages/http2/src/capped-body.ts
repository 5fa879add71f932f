// Reads the beginning of a response body from an untrusted server, whose bytes may have any length
// and content.

export interface BodyLimits {
  /** Bytes that are read before reading stops. */
  readonly readMax: number;
  /** Bytes that are kept; the rest of the read bytes is dropped. */
  readonly keepMax: number;
}

export class CappedBody {
  readonly #limits: BodyLimits;
  #chunks: Buffer[] = [];
  #readBytes = 0;
  #keptBytes = 0;
  /** Set by a caller that sees the body end too early. */
  isCut = false;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Takes a chunk. Returns false when the limit is exceeded and reading should stop. */
  push(chunk: Buffer): boolean {
    this.#readBytes += chunk.length;
    const room = this.#limits.keepMax - this.#keptBytes;
    if (chunk.length > room) this.isCut = true;
    if (room > 0) {
      const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
      this.#chunks.push(kept);
      this.#keptBytes += kept.length;
    }
    return this.#readBytes <= this.#limits.readMax;
  }

  /**
   * The kept bytes as text that any database stores: no partial character at the cut, no NUL. Null
   * when there were none.
   */
  text(): string | null {
    if (this.#keptBytes === 0) return null;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    if (!this.isCut) return bytes === undefined ? null : readText(bytes, 0, bytes.length);
    return withoutNul(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true }));
  }
}

/** The bytes as text that any database stores: invalid UTF-8 and NUL become U+FFFD. */
export function readText(bytes: Buffer, start: number, end: number): string {
  return withoutNul(bytes.toString('utf8', start, end));
}

function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}
