// The answers of each push service as HTTP/2 frames: accepted, or the token is gone. Each answer
// has a reference of its own and adds nothing to the header table, so no answer depends on another.
// The request is not looked at.

import { ByteWriter } from '../../../packages/http2/src/byte-writer.ts';
import { frameFlags, frameTypes, writeFrameHeader } from '../../../packages/http2/src/frames.ts';
import type { ChannelId } from '../../../server/src/sending/channels/channel.ts';

export interface AnswerForm {
  /** SETTINGS_MAX_CONCURRENT_STREAMS until the first request, and from then on. */
  readonly streams: { readonly atFirst: number; readonly later: number };
  /** Bytes of the answer's body: what it takes of the connection's window. */
  readonly dataBytes: number;
  /** Appends the answer whose reference ends with `number`, which is below 2^48. */
  write(out: ByteWriter, streamId: number, number: number): void;
  /**
   * Appends the answer to a token that is gone. Its body must fit into `dataBytes`, or else be
   * small enough for the open window.
   */
  refuse(out: ByteWriter, streamId: number): void;
}

/**
 * HPACK (RFC 7541): indexed `:status` fields, and literal fields without indexing, some with a name
 * of the static table.
 */
const status200 = Buffer.from([0x88]);
const status404 = Buffer.from([0x8d]);
const status410 = Buffer.from([0x08, 3, ...Buffer.from('410')]);
const status201 = Buffer.from([0x08, 3, ...Buffer.from('201')]);
const contentTypeName = Buffer.from([0x0f, 31 - 15]);
const locationName = Buffer.from([0x0f, 46 - 15]);
const apnsIdName = Buffer.from([0x00, 7, ...Buffer.from('apns-id')]);

/** A literal shorter than 127 bytes: its length takes one byte. */
const literal = (text: string) => Buffer.from([text.length, ...Buffer.from(text)]);

const numberDigits = 12;
const digitsOf = (number: number) => number.toString(16).toUpperCase().padStart(numberDigits, '0');
const zeros = digitsOf(0);

/** The Location header in the answer to a push to a browser. */
export const locationOf = (origin: string, number: number) => `${origin}/message/c4QkvEwqmA${digitsOf(number)}`;

/**
 * The answer of each channel. `origin` is the push service for browsers, because its answers
 * contain its own URL.
 */
export function answerForms(origin: string): Readonly<Record<ChannelId, AnswerForm>> {
  return {
    // Google's push service for browsers allows as many streams as FCM.
    webpush: headersOnly(
      { atFirst: 100, later: 100 },
      [status201, locationName, literal(locationOf(origin, 0))],
      refusal([status410], ''),
    ),
    // APNs allows one stream until it accepted a token, and then a thousand (observed).
    apns: headersOnly(
      { atFirst: 1, later: 1_000 },
      [status200, apnsIdName, literal(`E63C4F3A-0F0C-4C7C-9D6B-${zeros}`)],
      refusal([status410], '{"reason":"Unregistered"}'),
    ),
    fcm: fcmForm(),
  };
}

/** An answer of headers only. The header block ends with the digits of the number. */
function headersOnly(
  streams: AnswerForm['streams'],
  parts: readonly Buffer[],
  refuse: AnswerForm['refuse'],
): AnswerForm {
  const frame = makeFrame(frameTypes.headers, frameFlags.endStream | frameFlags.endHeaders, Buffer.concat(parts));
  return {
    streams,
    // The few bytes of a refusal fit into the client's initial window, and the client gives them
    // back.
    dataBytes: 0,
    refuse,
    write(out, streamId, number) {
      out.reserve(frame.length);
      appendFrame(out, frame, streamId);
      out.length -= numberDigits;
      out.writeLatin1(digitsOf(number));
    },
  };
}

function fcmForm(): AnswerForm {
  const type = literal('application/json; charset=UTF-8');
  const head = makeFrame(frameTypes.headers, frameFlags.endHeaders, Buffer.concat([status200, contentTypeName, type]));
  const tail = '"\n}\n';
  const text = `{\n  "name": "projects/carillon-bench/messages/0:1760000000000000%31bd${zeros}${tail}`;
  const data = makeFrame(frameTypes.data, frameFlags.endStream, Buffer.from(text));
  return {
    streams: { atFirst: 100, later: 100 },
    dataBytes: text.length,
    refuse: refusal([status404, contentTypeName, type], goneFromGoogle),
    write(out, streamId, number) {
      out.reserve(head.length + data.length);
      appendFrame(out, head, streamId);
      appendFrame(out, data, streamId);
      out.length -= numberDigits + tail.length;
      // Google writes these digits in lower case.
      out.writeLatin1(digitsOf(number).toLowerCase());
      out.length += tail.length;
    },
  };
}

/**
 * Google's answer for a token that is gone. It has the fields that clients read and nothing else.
 */
const goneFromGoogle = JSON.stringify({
  error: {
    code: 404,
    message: 'Requested entity was not found.',
    status: 'NOT_FOUND',
    details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'UNREGISTERED' }],
  },
});

function refusal(headers: readonly Buffer[], body: string): AnswerForm['refuse'] {
  const endsAtOnce = body === '' ? frameFlags.endStream : 0;
  const head = makeFrame(frameTypes.headers, frameFlags.endHeaders | endsAtOnce, Buffer.concat(headers));
  const data = body === '' ? undefined : makeFrame(frameTypes.data, frameFlags.endStream, Buffer.from(body));
  return (out, streamId) => {
    out.reserve(head.length + (data?.length ?? 0));
    appendFrame(out, head, streamId);
    if (data) appendFrame(out, data, streamId);
  };
}

function makeFrame(type: number, flags: number, payload: Buffer): Buffer {
  const out = new ByteWriter();
  writeFrameHeader(out, payload.length, type, flags, 0);
  out.writeBytes(payload, 0, payload.length);
  return Buffer.from(out.bytes.subarray(0, out.length));
}

const streamIdAt = 5;

function appendFrame(out: ByteWriter, frame: Buffer, streamId: number): void {
  out.bytes.set(frame, out.length);
  out.bytes.writeUInt32BE(streamId, out.length + streamIdAt);
  out.length += frame.length;
}
