// The clock: all decisions about time use the database's time (contract 1). A process reads it from
// time to time and adds its own steady time, which nobody sets. When the host's clocks or the
// database's have stepped, the clock is in doubt until it knows which, and nothing begins.

import { type Fragment, getRow, getValue, type Sql, type Tx } from '@carillon/postgres';
import { type HostClock, HostWatch, hostClock, stepMsLeast } from '../host/host-clock.ts';

/**
 * A clock moved against the steady clock of this process. `both`: they moved together, because the
 * host slept, or because one machine has both clocks and its clock was set.
 */
export interface ClockStep {
  readonly clock: 'host' | 'database' | 'both';
  /** Milliseconds; negative: it was set back. */
  readonly byMs: number;
}

export interface Clock {
  /** The present instant as an SQL expression, for decisions inside a statement. */
  readonly now: Fragment;
  /**
   * The present instant by the database's clock, as of the last comparison, in milliseconds since
   * the epoch. In doubt it is the earlier of the possible instants, so that nothing expires too
   * early.
   */
  nowMs(): number;
  date(): Date;
  /**
   * Time that never goes back, for durations within this process; milliseconds since an arbitrary
   * moment. It includes the time that the host slept, and the time by which it was set forward.
   */
  steadyMs(): number;
  /** While true nothing begins, because a clock has stepped and it is not known yet which one. */
  isInDoubt(): boolean;
  /**
   * The number of steps. Objects that were made at another number may contain a time from before a
   * step.
   */
  readonly steps: number;
  /**
   * The number of steps, and of times when this process did not run for seconds. If a request began
   * at another number, its failure says nothing about the other side.
   */
  readonly interruptions: number;
  /**
   * False while the clock is in doubt and for a while after a step. Then a refusal for a wrong time
   * is our own fault: no credential and no webhook is blamed for it.
   */
  isTrusted(): boolean;
  /**
   * Begins a reading of the database's clock by a statement that is made for something else. Call
   * the returned function with the answer's `now()` of the server, in milliseconds since the epoch.
   * An impossible time begins a doubt. `ageMsMost`: the greatest possible age of the time, in
   * milliseconds.
   */
  beginReading(ageMsMost?: number): (serverMs: number) => void;
  /** Compares with the database again. */
  synchronize(): Promise<void>;
}

/** The clock of a long-running process, which has to notice steps. */
export interface WatchedClock extends SettableClock {
  /** Calls back after a doubt, with the step that it found. */
  onStep(hear: (step: ClockStep) => void): void;
  /** Looks several times a second until it is stopped. */
  watch(): { stop(): void };
}

/**
 * The present instant in whole milliseconds, for values that answers show and cursors contain, so
 * that the stored value equals the shown one.
 */
export function nowOf(tx: Tx, clock: Clock): Fragment {
  return tx`date_trunc('milliseconds', ${clock.now})`;
}

/**
 * Reads the present instant from the database, in milliseconds with their fraction. In a
 * transaction it is the transaction's beginning. A wrong time begins a doubt.
 */
export async function readNowMs(tx: Tx, clock: Clock): Promise<number> {
  const read = clock.beginReading();
  const { nowMs, serverMs } = await getRow(tx<{ nowMs: number; serverMs: number }[]>`
    SELECT (extract(epoch FROM ${clock.now}) * 1000)::float8 AS now_ms,
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS server_ms`);
  read(serverMs);
  return nowMs;
}

/** Reads the server's clock where there is no `Clock` yet, in milliseconds since the epoch. */
export async function readServerMs(sql: Sql): Promise<number> {
  return getValue(sql`SELECT (extract(epoch FROM now()) * 1000)::float8 AS ms`);
}

/** A clock that tests can set; production never does. */
export interface SettableClock extends Clock {
  advance(ms: number): void;
  /** Stops the clock at an instant; from then on only `advance` moves it. */
  hold(at: Date): void;
}

/** Milliseconds after which the answer to a comparison is ignored, unless the clock is in doubt. */
const roundTripMsMax = 250;
const tickMs = 250;
const comparedEveryMs = 30_000;
/**
 * A database's clock that was set forward is not believed for this long, because it may have been a
 * mistake (a guess). With the time to notice the step it stays below the ten seconds of R-100.
 */
const doubtMsMost = 4_000;
/** Milliseconds after any step: requests on the wire may still be refused for their time. */
const untrustedMs = 60_000;
/**
 * Milliseconds after a step of only the database's clock, which may be wrong until an operator sets
 * it.
 */
const untrustedApartMs = 3_600_000;

export async function createClock(sql: Sql, host: HostClock = hostClock): Promise<WatchedClock> {
  const clock = new DatabaseClock(sql, host);
  await clock.synchronize();
  // Separate functions, because callers pass single ones on, such as `clock.steadyMs`.
  return {
    get now() {
      return clock.now;
    },
    get steps() {
      return clock.steps;
    },
    get interruptions() {
      return clock.interruptions;
    },
    nowMs: () => clock.nowMs(),
    date: () => clock.date(),
    steadyMs: () => clock.steadyMs(),
    isInDoubt: () => clock.isInDoubt(),
    isTrusted: () => clock.isTrusted(),
    beginReading: (ageMsMost) => clock.beginReading(ageMsMost),
    synchronize: () => clock.synchronize(),
    onStep: (hear) => clock.onStep(hear),
    watch: () => clock.watch(),
    advance: (ms) => clock.advance(ms),
    hold: (at) => clock.hold(at),
  };
}

class DatabaseClock implements WatchedClock {
  readonly #sql: Sql;
  readonly #host: HostClock;
  readonly #watch: HostWatch;
  readonly #hearers: ((step: ClockStep) => void)[] = [];
  /** The difference between the database's clock and the host's steady clock. */
  #differenceMs: number | undefined;
  /** The beginning of the doubt, by the steady clock. */
  #doubtedAtMs: number | undefined;
  #trustedAtMs = Number.NEGATIVE_INFINITY;
  #databaseSteps = 0;
  #comparing: Promise<void> | undefined;
  #advancedMs = 0;
  #heldMs: number | undefined;

  constructor(sql: Sql, host: HostClock) {
    this.#sql = sql;
    this.#host = host;
    this.#watch = new HostWatch(host, () => this.#doubt());
  }

  get now(): Fragment {
    const sql = this.#sql;
    if (this.#heldMs !== undefined) return sql`${new Date(this.#heldMs + this.#advancedMs)}::timestamptz`;
    return this.#advancedMs === 0 ? sql`now()` : sql`(now() + ${this.#advancedMs}::float8 * interval '1 millisecond')`;
  }

  // Some readers get only `nowMs` or `steadyMs`, so the readings are separate functions.
  readonly nowMs = (): number =>
    (this.#heldMs ?? Math.round(this.#watch.steadyMs() + (this.#differenceMs ?? 0))) + this.#advancedMs;

  readonly date = (): Date => new Date(this.nowMs());

  readonly steadyMs = (): number => (this.#heldMs ?? this.#watch.agedMs()) + this.#advancedMs;

  readonly isInDoubt = (): boolean => {
    this.#watch.steadyMs();
    return this.#doubtedAtMs !== undefined;
  };

  readonly isTrusted = (): boolean => !this.isInDoubt() && this.#host.steadyMs() >= this.#trustedAtMs;

  get steps(): number {
    this.#watch.steadyMs();
    return this.#watch.steps + this.#databaseSteps;
  }

  get interruptions(): number {
    return this.steps + this.#watch.standstills;
  }

  readonly beginReading = (ageMsMost = 0): ((serverMs: number) => void) => {
    const askedMs = this.#watch.steadyMs();
    const { steps } = this;
    return (serverMs) => {
      const answeredMs = this.#watch.steadyMs();
      const readMs = serverMs - (this.#differenceMs ?? 0);
      const mayBeRight = readMs >= askedMs - ageMsMost - stepMsLeast && readMs <= answeredMs + stepMsLeast;
      if (!mayBeRight && this.steps === steps) this.#doubt();
    };
  };

  synchronize(): Promise<void> {
    this.#comparing ??= this.#compare().finally(() => {
      this.#comparing = undefined;
    });
    return this.#comparing;
  }

  onStep(hear: (step: ClockStep) => void): void {
    this.#hearers.push(hear);
  }

  watch(): { stop(): void } {
    let ticks = 0;
    const timer = setInterval(() => {
      this.#watch.follow();
      ticks++;
      if (this.#doubtedAtMs !== undefined || ticks % (comparedEveryMs / tickMs) === 0) this.#compareAside();
    }, tickMs);
    timer.unref();
    return { stop: () => clearInterval(timer) };
  }

  advance(ms: number): void {
    this.#advancedMs += ms;
  }

  hold(at: Date): void {
    this.#heldMs = at.getTime() - this.#advancedMs;
  }

  #doubt(): void {
    this.#doubtedAtMs ??= this.#host.steadyMs();
    this.#compareAside();
  }

  #compareAside(): void {
    this.synchronize().catch(() => undefined);
  }

  async #compare(): Promise<void> {
    const { steps } = this.#watch;
    const askedMs = this.#watch.steadyMs();
    const [row] = await this.#sql<{ nowMs: number }[]>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;
    const answeredMs = this.#watch.steadyMs();
    // If the host slept in between, the answer may be from before or after its sleep.
    if (row && this.#watch.steps === steps) this.#judge(row.nowMs, askedMs, answeredMs);
  }

  /** The answer may be from any moment of the round trip. */
  #judge(databaseMs: number, askedMs: number, answeredMs: number): void {
    const uncertainMs = (answeredMs - askedMs) / 2;
    const readMs = databaseMs - askedMs - uncertainMs;
    this.#differenceMs ??= readMs;
    const changeMs = readMs - this.#differenceMs;
    const { gapMs } = this.#watch;
    const toleranceMs = stepMsLeast + uncertainMs;
    if (Math.abs(changeMs) <= toleranceMs) {
      if (2 * uncertainMs <= roundTripMsMax) this.#differenceMs = readMs;
      this.#settle(gapMs === 0 ? undefined : { clock: 'host', byMs: gapMs });
      return;
    }
    const haveMovedTogether = Math.abs(gapMs - changeMs) <= toleranceMs;
    const agree = Math.abs(this.#host.wallMs() - uncertainMs - databaseMs) <= toleranceMs;
    const isOver = this.#doubtedAtMs !== undefined && askedMs - this.#doubtedAtMs >= doubtMsMost;
    if (haveMovedTogether || agree || changeMs < 0 || isOver) {
      this.#differenceMs = readMs;
      this.#databaseSteps++;
      this.#settle({ clock: haveMovedTogether ? 'both' : 'database', byMs: changeMs });
    } else {
      this.#doubtedAtMs ??= askedMs;
    }
  }

  #settle(step: ClockStep | undefined): void {
    this.#doubtedAtMs = undefined;
    this.#watch.forgetGap();
    if (!step) return;
    const untrustedForMs = step.clock === 'database' ? untrustedApartMs : untrustedMs;
    this.#trustedAtMs = Math.max(this.#trustedAtMs, this.#host.steadyMs() + untrustedForMs);
    for (const hear of this.#hearers) hear(step);
  }
}
