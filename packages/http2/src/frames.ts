// The frames of HTTP/2 (RFC 9113 4 and 6): their numbers, their header, and a reader that cuts a
// stream of bytes into frames. The reader holds at most one frame of the allowed size, however the
// bytes arrive.
import type { ByteWriter } from './byte-writer.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** END_STREAM and ACK share a bit; no frame has both. */
export const frameFlags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const frameHeaderBytes = 9;

/**
 * The payload that both sides accept from the start (RFC 9113 6.5.2). We neither allow nor send a
 * larger one.
 */
export const payloadBytesMax = 16_384;

/** Also the largest window. */
export const streamIdMax = 0x7fffffff;

export const connectionPreface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Needs reserved room for a frame header. */
export function writeFrameHeader(out: ByteWriter, length: number, type: number, flags: number, streamId: number): void {
  const { bytes } = out;
  let at = out.length;
  bytes[at++] = length >>> 16;
  bytes[at++] = length >>> 8;
  bytes[at++] = length;
  bytes[at++] = type;
  bytes[at++] = flags;
  bytes[at++] = streamId >>> 24;
  bytes[at++] = streamId >>> 16;
  bytes[at++] = streamId >>> 8;
  bytes[at++] = streamId;
  out.length = at;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (readUint31(bytes, at) | ((bytes[at] ?? 0) & 0x80 ? 0x80000000 : 0)) >>> 0;
}

/** The reserved bit is ignored (RFC 9113 4.1). */
export function readUint31(bytes: Uint8Array, at: number): number {
  const high = (((bytes[at] ?? 0) & 0x7f) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}

/** The payload lies in `bytes` from `start` to `end`, and is valid only during the call. */
export type OnFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

export class FrameReader {
  readonly #onFrame: OnFrame;
  /** The beginning of a frame whose rest has not arrived. */
  #held: Buffer | undefined;
  #heldBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /**
   * Reads a chunk. Throws a `ProtocolError` for a frame that is too large, and every error of
   * `onFrame`; then nothing more may be read.
   */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#heldBytes > 0) {
        at = this.#complete(chunk, at);
        continue;
      }
      const left = chunk.length - at;
      if (left < frameHeaderBytes || left < frameBytes(chunk, at)) {
        this.#held ??= Buffer.allocUnsafeSlow(frameHeaderBytes + payloadBytesMax);
        this.#heldBytes = chunk.copy(this.#held, 0, at);
        return;
      }
      const end = at + frameBytes(chunk, at);
      this.#emit(chunk, at, end);
      at = end;
    }
  }

  /** Copies the missing bytes of the held frame, and returns the position after them. */
  #complete(chunk: Buffer, at: number): number {
    const held = this.#held ?? Buffer.alloc(0);
    const wanted = this.#heldBytes < frameHeaderBytes ? frameHeaderBytes : frameBytes(held, 0);
    const moved = chunk.copy(held, this.#heldBytes, at, Math.min(chunk.length, at + wanted - this.#heldBytes));
    this.#heldBytes += moved;
    if (this.#heldBytes >= frameHeaderBytes && this.#heldBytes === frameBytes(held, 0)) {
      const end = this.#heldBytes;
      this.#heldBytes = 0;
      this.#emit(held, 0, end);
    }
    return at + moved;
  }

  #emit(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3] ?? 0;
    const flags = bytes[at + 4] ?? 0;
    this.#onFrame(type, flags, readUint31(bytes, at + 5), bytes, at + frameHeaderBytes, end);
  }
}

/** The length of header and payload together. */
function frameBytes(bytes: Buffer, at: number): number {
  const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  if (length > payloadBytesMax) {
    throw new ProtocolError(errorCodes.frameSizeError, `A frame of ${length} bytes is over the limit.`);
  }
  return frameHeaderBytes + length;
}
