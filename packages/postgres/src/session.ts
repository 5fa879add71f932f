// One connection to PostgreSQL, over a client of `pg`, that cannot be dead without notice. The
// client waits for an answer without limit. A session ends the connection when an answer is overdue
// and rejects everything that was asked on it.
import { randomBytes } from 'node:crypto';
import { type Client, DatabaseError, type TransactionStatus } from 'pg';
import type { DatabaseAddress } from './address.ts';
import { type Answer, type Ask, Exchange, hasLostPlan, type Prepared } from './exchange.ts';
import { type Compiled, compile, type Row, type Rows, type Statement } from './statement.ts';
import type { Wire } from './wire.ts';

/**
 * The loss of the connection, and with it of every unanswered statement. `code` is the server's,
 * the system's or one of ours.
 */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code: string;
  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface SessionOptions {
  readonly address: DatabaseAddress;
  /** The name in pg_stat_activity. */
  readonly name: string;
  /** Settings for the whole session, sent before the first statement. */
  readonly settings: Readonly<Record<string, string>>;
  /** Milliseconds for TCP, TLS and the password, of each host. */
  readonly connectMs: number;
  /** Milliseconds within which a statement must be answered; 0: no limit. */
  readonly answerMsMax: number;
  /**
   * Milliseconds within which a BEGIN and a sign of life must be answered, because nothing delays a
   * server's answer to them.
   */
  readonly promptMsMax: number;
  /**
   * Milliseconds of silence after which a connection must give a sign of life before it is trusted
   * with a statement.
   */
  readonly silentMsMax: number;
  /** False: no statement is prepared. */
  readonly isPreparing: boolean;
}

/** A caller that waits for answers. */
interface Caller {
  readonly asks: readonly Ask[];
  /** True when nothing delays the answer. */
  readonly isPrompt: boolean;
  readonly resolve: (answers: Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** An exchange that is under way. */
interface Turn {
  readonly exchange: Exchange;
  readonly callers: readonly Caller[];
  readonly begunAtMs: number;
  /** Milliseconds within which the server must send something; 0: no limit. */
  readonly limitMs: number;
}

/** Milliseconds. A server closes its end at once after a goodbye. */
const farewellMs = 1000;
/** Milliseconds. A statement with at most this limit is cheap to repeat. */
const shortMs = 10_000;

/** All connections of this process, in every pool. */
const all = new Set<Session>();

export class Session {
  readonly #options: SessionOptions;
  readonly #client: Client;
  readonly #wire: Wire;
  readonly #line: Caller[] = [];
  readonly #prepared = new Map<string, Prepared>();
  /**
   * A name that no other session has, so that no session behind a pooler uses another's statement.
   */
  readonly #prefix = randomBytes(6).toString('hex');
  readonly #ears = new Map<string, (payload: string) => void>();
  #turn: Turn | undefined;
  #isBeginning = false;
  #heardAtMs = performance.now();
  #isSignedIn = false;
  /** True when the connection has given the sign of life for the next statement. */
  #isTrusted = false;
  #timer: NodeJS.Timeout | undefined;
  #loss: ConnectionLostError | undefined;
  #tellLost: (loss: ConnectionLostError) => void = () => undefined;
  /** Resolves when the connection is closed, whichever side ended it. */
  readonly whenLost = new Promise<ConnectionLostError>((resolve) => {
    this.#tellLost = resolve;
  });

  /** Takes a client that is not connected yet, and the wire that it will use. */
  constructor(client: Client, wire: Wire, options: SessionOptions) {
    this.#options = options;
    this.#client = client;
    this.#wire = wire;
    wire.on('error', (error) => this.#lose(this.#lossBy(error)));
    wire.on('close', () => this.#tellLost(this.#lose(this.#lossBy(new Error('the connection was closed')))));
    client.on('error', (error) => this.#lose(this.#lossBy(error)));
    client.on('drain', () => this.#endTurn());
    client.on('notification', ({ channel, payload }) => {
      this.#heardAtMs = performance.now();
      this.#ears.get(channel)?.(payload ?? '');
    });
    all.add(this);
  }

  /**
   * Signs in and sends the settings. Returns whether the server is a standby. Rejects with the
   * loss, or with the server's error when it refuses a setting, which is no outage.
   */
  async signIn(): Promise<boolean> {
    const { connectMs, settings } = this.#options;
    const tooLate = new ConnectionLostError('CONNECT_TIMEOUT', `no connection within ${connectMs} ms`);
    const deadline = setTimeout(() => this.#lose(tooLate), connectMs);
    try {
      await this.#client.connect();
    } catch (error) {
      throw this.#lose(this.#lossBy(error as Error));
    } finally {
      clearTimeout(deadline);
    }
    this.#isSignedIn = true;
    const [answer] = await this.#ask([simple(settingsOf(settings))], true);
    return answer?.[0]?.['isStandby'] === true;
  }

  /** The reason of the loss; undefined while the connection is open. */
  get loss(): ConnectionLostError | undefined {
    return this.#loss;
  }

  get transactionStatus(): TransactionStatus {
    return this.#client.getTransactionStatus();
  }

  /** True when nothing is under way, and no transaction is open. */
  get isFree(): boolean {
    return !this.#loss && !this.#turn && this.#line.length === 0 && this.transactionStatus === 'I';
  }

  /**
   * Runs one statement. Resolves once the connection can take the next one. In a transaction,
   * statements that are asked at the same time are sent together. The first refused one and all
   * after it reject with the same error.
   */
  async run(statement: Statement<readonly unknown[]>): Promise<Rows<Row[]>> {
    const compiled = compile(statement);
    const { copied } = statement;
    const ask = copied ? { ...compiled, isSimple: true, prepared: undefined, copied } : this.#prepare(compiled);
    try {
      return lastOf(await this.#ask([ask]));
    } catch (error) {
      // The rows of a COPY can be read only once.
      if (copied || this.transactionStatus !== 'I' || !hasLostPlan(error)) throw error;
      return lastOf(await this.#ask([ask]));
    }
  }

  /** Runs a command without a result, such as BEGIN. Nothing delays its answer. */
  async command(text: string): Promise<void> {
    await this.#ask([simple(text)], true);
  }

  /**
   * Runs statements and the COMMIT in one write. No round trip of ours prolongs their locks. The
   * first refused statement rejects, and the transaction stays open to be rolled back.
   */
  async commit(statements: readonly Statement<readonly unknown[]>[]): Promise<Rows<Row[]>[]> {
    const last = statements.map((each) => ({ ...compile(each), isSimple: false }));
    const answers = await this.#ask(
      [...last, { ...simple('COMMIT'), isSimple: false }].map((each) => this.#prepare(each)),
    );
    // If a statement that was not awaited was refused, the answer to COMMIT is ROLLBACK.
    if (answers.length <= last.length || lastOf(answers).command !== 'COMMIT')
      throw new Error('the transaction was rolled back');
    return answers;
  }

  /** Calls `onPayload` for each notification of a channel, from now on. */
  async listen(channel: string, onPayload: (payload: string) => void): Promise<void> {
    this.#ears.set(channel, onPayload);
    await this.#ask([simple(`LISTEN "${channel}"`)]);
  }

  /** Says goodbye. Statements under way are lost. */
  end(): void {
    if (this.#loss) return;
    this.#loss = new ConnectionLostError('CONNECTION_ENDED', 'the connection was ended');
    void this.#client.end().catch(() => undefined);
    setTimeout(() => this.#wire.destroy(), farewellMs).unref();
    this.#forget(this.#loss);
  }

  /** Ends the connection at once. */
  destroy(loss = new ConnectionLostError('CONNECTION_DESTROYED', 'the connection was ended')): void {
    this.#lose(loss);
  }

  #prepare(compiled: Compiled): Ask {
    if (compiled.isSimple || !compiled.isKept || !this.#options.isPreparing)
      return { ...compiled, prepared: undefined };
    const key = `${compiled.types.join()} ${compiled.text}`;
    let prepared = this.#prepared.get(key);
    if (!prepared) {
      prepared = { name: `${this.#prefix}_${this.#prepared.size}`, columns: undefined };
      this.#prepared.set(key, prepared);
    }
    return { ...compiled, prepared };
  }

  #ask(asks: readonly Ask[], isPrompt = false): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      if (this.#loss) return reject(this.#loss);
      this.#line.push({ asks, isPrompt, resolve, reject });
      this.#beginSoon();
    });
  }

  // The write waits until the running code has asked all statements that it asks without waiting.
  #beginSoon(): void {
    if (this.#isBeginning || this.#turn) return;
    this.#isBeginning = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isBeginning = false;
        this.#beginTurn();
      }),
    );
  }

  #beginTurn(): void {
    const [first] = this.#line;
    if (!first) return;
    const { answerMsMax, promptMsMax, silentMsMax } = this.#options;
    const begunAtMs = performance.now();
    const isSilent = !first.isPrompt && !this.#isTrusted && begunAtMs - this.#heardAtMs >= silentMsMax;
    this.#isTrusted = isSilent;
    // A Sync alone is answered in any state of a session, and changes no state.
    const callers = isSilent ? [] : this.#line.splice(0, this.#together());
    const exchange = new Exchange(
      callers.flatMap(({ asks }) => asks),
      this.#wire,
      (error) => {
        if (isGoodbye(error)) this.#lose(this.#lossBy(error));
      },
    );
    const limitMs = isSilent || first.isPrompt ? promptMsMax : answerMsMax;
    const turn = { exchange, callers, begunAtMs, limitMs };
    this.#turn = turn;
    if (limitMs > 0) this.#watch(turn, limitMs);
    try {
      this.#client.query(exchange);
    } catch (error) {
      // A statement could not be written as a message. Nothing of the exchange was sent, but the
      // client waits for an answer.
      for (const { reject } of callers) reject(error as Error);
      this.#lose(new ConnectionLostError('CONNECTION_CLOSED', 'a statement could not be sent', error));
    }
  }

  /**
   * The number of waiting callers whose statements can be sent together, because the server undoes
   * them together.
   */
  #together(): number {
    if (this.transactionStatus !== 'T') return 1;
    const simpleAt = this.#line.findIndex(({ asks }) => asks[0]?.isSimple);
    return simpleAt < 0 ? this.#line.length : Math.max(1, simpleAt);
  }

  #endTurn(): void {
    clearTimeout(this.#timer);
    this.#heardAtMs = performance.now();
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    if (hasLostPlan(turn.exchange.error)) for (const session of all) session.#forgetPlans();
    this.#answer(turn);
    if (this.#line.length > 0) this.#beginSoon();
  }

  #answer({ callers, exchange: { answers, error, refusedAt } }: Turn): void {
    if (error) withOrigin(error, callers.flatMap(({ asks }) => asks)[refusedAt] ?? callers[0]?.asks[0]);
    // The text of a single caller may hold several statements.
    const isAlone = callers.length === 1;
    let from = 0;
    for (const { asks, resolve, reject } of callers) {
      const to = from + asks.length;
      if (error && (isAlone || refusedAt < to)) reject(error);
      else resolve(isAlone ? answers : answers.slice(from, to));
      from = to;
    }
  }

  /**
   * All sessions prepare their statements again, because a change of the schema concerns all of
   * them. A repeated transaction then meets no other lost plan. A session with statements under way
   * is left out: it needs its plans to read the answers, and finds out by itself.
   */
  #forgetPlans(): void {
    if (!this.#turn) for (const prepared of this.#prepared.values()) prepared.columns = undefined;
  }

  #watch(turn: Turn, inMs: number): void {
    this.#timer = setTimeout(() => {
      // If the process itself was stopped, the answer is among the input of this turn.
      setImmediate(() => {
        if (this.#turn !== turn) return;
        // Each statement of an exchange gets the whole limit.
        const sinceMs = Math.max(turn.begunAtMs, turn.exchange.heardAtMs);
        const restMs = sinceMs + turn.limitMs - performance.now();
        if (restMs > 0) this.#watch(turn, restMs);
        else this.#findDead(sinceMs);
      });
    }, inMs).unref();
  }

  #findDead(sinceMs: number): void {
    const waitedMs = Math.round(performance.now() - sinceMs);
    this.#lose(new ConnectionLostError('CONNECTION_UNANSWERED', `no answer within ${waitedMs} ms`));
    for (const other of all) other.#suspect(this.#wire.server, sinceMs);
  }

  // All connections share the network path. Other connections to the same server that have received
  // nothing since then are closed now, so that their next users need not find out. A connection
  // that waits for a statement with a long limit goes on waiting. A connection without a limit
  // holds locks for its whole life and may receive nothing for days, so only the network can tell
  // that it is dead.
  #suspect(server: string, sinceMs: number): void {
    const turn = this.#turn;
    const heardAtMs = Math.max(this.#heardAtMs, turn?.exchange.heardAtMs ?? 0);
    if (this.#wire.server !== server || !this.#isSignedIn || heardAtMs > sinceMs) return;
    const { answerMsMax, promptMsMax } = this.#options;
    if (answerMsMax === 0) return;
    if (turn && (answerMsMax > shortMs || performance.now() - turn.begunAtMs < promptMsMax)) return;
    this.#lose(new ConnectionLostError('CONNECTION_UNANSWERED', 'silent since another found its connection dead'));
  }

  #lossBy(error: Error & { readonly code?: string }): ConnectionLostError {
    if (error instanceof ConnectionLostError) return error;
    const { code = this.#isSignedIn ? 'CONNECTION_CLOSED' : 'CONNECTION_REFUSED', message } = error;
    return new ConnectionLostError(code, message, error);
  }

  /** Returns the first loss, which caused all others. */
  #lose(loss: ConnectionLostError): ConnectionLostError {
    if (this.#loss) return this.#loss;
    this.#loss = loss;
    this.#wire.destroy();
    this.#forget(loss);
    return loss;
  }

  #forget(loss: ConnectionLostError): void {
    clearTimeout(this.#timer);
    all.delete(this);
    const callers = [...(this.#turn?.callers ?? []), ...this.#line.splice(0)];
    this.#turn = undefined;
    for (const { reject } of callers) reject(loss);
  }
}

/** The answer of the last statement, if a text has several. */
const lastOf = (answers: readonly Answer[]): Answer => answers.at(-1) as Answer;

const simple = (text: string): Ask => ({
  text,
  values: [],
  types: [],
  isSimple: true,
  isKept: true,
  origin: '',
  prepared: undefined,
});

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The statement that makes the settings. It also says whether the server is a standby. */
function settingsOf(settings: Readonly<Record<string, string>>): string {
  const all = Object.entries(settings).map(([name, value]) => `set_config(${quoted(name)}, ${quoted(value)}, false)`);
  return `SELECT ${['pg_is_in_recovery() AS is_standby', ...all].join(', ')}`;
}

/**
 * Returns whether the server ends the connection with this error, or it came from the connection.
 * `pg` gives no code to a message that it does not know.
 */
const isGoodbye = (error: Error): boolean =>
  !(error instanceof DatabaseError && error.code) ||
  /^(FATAL|PANIC)$/.test(error.severity ?? '') ||
  error.code.startsWith('57P');

function withOrigin(error: Error, ask: Compiled | undefined): void {
  if (ask?.origin) error.stack = `${error.name}: ${error.message}\n${ask.origin}`;
}
