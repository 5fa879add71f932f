// One request on its stream until its one result: the rest to send, the answer so far, the windows
// and the deadline. Writes nothing itself; the session does.
import { CappedBody, readText } from './capped-body.ts';
import { type AnswerHeaders, answerBodyLimits, type TransportError } from './result.ts';
import type { Asker } from './session.ts';
import { Deadline } from './timer-wheel.ts';

/**
 * Bytes that a stream may receive in all (RFC 9113 6.9.2). The window is never raised, because an
 * answer is cancelled long before.
 */
const receiveWindowBytes = 65_535;

const noHeaders: AnswerHeaders = Object.freeze({});

export class Exchange extends Deadline {
  readonly id: number;
  readonly body: Buffer;
  /** The start, by `performance.now()`. */
  readonly startedAt: number;
  readonly #asker: Asker;
  readonly #onTimeout: (exchange: Exchange) => void;
  /** Bytes of the body that were sent. */
  sentBytes = 0;
  isSent = false;
  sendWindow: number;
  receiveWindow = receiveWindowBytes;
  /** Answers that the session had received when this request began. */
  readonly answersBefore: number;
  isSettled = false;
  #status = 0;
  #headers: AnswerHeaders = noHeaders;
  #answer: CappedBody | undefined;
  /** The body of an answer that came in one piece. */
  #text: string | null = null;
  #answerBytes = 0;

  constructor(options: {
    readonly id: number;
    readonly body: Buffer;
    readonly sendWindow: number;
    readonly answersBefore: number;
    readonly startedAt: number;
    readonly asker: Asker;
    readonly onTimeout: (exchange: Exchange) => void;
  }) {
    super();
    this.id = options.id;
    this.body = options.body;
    this.sendWindow = options.sendWindow;
    this.answersBefore = options.answersBefore;
    this.startedAt = options.startedAt;
    this.#asker = options.asker;
    this.#onTimeout = options.onTimeout;
  }

  /** True when the final headers have arrived. */
  get hasBegun(): boolean {
    return this.#status > 0;
  }

  override onDue(): void {
    this.#onTimeout(this);
  }

  begin(status: number, headers: AnswerHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  /**
   * Takes a part of the answer's body; returns false when the body exceeds the limit. The bytes
   * belong to the reader, so a complete body is read at once and any other part is copied.
   */
  push(bytes: Buffer, start: number, end: number, isLast: boolean): boolean {
    if (end === start) return true;
    this.#answerBytes += end - start;
    const isWhole = isLast && this.#answer === undefined && !this.#isCutAt(end - start);
    if (isWhole && end - start <= answerBodyLimits.keepMax) {
      this.#text = readText(bytes, start, end);
      return true;
    }
    this.#answer ??= new CappedBody(answerBodyLimits);
    return this.#answer.push(Buffer.from(bytes.subarray(start, end)));
  }

  /**
   * Settles when the peer has ended the stream: the answer is complete, unless its length differs
   * from the announced one.
   */
  complete(): void {
    this.#settleAnswer(this.#isCutAt(this.#answerBytes));
  }

  /** Returns whether another length was announced. */
  #isCutAt(bytes: number): boolean {
    const announced = this.#headers['content-length'];
    return announced !== undefined && Number(announced) !== bytes;
  }

  /**
   * Ends the request: with the answer so far, because a known status counts, or without an answer
   * for this reason.
   */
  end(reason: TransportError | 'refused'): void {
    if (this.isSettled) return;
    if (this.hasBegun) {
      this.#settleAnswer(true);
      return;
    }
    this.isSettled = true;
    const latencyMs = this.#latencyMs;
    if (reason === 'refused') this.#asker.onResult({ refused: true, latencyMs });
    else this.#asker.onResult({ transportError: reason, written: true, latencyMs });
  }

  get #latencyMs(): number {
    return performance.now() - this.startedAt;
  }

  #settleAnswer(isCut: boolean): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const answer = this.#answer;
    if (answer !== undefined && isCut) answer.isCut = true;
    this.#asker.onResult({
      status: this.#status,
      headers: this.#headers,
      body: answer === undefined ? this.#text : answer.text(),
      truncated: answer?.isCut ?? isCut,
      latencyMs: this.#latencyMs,
    });
  }
}
