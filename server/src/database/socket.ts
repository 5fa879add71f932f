// A connection to PostgreSQL that cannot be dead without notice; the driver sees a socket. The
// driver waits for an answer without limit. This socket knows which answers the server owes and
// ends the connection when one is overdue. The socket fails and closes at one instant,
// because the driver handles the time between error and close wrongly:
// - a statement that it sends in between is never answered;
// - the server's last error is kept and given to the first user of the next connection;
// - unwritten bytes stay, and the next connection waits for a timer that was cancelled.
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
} from './protocol.ts';
import { secure, type TlsSettings } from './tls.ts';

/**
 * The connection is lost, and with it every unanswered statement. `code` is the server's, the
 * system's or one of ours.
 */
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
  /** Milliseconds within which a statement must be answered; 0: no limit. */
  readonly answerMsMax: number;
  /**
   * Milliseconds within which a BEGIN and a sign of life must be answered, because nothing delays a
   * server's answer to them.
   */
  readonly promptMsMax: number;
  /**
   * Milliseconds of silence after which a connection must give a sign of life before it is trusted
   * with a statement that may take long.
   */
  readonly silentMsMax: number;
}

/**
 * Milliseconds. The kernel finds a dead peer of an idle connection after this time and ten probes,
 * one a second.
 */
const keepAliveMs = 10_000;
/** Milliseconds. A server closes its end at once after the driver's goodbye. */
const farewellMs = 1000;

/** Milliseconds. A statement with at most this limit is cheap to repeat. */
const shortMs = 10_000;

/** All connections of this process, in every pool. */
const all = new Set<DatabaseSocket>();

export class DatabaseSocket extends Duplex {
  readonly #options: DatabaseSocketOptions;
  readonly #questions = new OpenQuestions();
  readonly #messages = new ServerMessages();
  #inner: Socket | undefined;
  #isConnected = false;
  #isStarted = false;
  /** True once the server has accepted the session. */
  #isReady = false;
  /** The time since which the oldest question waits, by `performance.now()`. */
  #waitsSince = 0;
  #heardAt = 0;
  /** Set while a sign of life is awaited: the bytes that arrived meanwhile. */
  #awaited: Buffer | undefined;
  #isLost = false;
  #held: (() => void) | undefined;
  // The driver's error messages name these.
  host: string;
  port: number;

  /** `turn`: the index of the host that is tried first. */
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

  /** The same as of a `net.Socket`; the driver reads it before its goodbye. */
  get readyState(): 'open' | 'readOnly' | 'closed' {
    if (this.#isLost) return 'closed';
    return this.writableEnded ? 'readOnly' : 'open';
  }

  /** Ends the connection when an answer is overdue. */
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

  // All connections share the network path. A connection to the same server that heard nothing
  // since then is closed now, so that its next user need not wait to find out. One that waits for a
  // statement with a long limit goes on waiting.
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
      // Under TLS nobody else listens for this socket's errors.
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
    // A connection that ends before it is ready was refused: the server starts or is full, or a
    // proxy has no server behind it.
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
      // The first ReadyForQuery accepts the session and answers no question.
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
    // The socket's own error event reports a failed write.
    this.#inner?.write(chunk, () => done());
  }

  // Sent together with the statement, so that it costs no time. The driver never sees the answer.
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

  // The driver gets the error and the close in the same turn, so that nothing can send a statement
  // in between.
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
  /** Connections that are open or being opened. */
  readonly count: number;
  /** True once a server has accepted a session. */
  readonly hadOne: boolean;
  /** Resolves when no connection is left. */
  whenNone(): Promise<void>;
}

/** Milliseconds between two checks of answers. A limit is exceeded by no more than this. */
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
