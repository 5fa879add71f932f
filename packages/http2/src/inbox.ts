// Reads the peer's frames, enforces the protocol's rules, and applies the frames to the requests
// under way. Throws a `ProtocolError` for frames that no honest peer sends; one place catches it.
// Holds at most one frame and one header block.
import { readAnswerFields } from './answer-fields.ts';
import {
  checkShape,
  connectionWindowBytes,
  headerListBytesMax,
  readContent,
  readSettings,
  writePing,
  writeSettingsAck,
  writeWindowUpdate,
} from './control-frames.ts';
import type { Exchange } from './exchange.ts';
import { FrameReader, frameFlags, frameTypes, readUint31, readUint32, streamIdMax } from './frames.ts';
import { HeaderBlock } from './header-block.ts';
import { HpackDecoder } from './hpack.ts';
import { tableSizeDefault } from './hpack-table.ts';
import { NoiseBudget } from './noise-budget.ts';
import type { Outbox } from './outbox.ts';
import type { Pings } from './pings.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';
import type { RequestWriter } from './request-writer.ts';
import type { StreamTable } from './stream-table.ts';

export interface InboxEvents {
  /** The stream is over. A complete answer was settled before. */
  end(exchange: Exchange, reason: 'reset' | 'refused'): void;
  /** The peer must be told that this stream is cancelled. */
  cancel(streamId: number, errorCode: number): void;
  /** SETTINGS arrived; undefined when they contain no limit of streams. */
  settings(maxConcurrentStreams: number | undefined): void;
  goaway(lastStreamId: number, errorCode: number): void;
}

export class Inbox {
  readonly #streams: StreamTable;
  readonly #requests: RequestWriter;
  readonly #pings: Pings;
  readonly #out: Outbox;
  readonly #events: InboxEvents;
  readonly #reader = new FrameReader((type, flags, id, bytes, start, end) =>
    this.#onFrame(type, flags, id, bytes, start, end),
  );
  readonly #decoder = new HpackDecoder({ tableSizeMax: tableSizeDefault, listSizeMax: headerListBytesMax });
  readonly #noise = new NoiseBudget();
  /** A header block whose end has not arrived; no other frame may come in between. */
  #block: HeaderBlock | undefined;
  #lastStreamId = streamIdMax;
  #receiveWindow = connectionWindowBytes;
  /** WINDOW_UPDATE frames that were counted as flow control and not as noise. */
  #windowsGivenBack = 0;
  #hasSettings = false;
  #awaitsSettingsAck = true;
  #isOver = false;
  /** The number of answers that have begun. */
  answers = 0;

  constructor(options: {
    readonly streams: StreamTable;
    readonly requests: RequestWriter;
    readonly pings: Pings;
    readonly out: Outbox;
    readonly events: InboxEvents;
  }) {
    this.#streams = options.streams;
    this.#requests = options.requests;
    this.#pings = options.pings;
    this.#out = options.out;
    this.#events = options.events;
  }

  /** Reads a chunk. Throws a `ProtocolError`, after which nothing more may be read. */
  read(chunk: Buffer): void {
    if (!this.#isOver) this.#reader.push(chunk);
  }

  /** Raises the peer's budget of noise, because each request justifies more frames. */
  noteRequest(): void {
    this.#noise.noteRequest();
  }

  /** Ignores everything that arrives from now on. */
  close(): void {
    this.#isOver = true;
  }

  #onFrame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isOver) return;
    if (!this.#hasSettings && (type !== frameTypes.settings || (flags & frameFlags.ack) !== 0)) {
      throw violation('The peer does not begin with SETTINGS.');
    }
    if (this.#block !== undefined && (type !== frameTypes.continuation || id !== this.#block.streamId)) {
      throw violation('A header block is interrupted.');
    }
    switch (type) {
      case frameTypes.headers:
        this.#onHeaders(flags, id, bytes, start, end);
        return;
      case frameTypes.data:
        this.#onDataFrame(flags, id, bytes, start, end);
        return;
      case frameTypes.windowUpdate:
        this.#onWindowUpdate(id, bytes, start, end);
        return;
      case frameTypes.continuation:
        this.#onContinuation(flags, bytes, start, end);
        return;
      case frameTypes.rstStream:
        checkShape(end - start, 4, id, false);
        this.#onReset(id, readUint32(bytes, start));
        return;
      case frameTypes.settings:
        this.#onSettings(flags, id, bytes, start, end);
        return;
      case frameTypes.ping:
        checkShape(end - start, 8, id, true);
        this.#onPing(flags, bytes, start);
        return;
      case frameTypes.goaway:
        this.#onGoaway(id, bytes, start, end);
        return;
      case frameTypes.pushPromise:
        throw violation('The peer pushes, which we have forbidden.');
      case frameTypes.priority:
        checkShape(end - start, 5, id, false);
        this.#spend(1);
        return;
      default:
        // A frame of an unknown extension (RFC 9113 5.5).
        this.#spend(1);
    }
  }

  #onHeaders(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    this.#checkOpened(id);
    const content = readContent(flags, bytes, start, end);
    const isEndOfStream = (flags & frameFlags.endStream) !== 0;
    if ((flags & frameFlags.endHeaders) !== 0) {
      this.#onBlock(id, isEndOfStream, bytes, content.start, content.end);
      return;
    }
    this.#block = new HeaderBlock(id, isEndOfStream);
    this.#block.push(bytes, content.start, content.end);
  }

  #onContinuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined) throw violation('A header block goes on that was not begun.');
    block.push(bytes, start, end);
    if ((flags & frameFlags.endHeaders) === 0) return;
    this.#block = undefined;
    const whole = block.whole();
    this.#onBlock(block.streamId, block.isEndOfStream, whole, 0, whole.length);
  }

  #onBlock(id: number, isEndOfStream: boolean, bytes: Buffer, start: number, end: number): void {
    // Decoded even for a finished stream, because every block changes the table for later ones.
    const fields = this.#decoder.decode(bytes, start, end);
    const exchange = this.#streams.get(id);
    if (exchange === undefined) {
      this.#spend(1);
      return;
    }
    if (exchange.hasBegun) {
      // Trailers: only the end of the answer matters.
      if (isEndOfStream) this.#onEndOfStream(exchange);
      else this.#reject(exchange);
      return;
    }
    const answer = readAnswerFields(fields);
    if (answer === undefined) {
      this.#reject(exchange);
      return;
    }
    if (answer.status < 200) {
      // HTTP/2 has no 101, and an informational answer cannot be the last (RFC 9113 8.6, 8.1).
      if (isEndOfStream || answer.status === 101) this.#reject(exchange);
      else this.#spend(1);
      return;
    }
    this.answers += 1;
    exchange.begin(answer.status, answer.headers);
    if (isEndOfStream) this.#onEndOfStream(exchange);
  }

  #onDataFrame(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    this.#checkOpened(id);
    const { start: from, end: to } = readContent(flags & ~frameFlags.priority, bytes, start, end);
    this.#receiveWindow -= end - start;
    if (this.#receiveWindow < 0) throw overrun();
    if (this.#receiveWindow < connectionWindowBytes / 2) {
      writeWindowUpdate(this.#out, connectionWindowBytes - this.#receiveWindow);
      this.#receiveWindow = connectionWindowBytes;
      this.#out.schedule();
    }
    const exchange = this.#streams.get(id);
    const isEndOfStream = (flags & frameFlags.endStream) !== 0;
    if (exchange === undefined || (from === to && !isEndOfStream)) this.#spend(1);
    if (exchange === undefined) return;
    if (!exchange.hasBegun) throw violation('A body comes before its headers.');
    exchange.receiveWindow -= end - start;
    if (exchange.receiveWindow < 0) throw overrun();
    if (!exchange.push(bytes, from, to, isEndOfStream)) {
      this.#events.end(exchange, 'reset');
      this.#events.cancel(id, errorCodes.cancel);
    } else if (isEndOfStream) this.#onEndOfStream(exchange);
  }

  #onEndOfStream(exchange: Exchange): void {
    exchange.complete();
    this.#events.end(exchange, 'reset');
    // The peer answered before it had the whole request and wants no more of it (RFC 9113 8.1).
    if (!exchange.isSent) this.#events.cancel(exchange.id, errorCodes.noError);
  }

  #onReset(id: number, errorCode: number): void {
    this.#checkOpened(id);
    this.#spend(1);
    const exchange = this.#streams.get(id);
    if (exchange !== undefined)
      this.#events.end(exchange, errorCode === errorCodes.refusedStream ? 'refused' : 'reset');
  }

  #onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    checkShape(end - start, 4, id, undefined);
    const increment = readUint31(bytes, start);
    if (increment === 0) throw violation('A window is opened by nothing.');
    if (id !== 0) this.#checkOpened(id);
    const exchange = this.#streams.get(id);
    const hasHelped =
      id === 0
        ? this.#requests.openConnection(increment)
        : exchange !== undefined && this.#requests.openStream(exchange, increment);
    if (hasHelped) this.#out.schedule();
    // A peer may return the window byte by byte, for the stream and for the connection. That is
    // slow but no flood, because a body has an end. A peer cannot return more than was sent.
    if (this.#windowsGivenBack < 2 * this.#requests.bytesSent) this.#windowsGivenBack += 1;
    else this.#spend(1);
  }

  #onSettings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if ((flags & frameFlags.ack) !== 0) {
      checkShape(end - start, 0, id, true);
      if (!this.#awaitsSettingsAck) throw violation('The peer accepts SETTINGS that were not sent.');
      this.#awaitsSettingsAck = false;
      return;
    }
    checkShape(0, 0, id, true);
    // Each setting costs work.
    this.#spend(1 + ((end - start) >> 6));
    const settings = readSettings(bytes, start, end);
    // The acknowledgement is written before any data that a larger window allows, because the peer
    // applies the settings only from here on (RFC 9113 6.5.3).
    writeSettingsAck(this.#out);
    this.#out.schedule();
    for (const size of settings.headerTableSizes) this.#requests.resizeTable(size);
    const { initialWindowSize, maxConcurrentStreams } = settings;
    if (initialWindowSize !== undefined) this.#requests.resizeStreams(initialWindowSize, this.#streams.list());
    this.#hasSettings = true;
    this.#events.settings(maxConcurrentStreams);
  }

  #onPing(flags: number, bytes: Buffer, start: number): void {
    this.#spend(1);
    if ((flags & frameFlags.ack) !== 0) this.#pings.answer(bytes, start);
    else {
      writePing(this.#out, frameFlags.ack, bytes, start);
      this.#out.schedule();
    }
  }

  #onGoaway(id: number, bytes: Buffer, start: number, end: number): void {
    checkShape(Math.min(end - start, 8), 8, id, true);
    this.#spend(1);
    const lastStreamId = readUint31(bytes, start);
    const errorCode = readUint32(bytes, start + 4);
    if (lastStreamId > this.#lastStreamId) throw violation('A goodbye takes back what it refused.');
    this.#lastStreamId = lastStreamId;
    this.#events.goaway(lastStreamId, errorCode);
  }

  /**
   * Throws for a frame on a stream that we have not opened, or that the peer would have to open
   * (RFC 9113 5.1).
   */
  #checkOpened(id: number): void {
    if (!this.#streams.hasOpened(id)) throw violation('A frame stands on a stream that was not opened.');
  }

  #spend(count: number): void {
    if (!this.#noise.spend(count)) throw new ProtocolError(errorCodes.enhanceYourCalm, 'The peer only makes noise.');
  }

  /** A malformed answer ends only its stream (RFC 9113 8.1.1). */
  #reject(exchange: Exchange): void {
    this.#events.end(exchange, 'reset');
    this.#events.cancel(exchange.id, errorCodes.protocolError);
  }
}

const violation = (message: string) => new ProtocolError(errorCodes.protocolError, message);

const overrun = () => new ProtocolError(errorCodes.flowControlError, 'The peer sends more than its window allows.');
