// The log: the last requests in full, and counts of all. On demand it also keeps one short line per
// request, the history that a checker compares with the sender's claims. Memory is bounded unless
// the history is kept in it.
import { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import type { PushRequest, Reception } from './provider.ts';
import type { SenderName } from './senders.ts';
import type { Answer } from './vendors/vendor.ts';

/** One request and its result. */
export interface PushRecord extends Omit<Reception, 'answer'> {
  /** 1, 2, 3 …, in the order in which requests were complete. */
  readonly id: number;
  readonly request: PushRequest;
  /** The answer that was sent; null when there was none. */
  readonly answer: Answer | null;
  /** The id of the rule that interfered. */
  readonly fault: string | null;
}

/**
 * Token, milliseconds since the epoch, status (0: not answered), and Topic or collapse id. A
 * request that was read has details.
 */
export type HistoryEntry = readonly [token: string, at: number, status: number, topic: string, ...HistoryDetails];

/**
 * The values that a repeated push must repeat (`apns-id`, tag, and title as the person sees it),
 * the connection, the id of the rule that interfered (empty for none), and when the answer was sent.
 */
type HistoryDetails =
  | []
  | readonly [apnsId: string, tag: string, title: string, connectionId: number, fault: string, answeredAt: number];

export interface Counters {
  readonly requests: number;
  readonly accepted: number;
  readonly delivered: number;
  readonly refused: number;
  readonly unanswered: number;
  readonly faulted: number;
  readonly undecryptable: number;
  /**
   * Requests for access tokens at Google's endpoint. They are no pushes and appear in no other
   * count.
   */
  readonly tokenRequests: number;
  /** Connections that opened more streams than allowed. */
  readonly streamsExceeded: number;
  /** Connections opened since the start. */
  readonly connections: { readonly h2: number; readonly http1: number };
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byVendor: Readonly<Record<string, number>>;
}

export class PushLog {
  readonly #entriesMax: number;
  readonly #isHistoryKept: boolean;
  readonly #historyFile: Writable | null;
  readonly #emitter = new EventEmitter<{ record: [PushRecord]; clear: [] }>().setMaxListeners(0);
  #records: PushRecord[] = [];
  #history: HistoryEntry[] = [];
  #lastId = 0;
  #counts = emptyCounts();
  readonly #connections = { h2: 0, http1: 0 };

  /** `historyFile` receives the history as it happens. */
  constructor(entriesMax: number, isHistoryKept: boolean, historyFile: Writable | null = null) {
    this.#entriesMax = entriesMax;
    this.#isHistoryKept = isHistoryKept;
    this.#historyFile = historyFile;
  }

  /** The last requests, oldest first. */
  get requests(): readonly PushRecord[] {
    return this.#records;
  }

  get history(): readonly HistoryEntry[] {
    return this.#history;
  }

  /** Adds a request to the log at once, and to the history when it is `answered`. */
  add(
    reception: Reception,
    request: PushRequest,
    answer: Answer | null,
    fault: string | null,
    answered?: Promise<void>,
  ): PushRecord {
    this.#lastId += 1;
    const record: PushRecord = { ...reception, id: this.#lastId, request, answer, fault };
    this.#records.push(record);
    // Old records are removed in blocks, so that a full log does not move its whole array at every
    // request.
    if (this.#records.length >= this.#entriesMax * 1.25) this.#records = this.#records.slice(-this.#entriesMax);
    if (record.service === 'oauth') {
      this.#counts.tokenRequests += 1;
      this.#emitter.emit('record', record);
      return record;
    }
    this.count(record.vendor, answer?.status ?? 0, fault !== null);
    if (record.isDelivered) this.#counts.delivered += 1;
    const isAccepted = answer !== null && answer.status < 300;
    if (isAccepted && record.checks.some((check) => check.name === 'decryption' && check.verdict === 'fail')) {
      this.#counts.undecryptable += 1;
    }
    const { tag, title } = record.notification ?? { tag: null, title: '' };
    const remember = (answeredAt: number): void =>
      this.remember([
        record.token,
        request.at,
        answer?.status ?? 0,
        topicOf(request),
        String(request.headers['apns-id'] ?? ''),
        tag ?? '',
        title,
        request.connectionId,
        fault ?? '',
        answeredAt,
      ]);
    if (answered === undefined) remember(request.at);
    else void answered.then(() => remember(Date.now()));
    this.#emitter.emit('record', record);
    return record;
  }

  /**
   * Counts one request without keeping it. Status 0: not answered. Vendor null: the request was not
   * read.
   */
  count(vendor: SenderName | null, status: number, isFaulted: boolean): void {
    const counts = this.#counts;
    counts.requests += 1;
    if (isFaulted) counts.faulted += 1;
    if (status === 0) counts.unanswered += 1;
    else {
      if (status < 300) counts.accepted += 1;
      else counts.refused += 1;
      counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
    }
    if (vendor !== null) counts.byVendor[vendor] = (counts.byVendor[vendor] ?? 0) + 1;
  }

  /** Adds a line to the history if one is kept or written. */
  remember(entry: HistoryEntry): void {
    if (this.#isHistoryKept) this.#history.push(entry);
    this.#historyFile?.write(`${JSON.stringify(entry)}\n`);
  }

  countStreamsExceeded(): void {
    this.#counts.streamsExceeded += 1;
  }

  countConnection(protocol: 'h2' | 'http1'): void {
    this.#connections[protocol] += 1;
  }

  counters(): Counters {
    const { byStatus, byVendor, ...counts } = this.#counts;
    return { ...counts, connections: { ...this.#connections }, byStatus: { ...byStatus }, byVendor: { ...byVendor } };
  }

  /** Deletes records, history and counts. Ids continue. */
  clear(): void {
    this.#records = [];
    this.#history = [];
    this.#counts = emptyCounts();
    this.#emitter.emit('clear');
  }

  /** Calls back at every request from now on. Returns a function that stops this. */
  subscribe(onRecord: (record: PushRecord) => void, onClear: () => void = () => {}): () => void {
    this.#emitter.on('record', onRecord);
    this.#emitter.on('clear', onClear);
    return () => {
      this.#emitter.off('record', onRecord);
      this.#emitter.off('clear', onClear);
    };
  }

  /**
   * The first request with an id above `after`, past or future, that `predicate` accepts. Rejects
   * after `timeoutMs` with a sentence about the requests that came instead.
   */
  waitFor(
    predicate: (record: PushRecord) => boolean,
    { timeoutMs = 10_000, after = 0 }: { timeoutMs?: number; after?: number } = {},
  ): Promise<PushRecord> {
    const past = this.#records.find((record) => record.id > after && predicate(record));
    if (past !== undefined) return Promise.resolve(past);
    return new Promise((resolve, reject) => {
      const stop = this.subscribe((record) => {
        if (!predicate(record)) return;
        stop();
        clearTimeout(timer);
        resolve(record);
      });
      const timer = setTimeout(() => {
        stop();
        const seen = this.#records.filter((record) => record.id > after).map(describe);
        reject(new Error(`no such push within ${timeoutMs} ms; seen: ${seen.slice(-10).join(', ') || 'none'}`));
      }, timeoutMs);
    });
  }
}

/** The key by which an undelivered push is replaced: a browser's Topic, an iPhone's collapse id. */
function topicOf({ headers }: PushRequest): string {
  return String(headers['topic'] ?? headers['apns-collapse-id'] ?? '');
}

function describe(record: PushRecord): string {
  return `#${record.id} ${record.vendor} ${record.answer?.status ?? 'unanswered'} ${record.notification?.title ?? ''}`.trim();
}

function emptyCounts() {
  return {
    requests: 0,
    accepted: 0,
    delivered: 0,
    refused: 0,
    unanswered: 0,
    faulted: 0,
    undecryptable: 0,
    tokenRequests: 0,
    streamsExceeded: 0,
    byStatus: {} as Record<string, number>,
    byVendor: {} as Record<string, number>,
  };
}
