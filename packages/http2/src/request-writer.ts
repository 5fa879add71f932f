// Writes requests as frames: HEADERS, with CONTINUATIONs when a block is too large for one frame,
// and DATA as far as both windows allow. The rest of a body waits here until the peer opens the
// windows. This file alone decides which fields are indexed: fields that repeat are. A path is
// never indexed, because it is unique and may be a secret. Neither is the authorization, a secret
// that repeats.
import type { Exchange } from './exchange.ts';
import { frameFlags, frameHeaderBytes, frameTypes, payloadBytesMax, streamIdMax, writeFrameHeader } from './frames.ts';
import { fieldOverheadBytes, HpackEncoder } from './hpack.ts';
import type { Outbox } from './outbox.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';
import type { Http2Request } from './session.ts';

const windowBytesDefault = 65_535;

/**
 * Bytes of the five pseudo-headers and the length, without path and authority, and of a changed
 * table size.
 */
const fixedBytes = 128;

const noNames: readonly string[] = [];

export class RequestWriter {
  readonly #out: Outbox;
  readonly #authority: string;
  readonly #encoder = new HpackEncoder();
  readonly #blocked = new Set<Exchange>();
  #window = windowBytesDefault;
  /** Bytes of all bodies that were sent. */
  bytesSent = 0;
  /** The initial send window of a new stream. */
  streamWindow = windowBytesDefault;

  /** All requests have this authority. */
  constructor(out: Outbox, authority: string) {
    this.#out = out;
    this.#authority = authority;
  }

  resizeTable(size: number): void {
    this.#encoder.resize(size);
  }

  writeHeaders(streamId: number, request: Http2Request): void {
    const { path, headers, body, unindexed = noNames } = request;
    const authority = this.#authority;
    const out = this.#out;
    let room = fixedBytes + authority.length + path.length;
    for (const name in headers) room += name.length + (headers[name]?.length ?? 0) + fieldOverheadBytes;
    out.reserve(frameHeaderBytes + room);
    const start = out.length;
    out.length += frameHeaderBytes;
    const encoder = this.#encoder;
    encoder.begin(out);
    encoder.write(out, ':method', 'POST', 'indexed');
    encoder.write(out, ':scheme', 'https', 'indexed');
    encoder.write(out, ':authority', authority, 'indexed');
    encoder.write(out, ':path', path, 'never');
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined) continue;
      if (name === 'authorization') encoder.writeSecret(out, name, value);
      else encoder.write(out, name, value, unindexed.includes(name) ? 'never' : 'indexed');
    }
    encoder.write(out, 'content-length', String(body.length), 'plain');
    const end = out.length;
    const flags = body.length === 0 ? frameFlags.endStream : 0;
    if (end - start - frameHeaderBytes > payloadBytesMax) {
      this.#writeInParts(start, streamId, flags);
      return;
    }
    out.length = start;
    writeFrameHeader(out, end - start - frameHeaderBytes, frameTypes.headers, flags | frameFlags.endHeaders, streamId);
    out.length = end;
  }

  /** Writes the block behind `start` again, in as many frames as it needs. */
  #writeInParts(start: number, streamId: number, flags: number): void {
    const out = this.#out;
    const block = Buffer.from(out.bytes.subarray(start + frameHeaderBytes, out.length));
    out.length = start;
    for (let at = 0; at < block.length; at += payloadBytesMax) {
      const end = Math.min(block.length, at + payloadBytesMax);
      const type = at === 0 ? frameTypes.headers : frameTypes.continuation;
      const isLast = end === block.length;
      out.reserve(frameHeaderBytes + end - at);
      writeFrameHeader(out, end - at, type, (at === 0 ? flags : 0) | (isLast ? frameFlags.endHeaders : 0), streamId);
      out.writeBytes(block, at, end);
    }
  }

  /** Writes as much of the body as the windows allow; the rest follows when they open. */
  writeBody(exchange: Exchange): void {
    const { body, id } = exchange;
    const out = this.#out;
    while (exchange.sentBytes < body.length) {
      const left = body.length - exchange.sentBytes;
      const count = Math.min(left, this.#window, exchange.sendWindow, payloadBytesMax);
      if (count <= 0) {
        this.#blocked.add(exchange);
        return;
      }
      out.reserve(frameHeaderBytes + count);
      writeFrameHeader(out, count, frameTypes.data, count === left ? frameFlags.endStream : 0, id);
      out.writeBytes(body, exchange.sentBytes, exchange.sentBytes + count);
      exchange.sentBytes += count;
      exchange.sendWindow -= count;
      this.#window -= count;
      this.bytesSent += count;
    }
    exchange.isSent = true;
    this.#blocked.delete(exchange);
  }

  /** Stops sending the rest of a request. */
  forget(exchange: Exchange): void {
    if (!exchange.isSent) this.#blocked.delete(exchange);
  }

  /** Widens the send window of one stream. Returns whether a waiting body could continue. */
  openStream(exchange: Exchange, bytes: number): boolean {
    exchange.sendWindow = widened(exchange.sendWindow, bytes);
    if (!this.#blocked.has(exchange)) return false;
    const before = exchange.sentBytes;
    this.writeBody(exchange);
    return exchange.sentBytes > before;
  }

  /** Widens the send window of the connection. Returns whether a waiting body could continue. */
  openConnection(bytes: number): boolean {
    this.#window = widened(this.#window, bytes);
    const before = this.#window;
    this.#resume();
    return this.#window < before;
  }

  /**
   * Applies a changed SETTINGS_INITIAL_WINDOW_SIZE. It also changes the windows of streams under
   * way, which may fall below 0 (RFC 9113 6.9.2).
   */
  resizeStreams(bytes: number, exchanges: Iterable<Exchange>): void {
    const change = bytes - this.streamWindow;
    this.streamWindow = bytes;
    for (const exchange of exchanges) exchange.sendWindow = widened(exchange.sendWindow, change);
    if (change > 0) this.#resume();
  }

  #resume(): void {
    for (const exchange of this.#blocked) {
      if (this.#window <= 0) return;
      if (exchange.sendWindow > 0) this.writeBody(exchange);
    }
  }
}

function widened(window: number, bytes: number): number {
  const wider = window + bytes;
  if (wider > streamIdMax) throw new ProtocolError(errorCodes.flowControlError, 'A window is over 2^31 - 1.');
  return wider;
}
