import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from './byte-writer.ts';
import { FrameReader, payloadBytesMax, streamIdMax, writeFrameHeader } from './frames.ts';
import { ProtocolError } from './protocol-error.ts';

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: string;
}

function readIn(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((type, flags, streamId, bytes, start, end) => {
    frames.push({ type, flags, streamId, payload: bytes.toString('hex', start, end) });
  });
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

/** Cuts bytes into pieces of these lengths, repeatedly. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const length = lengths[i % lengths.length] ?? 1;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

const frame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  flags: fc.integer({ min: 0, max: 255 }),
  streamId: fc.integer({ min: 0, max: streamIdMax }),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.integer({ min: 0, max: payloadBytesMax }).map((length) => new Uint8Array(length).fill(7)),
  ),
});

test('frames that are written are read again, however the bytes are cut', () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), fc.oneof(lengths, fc.constant([1, 2])), (frames, pieces) => {
      const out = new ByteWriter();
      for (const { type, flags, streamId, payload } of frames) {
        out.reserve(9 + payload.length);
        writeFrameHeader(out, payload.length, type, flags, streamId);
        out.writeBytes(payload, 0, payload.length);
      }
      const written = frames.map((each) => ({ ...each, payload: Buffer.from(each.payload).toString('hex') }));
      expect(readIn(cut(out.bytes.subarray(0, out.length), pieces))).toEqual(written);
    }),
  );
});

test('a frame over the limit is refused as soon as its length is known', () => {
  const header = Buffer.from('004001000000000001', 'hex');
  expect(() => readIn([header])).toThrow(ProtocolError);
  expect(() => readIn(cut(header, [1]))).toThrow(ProtocolError);
});
