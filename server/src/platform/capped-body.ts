// The beginning of a response body. Takes a stranger's bytes without trusting how many there are or what they say.

export interface BodyLimits {
  /** Bytes read before the rest is refused. */
  readonly readMax: number;
  /** Bytes kept; the rest of what was read is forgotten. */
  readonly keepMax: number;
}

export class CappedBody {
  readonly #limits: BodyLimits;
  #chunks: Buffer[] = [];
  #readBytes = 0;
  #keptBytes = 0;
  /** Set by whoever sees the body end too early. */
  isCut = false;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Takes a chunk; false when the limit is passed and reading should stop. */
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

  /** What was kept, as text that any database takes: no half character at the cut, no NUL. Null when there was nothing. */
  text(): string | null {
    if (this.#keptBytes === 0) return null;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    if (!this.isCut) return bytes === undefined ? null : readText(bytes, 0, bytes.length);
    return withoutNul(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true }));
  }
}

/** A whole text that any database takes: what is no UTF-8, and NUL, becomes U+FFFD. */
export function readText(bytes: Buffer, start: number, end: number): string {
  return withoutNul(bytes.toString('utf8', start, end));
}

function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}
