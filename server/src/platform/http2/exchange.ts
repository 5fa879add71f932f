// One request on its stream, until its one result: what is left to send, the answer as far as it came, the windows and the
// deadline. Writes nothing itself: the session does.
import { CappedBody, readText } from '../capped-body.ts';
import { type AnswerHeaders, answerBodyLimits } from '../outbound-http.ts';
import type { TransportError } from '../outbound-socket.ts';
import type { Http2Result } from './session.ts';
import { Deadline } from './timer-wheel.ts';

/** What a stream may receive in all (RFC 9113 6.9.2); we cancel an answer long before, and so never give it more. */
const receiveWindowBytes = 65_535;

export class Exchange extends Deadline {
  readonly id: number;
  readonly body: Buffer;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly #onResult: (result: Http2Result) => void;
  readonly #onTimeout: (exchange: Exchange) => void;
  /** Of the body. */
  sentBytes = 0;
  isSent = false;
  sendWindow: number;
  receiveWindow = receiveWindowBytes;
  /** Answers that the session had seen when this began. */
  readonly answersBefore: number;
  isSettled = false;
  #status = 0;
  #headers: AnswerHeaders = {};
  #answer: CappedBody | undefined;
  /** An answer that came in one piece. */
  #text: string | null = null;
  #answerBytes = 0;

  constructor(options: {
    readonly id: number;
    readonly body: Buffer;
    readonly sendWindow: number;
    readonly answersBefore: number;
    readonly startedAt: number;
    readonly onResult: (result: Http2Result) => void;
    readonly onTimeout: (exchange: Exchange) => void;
  }) {
    super();
    this.id = options.id;
    this.body = options.body;
    this.sendWindow = options.sendWindow;
    this.answersBefore = options.answersBefore;
    this.startedAt = options.startedAt;
    this.#onResult = options.onResult;
    this.#onTimeout = options.onTimeout;
  }

  /** The final headers are here. */
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
   * Takes a part of the answer's body; false when it is more than is read. The bytes belong to the reader: what is whole is read
   * at once, and all else copied.
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

  /** The peer has ended the stream: the answer is whole, unless it said that it would be longer or shorter. */
  complete(): void {
    this.#settleAnswer(this.#isCutAt(this.#answerBytes));
  }

  /** Was another length announced? */
  #isCutAt(bytes: number): boolean {
    const announced = this.#headers['content-length'];
    return announced !== undefined && Number(announced) !== bytes;
  }

  /** It is over: with the answer as far as it came, for once the status is known it counts, or without one for this reason. */
  end(reason: TransportError | 'refused'): void {
    if (this.isSettled) return;
    if (this.hasBegun) {
      this.#settleAnswer(true);
      return;
    }
    this.isSettled = true;
    const latencyMs = this.#latencyMs;
    if (reason === 'refused') this.#onResult({ refused: true, latencyMs });
    else this.#onResult({ transportError: reason, written: true, latencyMs });
  }

  get #latencyMs(): number {
    return performance.now() - this.startedAt;
  }

  #settleAnswer(isCut: boolean): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const answer = this.#answer;
    if (answer !== undefined && isCut) answer.isCut = true;
    this.#onResult({
      status: this.#status,
      headers: this.#headers,
      body: answer === undefined ? this.#text : answer.text(),
      truncated: answer?.isCut ?? isCut,
      latencyMs: this.#latencyMs,
    });
  }
}
