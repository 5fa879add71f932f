// The small part of protocol buffers and of MCS framing that Chromium's push client uses: fields by
// number, without generated code. Formats: https://protobuf.dev/programming-guides/encoding/ and
// Chromium's google_apis/gcm/protocol.

export type Field =
  | readonly [number: number, kind: 'varint', value: number | bigint]
  | readonly [number: number, kind: 'fixed64', value: bigint]
  | readonly [number: number, kind: 'bytes', value: string | Buffer];

export function encodeMessage(fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const [number, kind, value] of fields) {
    if (kind === 'varint') {
      parts.push(encodeVarint(number << 3), encodeVarint(value));
    } else if (kind === 'fixed64') {
      const eight = Buffer.alloc(8);
      eight.writeBigUInt64LE(value);
      parts.push(encodeVarint((number << 3) | 1), eight);
    } else {
      const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      parts.push(encodeVarint((number << 3) | 2), encodeVarint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/**
 * A decoded message: every value of a field, in order. Numbers stay bigint; length-delimited values
 * are bytes.
 */
export class Message {
  readonly #values = new Map<number, (bigint | Buffer)[]>();

  /** Throws on a wire type that no message here has, and on a truncated message. */
  static decode(bytes: Buffer): Message {
    const message = new Message();
    let at = 0;
    while (at < bytes.length) {
      const tag = readVarint(bytes, at);
      const number = Number(tag.value >> 3n);
      const wireType = Number(tag.value & 7n);
      let value: bigint | Buffer;
      if (wireType === 0) {
        const varint = readVarint(bytes, tag.end);
        value = varint.value;
        at = varint.end;
      } else if (wireType === 1) {
        value = bytes.readBigUInt64LE(tag.end);
        at = tag.end + 8;
      } else if (wireType === 2) {
        const length = readVarint(bytes, tag.end);
        at = length.end + Number(length.value);
        if (at > bytes.length) throw new Error('A field reaches beyond its message.');
        value = bytes.subarray(length.end, at);
      } else if (wireType === 5) {
        value = BigInt(bytes.readUInt32LE(tag.end));
        at = tag.end + 4;
      } else {
        throw new Error(`Wire type ${wireType} of field ${number} is not understood.`);
      }
      message.#values.set(number, [...(message.#values.get(number) ?? []), value]);
    }
    return message;
  }

  text(number: number): string | undefined {
    const value = this.#values.get(number)?.at(-1);
    return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
  }

  texts(number: number): string[] {
    return (this.#values.get(number) ?? []).filter(Buffer.isBuffer).map((value) => value.toString('utf8'));
  }

  integer(number: number): bigint | undefined {
    const value = this.#values.get(number)?.at(-1);
    return typeof value === 'bigint' ? value : undefined;
  }
}

/** The MCS tags that this stand-in reads or writes; others are ignored. */
export const tags = {
  heartbeatPing: 0,
  heartbeatAck: 1,
  loginRequest: 2,
  loginResponse: 3,
  iqStanza: 7,
  dataMessage: 8,
} as const;

/** The protocol version that both sides send once, as one byte, before their first frame. */
export const mcsVersion = 41;

export function encodeFrame(tag: number, message: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), encodeVarint(message.length), message]);
}

/** Splits a TLS stream into frames; the version byte at its beginning is skipped. */
export class FrameReader {
  #pending = Buffer.alloc(0);
  #versionSeen = false;

  read(chunk: Buffer): { tag: number; message: Message }[] {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    if (!this.#versionSeen && this.#pending.length > 0) {
      this.#versionSeen = true;
      this.#pending = this.#pending.subarray(1);
    }
    const frames: { tag: number; message: Message }[] = [];
    for (;;) {
      const tag = this.#pending[0];
      const length = tag === undefined ? undefined : tryReadVarint(this.#pending, 1);
      if (tag === undefined || length === undefined) return frames;
      const end = length.end + Number(length.value);
      if (this.#pending.length < end) return frames;
      frames.push({ tag, message: Message.decode(this.#pending.subarray(length.end, end)) });
      this.#pending = this.#pending.subarray(end);
    }
  }
}

function encodeVarint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function readVarint(bytes: Buffer, start: number): { value: bigint; end: number } {
  const varint = tryReadVarint(bytes, start);
  if (varint === undefined) throw new Error('A number is cut off.');
  return varint;
}

function tryReadVarint(bytes: Buffer, start: number): { value: bigint; end: number } | undefined {
  let value = 0n;
  for (let at = start, shift = 0n; at < bytes.length; at += 1, shift += 7n) {
    const byte = bytes.readUInt8(at);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return undefined;
}
