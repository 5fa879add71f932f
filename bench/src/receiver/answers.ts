// How each push service says yes, or that a token is gone, as the frames of one answer: with a reference that no other answer has, and nothing in the
// header table, so that an answer depends on no other. What it was asked is not looked at.
import type { ChannelId } from '../../../server/src/channels/channel.ts';
import { ByteWriter } from '../../../server/src/platform/http2/byte-writer.ts';
import { frameFlags, frameTypes, writeFrameHeader } from '../../../server/src/platform/http2/frames.ts';

export interface AnswerForm {
  /** SETTINGS_MAX_CONCURRENT_STREAMS until the first request, and from then on. */
  readonly streams: { readonly atFirst: number; readonly later: number };
  /** Of its body: what it takes of the connection's window. */
  readonly dataBytes: number;
  /** Appends the answer whose reference ends with `number`, which is below 2^48. */
  write(out: ByteWriter, streamId: number, number: number): void;
  /** Appends the answer to a token that is gone. Its body is no longer than `dataBytes`, or the window has room for it all the same. */
  refuse(out: ByteWriter, streamId: number): void;
}

/** HPACK, RFC 7541: `:status 200`, and literals that are not kept in the table, some under a name of the static one. */
const status200 = Buffer.from([0x88]);
const status404 = Buffer.from([0x8d]);
const status410 = Buffer.from([0x08, 3, ...Buffer.from('410')]);
const status201 = Buffer.from([0x08, 3, ...Buffer.from('201')]);
const contentTypeName = Buffer.from([0x0f, 31 - 15]);
const locationName = Buffer.from([0x0f, 46 - 15]);
const apnsIdName = Buffer.from([0x00, 7, ...Buffer.from('apns-id')]);

/** Shorter than 127 bytes: its length takes one. */
const literal = (text: string) => Buffer.from([text.length, ...Buffer.from(text)]);

const numberDigits = 12;
const digitsOf = (number: number) => number.toString(16).toUpperCase().padStart(numberDigits, '0');
const zeros = digitsOf(0);

/** What a push to a browser is answered with as its Location. */
export const locationOf = (origin: string, number: number) => `${origin}/message/c4QkvEwqmA${digitsOf(number)}`;

/** `origin`: of the push service for browsers, which says in its answers where it is. */
export function answerForms(origin: string): Readonly<Record<ChannelId, AnswerForm>> {
  return {
    // Google's push service for browsers: as many streams as FCM.
    webpush: headersOnly(
      { atFirst: 100, later: 100 },
      [status201, locationName, literal(locationOf(origin, 0))],
      refusal([status410], ''),
    ),
    // One stream until a token was accepted, then a thousand are seen.
    apns: headersOnly(
      { atFirst: 1, later: 1_000 },
      [status200, apnsIdName, literal(`E63C4F3A-0F0C-4C7C-9D6B-${zeros}`)],
      refusal([status410], '{"reason":"Unregistered"}'),
    ),
    fcm: fcmForm(),
  };
}

/** The block ends with the digits of a number. */
function headersOnly(
  streams: AnswerForm['streams'],
  parts: readonly Buffer[],
  refuse: AnswerForm['refuse'],
): AnswerForm {
  const frame = makeFrame(frameTypes.headers, frameFlags.endStream | frameFlags.endHeaders, Buffer.concat(parts));
  return {
    streams,
    // The few bytes of a refusal are within the window that the client opens at first, and is given back.
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
      // Google writes them small.
      out.writeLatin1(digitsOf(number).toLowerCase());
      out.length += tail.length;
    },
  };
}

/** Google's words for a token that is gone; shorter than what it says of an acceptance would be no help to anybody. */
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
