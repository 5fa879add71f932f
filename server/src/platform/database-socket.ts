// A connection to PostgreSQL that cannot be silently dead, as the driver sees it: a socket. The driver waits for an answer as
// long as it takes; this knows what the server owes and ends the connection when it is overdue. And it is lost at one
// instant, for the driver loses track of what it is asked between a connection's error and its end:
// - a statement it puts on the connection then is never answered;
// - the server's last word is kept, and told to whoever uses the next connection first;
// - bytes that were about to be written stay, and the next connection waits for a timer that was canceled with this one.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import {
  type ErrorFields,
  OpenQuestions,
  ServerMessages,
  signOfLifeRequest,
  startOfStartup,
  withoutSignOfLife,
} from './database-protocol.ts';
import { secure, type TlsSettings } from './database-tls.ts';

/** The connection is gone, whatever had been asked of it; `code` is the server's, the system's or one of ours. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code: string;
  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface DatabasePlace {
  /** Hosts and their ports, tried in turn. */
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** A unix socket, in place of host and port. */
  readonly path?: string | false | undefined;
}

export interface DatabaseSocketOptions {
  readonly tls: TlsSettings;
  /** A statement is answered by then; 0: it may take as long as it takes. */
  readonly answerMsMax: number;
  /** What nothing keeps a server from answering is answered by then: a BEGIN, and a sign of life. */
  readonly promptMsMax: number;
  /** A connection that was silent for longer gives a sign of life before it is trusted with a statement that may take long. */
  readonly silentMsMax: number;
}

/** An idle connection whose other end is gone is found after this and ten probes, one a second. */
const keepAliveMs = 10_000;
/** A server closes its end at once when the driver says goodbye. */
const farewellMs = 1000;

/** Statements of at most so long are cheap to repeat. */
const shortMs = 10_000;

/** All connections of this process, of whichever pool. */
const all = new Set<DatabaseSocket>();

export class DatabaseSocket extends Duplex {
  readonly #options: DatabaseSocketOptions;
  readonly #questions = new OpenQuestions();
  readonly #messages = new ServerMessages();
  #inner: Socket | undefined;
  #isConnected = false;
  #isStarted = false;
  /** The server has let us in. */
  #isReady = false;
  /** Since when the oldest question waits, by `performance.now()`. */
  #waitsSince = 0;
  #heardAt = 0;
  /** A sign of life was asked for; what was heard since, until it comes. */
  #awaited: Buffer | undefined;
  #isLost = false;
  #held: (() => void) | undefined;
  // For the driver's error messages.
  host: string;
  port: number;

  /** `turn`: which host is tried first. */
  constructor(place: DatabasePlace, turn: number, options: DatabaseSocketOptions) {
    super({ allowHalfOpen: true, emitClose: false, autoDestroy: false });
    this.#options = options;
    this.host = place.host[0] ?? 'localhost';
    this.port = place.port[0] ?? 5432;
    void this.#connect(place, turn);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** As of a `net.Socket`: what the driver asks before it says goodbye. */
  get readyState(): 'open' | 'readOnly' | 'closed' {
    if (this.#isLost) return 'closed';
    return this.writableEnded ? 'readOnly' : 'open';
  }

  /** Ends the connection where an answer is overdue. */
  checkAnswers(): void {
    if (this.#questions.count === 0) return;
    const { answerMsMax, promptMsMax } = this.#options;
    const limitMs = this.#questions.isPrompt ? promptMsMax : answerMsMax || Number.POSITIVE_INFINITY;
    const waitedMs = performance.now() - this.#waitsSince;
    if (waitedMs > limitMs) {
      this.#lose(new ConnectionLostError('CONNECTION_UNANSWERED', `no answer within ${Math.round(waitedMs)} ms`));
      for (const other of all) other.#suspect(this, this.#waitsSince);
    }
  }

  // The way is the same for all: whoever has heard nothing since is made anew, and need not find out when it is used next. One
  // that waits for a statement which may take long goes on waiting.
  #suspect({ host, port }: DatabaseSocket, since: number): void {
    const isSameWay = this.host === host && this.port === port;
    if (!isSameWay || !this.#isReady || this.#heardAt > since) return;
    const { answerMsMax, promptMsMax } = this.#options;
    const isPatient = answerMsMax === 0 || answerMsMax > shortMs;
    const waitedMs = performance.now() - this.#waitsSince;
    if (this.#questions.count > 0 && (isPatient || waitedMs < promptMsMax)) return;
    this.#lose(new ConnectionLostError('CONNECTION_UNANSWERED', 'silent since another found its connection dead'));
  }

  async #connect({ host, port, path }: DatabasePlace, turn: number): Promise<void> {
    for (let tried = 0; tried < host.length; tried++) {
      const at = (turn + tried) % host.length;
      this.host = host[at] ?? 'localhost';
      this.port = port[at] ?? 5432;
      const raw = path ? connect(path) : connect({ host: this.host, port: this.port });
      this.#inner = raw;
      // Beneath TLS nobody else listens for it.
      raw.on('error', () => undefined);
      try {
        await once(raw, 'connect');
        raw.setKeepAlive(true, keepAliveMs);
        raw.setNoDelay(true);
        const socket = this.#options.tls.mode ? await secure(raw, this.host, this.#options.tls) : raw;
        if (this.#isLost) return void socket.destroy();
        this.#begin(socket);
        return;
      } catch (error) {
        raw.destroy();
        if (this.#isLost || tried === host.length - 1) return this.#lose(asLost(error));
      }
    }
  }

  #begin(socket: Socket): void {
    this.#inner = socket;
    this.#isConnected = true;
    socket.on('data', (chunk: Buffer) => this.#hear(chunk));
    socket.on('error', (error) => this.#lose(asLost(error)));
    // A connection that ends before it is ready was refused: the server starts, is full, or a proxy stands there alone.
    const refused = new ConnectionLostError('CONNECTION_REFUSED', 'the connection was ended before it was ready');
    socket.on('end', () => this.#lose(this.#isReady ? undefined : refused));
    socket.on('close', () => this.#lose(this.#isReady ? undefined : refused));
    this.#held?.();
    this.#held = undefined;
    socket.resume();
  }

  #hear(heard: Buffer): void {
    this.#heardAt = performance.now();
    let chunk = heard;
    if (this.#awaited) {
      const rest = withoutSignOfLife(Buffer.concat([this.#awaited, heard]));
      if (!rest) {
        this.#awaited = Buffer.concat([this.#awaited, heard]);
        return;
      }
      this.#awaited = undefined;
      this.#questions.noteAnswered();
      this.#waitsSince = this.#heardAt;
      chunk = rest;
    }
    const { answers, goodbye } = this.#messages.hear(chunk);
    for (let i = 0; i < answers; i++) {
      // The first says that we are let in, and answers nothing.
      if (this.#isReady) this.#questions.noteAnswered();
      this.#isReady = true;
      this.#waitsSince = performance.now();
    }
    const passed = goodbye ? chunk.subarray(0, goodbye.at) : chunk;
    if (passed.length > 0 && !this.push(passed)) this.#inner?.pause();
    if (goodbye) this.#lose(asGoodbye(goodbye.fields));
  }

  override _read(): void {
    if (this.#isConnected) this.#inner?.resume();
  }

  override _write(given: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#isLost) {
      done();
      return;
    }
    if (!this.#isConnected) {
      this.#held = () => this._write(given, _encoding, done);
      return;
    }
    let chunk = given;
    if (this.#isReady) {
      if (this.#questions.count === 0) this.#askForLife();
      this.#questions.noteSent(chunk);
    } else if (!this.#isStarted) {
      chunk = chunk.subarray(startOfStartup(chunk));
      this.#isStarted = true;
    }
    // A failed write is told by the socket's own error.
    this.#inner?.write(chunk, () => done());
  }

  // Sent with the statement, so that it costs no time; the driver never sees its answer.
  #askForLife(): void {
    const now = performance.now();
    this.#waitsSince = now;
    if (now - this.#heardAt < this.#options.silentMsMax) return;
    this.#awaited = Buffer.alloc(0);
    this.#questions.noteSignOfLifeAsked();
    this.#inner?.write(signOfLifeRequest);
  }

  override _final(done: () => void): void {
    this.#inner?.end();
    setTimeout(() => this.#lose(), farewellMs).unref();
    done();
  }

  override _destroy(_error: Error | null, done: () => void): void {
    this.#lose();
    done();
  }

  // The driver hears of the error and of the end in one breath: nobody can ask it anything in between.
  #lose(error?: ConnectionLostError): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#held = undefined;
    this.#inner?.destroy();
    if (error) this.emit('error', error);
    this.emit('close', error !== undefined);
    this.destroy();
  }
}

function asLost(error: unknown): ConnectionLostError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new ConnectionLostError(code ?? 'CONNECTION_REFUSED', message, error);
}

function asGoodbye(fields: ErrorFields): ConnectionLostError {
  return new ConnectionLostError(
    fields['C'] ?? 'CONNECTION_CLOSED',
    fields['M'] ?? 'the database ended the connection',
  );
}

export interface DatabaseSockets {
  /** For the driver's option `socket`. */
  readonly open: (place: DatabasePlace) => Duplex;
  /** Connections that are made or being made. */
  readonly count: number;
  /** A server has let us in once. */
  readonly hadOne: boolean;
  /** Resolves when there is none left. */
  whenNone(): Promise<void>;
}

/** How often answers are checked: a limit is exceeded by no more than this. */
const checkEveryMsMax = 500;

/** The connections of one pool. */
export function createDatabaseSockets(options: DatabaseSocketOptions): DatabaseSockets {
  const open = new Set<DatabaseSocket>();
  let waiting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let turn = 0;
  let hadOne = false;
  const checkEveryMs = Math.min(checkEveryMsMax, options.promptMsMax / 4);

  const settle = (): void => {
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  return {
    open(place) {
      const socket = new DatabaseSocket(place, turn++, options);
      open.add(socket);
      all.add(socket);
      socket.on('close', () => {
        hadOne ||= socket.isReady;
        open.delete(socket);
        all.delete(socket);
        settle();
      });
      timer ??= setInterval(() => {
        for (const each of open) each.checkAnswers();
      }, checkEveryMs).unref();
      return socket;
    },
    get count() {
      return open.size;
    },
    get hadOne() {
      hadOne ||= [...open].some((socket) => socket.isReady);
      return hadOne;
    },
    whenNone: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        settle();
      }),
  };
}
