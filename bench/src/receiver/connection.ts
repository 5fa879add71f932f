// The receiving side of one HTTP/2 connection, at frame level, because a server on `node:http2`
// would itself limit the result. It reads no header, refuses by request number only, and delays no
// answer beyond the set latency. Only the clients differ.
import type { TLSSocket } from 'node:tls';
import { ByteWriter } from '../../../packages/http2/src/byte-writer.ts';
import {
  FrameReader,
  frameFlags,
  frameHeaderBytes,
  frameTypes,
  readUint31,
  writeFrameHeader,
} from '../../../packages/http2/src/frames.ts';
import type { AnswerForm } from './answers.ts';

/** State that all connections of a push service share. */
export interface Desk {
  readonly form: AnswerForm;
  /** Counts requests that have arrived and returns the number of the first of them. */
  count(requests: number): number;
  /** The time from a request to its answer. */
  latencyMs(): number;
  /** Whether the request with this number is told that its token is gone. */
  isRefused(number: number): boolean;
}

const prefaceBytes = 24;
/** The receive window. It is renewed when half of it is used. */
const windowBytes = 1 << 30;
const windowBytesAtFirst = 65_535;
const maxConcurrentStreams = 3;

/** Requests that arrived together and are answered together. */
interface Group {
  readonly dueAtMs: number;
  readonly streamIds: readonly number[];
  /** The number of the group's first request. It makes the answers distinct. */
  readonly number: number;
  /** How many requests of the group are answered. */
  answered: number;
}

/** Serves a connection that has agreed on HTTP/2. */
export function serveConnection(socket: TLSSocket, desk: Desk): void {
  const { form } = desk;
  const out = new ByteWriter();
  let prefaceLeft = prefaceBytes;
  let received = 0;
  let windowLeft = windowBytesAtFirst;
  let isFirst = true;
  /** The streams whose requests ended in the current chunk. */
  let streamIds: number[] = [];
  /** Groups in the order of their due times: the latency is the same for all. */
  let waiting: Group[] = [];
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    if (out.length === 0) return;
    socket.write(Buffer.from(out.bytes.subarray(0, out.length)));
    out.length = 0;
  };
  const allowStreams = (count: number) => {
    out.reserve(frameHeaderBytes + 6);
    writeFrameHeader(out, 6, frameTypes.settings, 0, 0);
    out.bytes.writeUInt16BE(maxConcurrentStreams, out.length);
    out.length += 2;
    out.writeUint32(count);
  };
  const openWindow = (bytes: number) => {
    out.reserve(frameHeaderBytes + 4);
    writeFrameHeader(out, 4, frameTypes.windowUpdate, 0, 0);
    out.writeUint32(bytes);
  };

  /**
   * Answers a group as far as the client's window allows. Returns whether the whole group was
   * answered.
   */
  const answer = (group: Group): boolean => {
    for (; group.answered < group.streamIds.length; group.answered += 1) {
      if (windowLeft < form.dataBytes) return false;
      windowLeft -= form.dataBytes;
      const number = group.number + group.answered;
      const streamId = group.streamIds[group.answered] ?? 0;
      if (desk.isRefused(number)) form.refuse(out, streamId);
      else form.write(out, streamId, number);
    }
    return true;
  };

  /** Answers the groups that are due. Answers that the window holds back go out when it opens. */
  const answerDue = () => {
    const nowMs = performance.now();
    let next = waiting[0];
    for (; next !== undefined && next.dueAtMs <= nowMs && answer(next); next = waiting[0]) waiting.shift();
    flush();
    if (timer !== undefined || next === undefined || next.dueAtMs <= nowMs) return;
    timer = setTimeout(() => {
      timer = undefined;
      answerDue();
    }, next.dueAtMs - nowMs);
  };

  const reader = new FrameReader((type, flags, streamId, bytes, start, end) => {
    if (type === frameTypes.data) received += end - start;
    const isEnd = (flags & frameFlags.endStream) !== 0;
    if (isEnd && (type === frameTypes.data || type === frameTypes.headers)) {
      streamIds.push(streamId);
    } else if (type === frameTypes.windowUpdate && streamId === 0) {
      windowLeft += readUint31(bytes, start);
    } else if (type === frameTypes.settings && !isEnd) {
      out.reserve(frameHeaderBytes);
      writeFrameHeader(out, 0, frameTypes.settings, frameFlags.ack, 0);
    } else if (type === frameTypes.ping && !isEnd) {
      out.reserve(frameHeaderBytes + 8);
      writeFrameHeader(out, 8, frameTypes.ping, frameFlags.ack, 0);
      out.writeBytes(bytes, start, end);
    }
  });

  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    clearTimeout(timer);
    waiting = [];
  });
  socket.on('data', (chunk: Buffer) => {
    const rest = chunk.subarray(Math.min(chunk.length, prefaceLeft));
    prefaceLeft -= chunk.length - rest.length;
    reader.push(rest);
    if (received > windowBytes / 2) {
      openWindow(received);
      received = 0;
    }
    if (streamIds.length > 0) {
      if (isFirst && form.streams.later !== form.streams.atFirst) allowStreams(form.streams.later);
      isFirst = false;
      const dueAtMs = performance.now() + desk.latencyMs();
      waiting.push({ dueAtMs, streamIds, number: desk.count(streamIds.length), answered: 0 });
      streamIds = [];
    }
    answerDue();
  });
  allowStreams(form.streams.atFirst);
  openWindow(windowBytes);
  flush();
}
