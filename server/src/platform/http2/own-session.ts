// The HTTP/2 session engine of our own: a client for many small requests with nearly the same headers (RFC 9113). Whatever
// the peer sends, each request ends once, memory stays bounded and nothing is thrown: what breaks the protocol ends the
// connection with a GOAWAY that says why.
import type { TLSSocket } from 'node:tls';
import { readAnswerFields } from './answer-fields.ts';
import {
  checkShape,
  connectionWindowBytes,
  headerListBytesMax,
  readContent,
  readSettings,
  writeGoaway,
  writePing,
  writePreface,
  writeReset,
  writeSettingsAck,
  writeWindowUpdate,
} from './control-frames.ts';
import { Exchange } from './exchange.ts';
import { FrameReader, frameFlags, frameTypes, readUint31, readUint32, streamIdMax } from './frames.ts';
import { HeaderBlock } from './header-block.ts';
import { HpackDecoder } from './hpack.ts';
import { tableSizeDefault } from './hpack-table.ts';
import { NoiseBudget } from './noise-budget.ts';
import { Outbox } from './outbox.ts';
import { Pings } from './pings.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';
import { RequestWriter } from './request-writer.ts';
import type { Http2Engine, Http2Request, Http2Result, Http2Session, Http2SessionEvents } from './session.ts';
import { StreamTable } from './stream-table.ts';
import { TimerWheel } from './timer-wheel.ts';

/** How long a connection that has said goodbye may take to write that before it is cut. */
const lingerMs = 1_000;

/** One for all sessions of the process. */
const wheel = new TimerWheel();

/** Promises what `Http2Session` says. After a GOAWAY with an error code the streams it covers still end with their own answers. */
export const ownEngine: Http2Engine = (socket, { streamsMax, events }) => new OwnSession(socket, streamsMax, events);

class OwnSession implements Http2Session {
  readonly #socket: TLSSocket;
  readonly #streamsCap: number;
  readonly #events: Http2SessionEvents;
  readonly #out: Outbox;
  readonly #requests: RequestWriter;
  readonly #decoder = new HpackDecoder({ tableSizeMax: tableSizeDefault, listSizeMax: headerListBytesMax });
  readonly #noise = new NoiseBudget();
  readonly #streams: StreamTable;
  readonly #pings: Pings;
  /** Headers whose end has not come: no other frame may stand between. */
  #block: HeaderBlock | undefined;
  /** The first stream of which nothing has left yet. */
  #unsentFrom = 1;
  #lastStreamId = streamIdMax;
  #receiveWindow = connectionWindowBytes;
  #answers = 0;
  #isReady = false;
  #awaitsSettingsAck = true;
  #hasNewCapacity = false;
  /** Our goodbye is written: what still comes is not read. */
  #hasHungUp = false;
  #isClosed = false;
  #error: unknown;
  isDraining = false;
  streamsMax = 0;

  readonly #onTimeout = (exchange: Exchange): void => {
    this.#finish(exchange, 'timeout');
    this.#cancel(exchange.id, errorCodes.cancel);
    // Nothing at all came back in that time: the connection may be dead without our knowing (NAT, firewall).
    if (this.#answers === exchange.answersBefore) this.drain();
    this.#settle();
  };

  constructor(socket: TLSSocket, streamsCap: number, events: Http2SessionEvents) {
    this.#socket = socket;
    this.#streamsCap = streamsCap;
    this.#events = events;
    this.#streams = new StreamTable(streamsCap);
    this.#out = new Outbox(socket, () => {
      this.#unsentFrom = this.#streams.nextId;
    });
    this.#requests = new RequestWriter(this.#out);
    this.#pings = new Pings(this.#out, wheel);
    const reader = new FrameReader((...frame) => this.#onFrame(...frame));
    socket.on('data', (chunk: Buffer) => this.#onData(reader, chunk));
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.once('end', () => socket.destroy());
    socket.once('close', () => this.#close());
    writePreface(this.#out);
    this.#out.flush();
  }

  get inFlight(): number {
    return this.#streams.size;
  }

  request(request: Http2Request): Promise<Http2Result> {
    return new Promise((resolve) => {
      // Began to close in this very turn: nothing was sent.
      if (this.isDraining) {
        resolve({ refused: true, latencyMs: 0 });
        return;
      }
      const id = this.#streams.nextId;
      const exchange = new Exchange({
        id,
        request,
        sendWindow: this.#requests.streamWindow,
        answersBefore: this.#answers,
        resolve,
        onTimeout: this.#onTimeout,
      });
      this.#streams.add(exchange);
      wheel.add(exchange, request.timeoutMs);
      this.#noise.noteRequest();
      this.#requests.writeHeaders(id, request);
      this.#requests.writeBody(exchange);
      this.#out.schedule();
      // There are no further numbers (RFC 9113 5.1.1).
      if (this.#streams.isExhausted) this.drain();
    });
  }

  ping(timeoutMs: number): Promise<boolean> {
    return this.#isClosed || this.#hasHungUp ? Promise.resolve(false) : this.#pings.ask(timeoutMs);
  }

  drain(): void {
    this.#stopTaking(undefined);
  }

  destroy(): void {
    this.isDraining = true;
    this.#socket.destroy();
    this.#close();
  }

  #onData(reader: FrameReader, chunk: Buffer): void {
    if (this.#hasHungUp) return;
    try {
      reader.push(chunk);
    } catch (error) {
      this.#fail(error);
    }
    this.#settle();
  }

  #onFrame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (this.#hasHungUp || this.#isClosed) return;
    if (!this.#isReady && (type !== frameTypes.settings || (flags & frameFlags.ack) !== 0)) {
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
        // Of an extension that we do not know (RFC 9113 5.5).
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
    // Also for a stream that is gone: the table that later blocks need changes with each.
    const fields = this.#decoder.decode(bytes, start, end);
    const exchange = this.#streams.get(id);
    if (exchange === undefined) {
      this.#spend(1);
      return;
    }
    if (exchange.hasBegun) {
      // Trailers: nothing in them concerns us but that the answer ends.
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
      // HTTP/2 has no 101, and an informational answer is not the last (RFC 9113 8.6, 8.1).
      if (isEndOfStream || answer.status === 101) this.#reject(exchange);
      else this.#spend(1);
      return;
    }
    this.#answers += 1;
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
    if (!exchange.push(bytes, from, to)) {
      this.#finish(exchange, 'reset');
      this.#cancel(id, errorCodes.cancel);
    } else if (isEndOfStream) this.#onEndOfStream(exchange);
  }

  #onEndOfStream(exchange: Exchange): void {
    exchange.complete();
    this.#finish(exchange, 'reset');
    // Answered before it had all of the request: it wants no more of it (RFC 9113 8.1).
    if (!exchange.isSent) this.#cancel(exchange.id, errorCodes.noError);
  }

  #onReset(id: number, errorCode: number): void {
    this.#checkOpened(id);
    this.#spend(1);
    const exchange = this.#streams.get(id);
    if (exchange !== undefined) this.#finish(exchange, errorCode === errorCodes.refusedStream ? 'refused' : 'reset');
  }

  #onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    checkShape(end - start, 4, id, undefined);
    const increment = readUint31(bytes, start);
    if (increment === 0) throw violation('A window is opened by nothing.');
    this.#spend(1);
    if (id === 0) this.#requests.openConnection(increment);
    else {
      this.#checkOpened(id);
      const exchange = this.#streams.get(id);
      if (exchange !== undefined) this.#requests.openStream(exchange, increment);
    }
    this.#out.schedule();
  }

  #onSettings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if ((flags & frameFlags.ack) !== 0) {
      checkShape(end - start, 0, id, true);
      if (!this.#awaitsSettingsAck) throw violation('The peer accepts SETTINGS that were not sent.');
      this.#awaitsSettingsAck = false;
      return;
    }
    checkShape(0, 0, id, true);
    // Every one of them is work.
    this.#spend(1 + ((end - start) >> 6));
    const settings = readSettings(bytes, start, end);
    for (const size of settings.headerTableSizes) this.#requests.resizeTable(size);
    const { initialWindowSize, maxConcurrentStreams } = settings;
    if (initialWindowSize !== undefined) this.#requests.resizeStreams(initialWindowSize, this.#streams.list());
    writeSettingsAck(this.#out);
    this.#out.schedule();
    if (maxConcurrentStreams !== undefined || !this.#isReady) {
      this.streamsMax = Math.min(maxConcurrentStreams ?? Number.POSITIVE_INFINITY, this.#streamsCap);
      this.#hasNewCapacity = true;
    }
    if (this.#isReady) return;
    this.#isReady = true;
    if (!this.isDraining) this.#events.onReady();
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
    // First, so that what is refused now is not handed over here again.
    this.#beginDrain(
      errorCode === errorCodes.noError ? undefined : new Error(`The peer said goodbye with code ${errorCode}.`),
    );
    for (const exchange of this.#streams.list()) {
      if (exchange.id > lastStreamId) this.#finish(exchange, 'refused');
    }
  }

  /** A frame for a stream that we have not opened, or that the peer would have to open, is out of order (RFC 9113 5.1). */
  #checkOpened(id: number): void {
    if (!this.#streams.hasOpened(id)) throw violation('A frame stands on a stream that was not opened.');
  }

  #spend(count: number): void {
    if (!this.#noise.spend(count)) throw new ProtocolError(errorCodes.enhanceYourCalm, 'The peer only makes noise.');
  }

  /** Its answer is malformed: this stream ends, and no other (RFC 9113 8.1.1). */
  #reject(exchange: Exchange): void {
    this.#finish(exchange, 'reset');
    this.#cancel(exchange.id, errorCodes.protocolError);
  }

  #finish(exchange: Exchange, reason: 'timeout' | 'reset' | 'refused'): void {
    this.#streams.delete(exchange);
    wheel.remove(exchange);
    this.#requests.forget(exchange);
    exchange.end(reason);
    this.#hasNewCapacity = true;
  }

  #cancel(id: number, errorCode: number): void {
    writeReset(this.#out, id, errorCode);
    this.#out.schedule();
  }

  #stopTaking(error: unknown): void {
    this.#beginDrain(error);
    this.#settle();
  }

  #beginDrain(error: unknown): void {
    if (this.isDraining) return;
    this.isDraining = true;
    if (this.#isReady) this.#events.onDrain(error);
  }

  /** After anything that may have ended a stream: tells it once, and ends a connection that has nothing left to do. */
  #settle(): void {
    if (this.isDraining && this.#streams.size === 0) this.#hangUp(errorCodes.noError);
    if (!this.#hasNewCapacity || !this.#isReady) return;
    this.#hasNewCapacity = false;
    this.#events.onCapacity();
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.isDraining = true;
    this.#hangUp(error instanceof ProtocolError ? error.errorCode : errorCodes.internalError);
    this.#failAll();
  }

  #hangUp(errorCode: number): void {
    if (this.#hasHungUp || this.#isClosed) return;
    this.#hasHungUp = true;
    writeGoaway(this.#out, errorCode);
    this.#out.flush();
    const socket = this.#socket;
    socket.end(() => socket.destroy());
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  /** What has not left us is as good as refused: it may be sent elsewhere. */
  #failAll(): void {
    for (const exchange of this.#streams.list()) {
      this.#finish(exchange, exchange.id >= this.#unsentFrom ? 'refused' : 'reset');
    }
    this.#pings.close();
  }

  /** The connection is gone. */
  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A peer that goes without a word leaves requests, or a pool that was waiting for it, behind.
    if (!this.isDraining && (this.inFlight > 0 || !this.#isReady)) {
      this.#error ??= new Error('The peer closed the connection.');
    }
    this.isDraining = true;
    this.#failAll();
    this.#hasNewCapacity = false;
    this.#events.onClose(this.#error);
  }
}

const violation = (message: string) => new ProtocolError(errorCodes.protocolError, message);

const overrun = () => new ProtocolError(errorCodes.flowControlError, 'The peer sends more than its window allows.');
