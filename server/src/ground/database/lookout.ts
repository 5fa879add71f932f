// One elected process looks each second for what falls due, and tells the others. The others
// look every ten seconds while they hear it. They look every second when they hear nothing, because
// the elected process is gone or they are deaf. The election is a lease in the database. If two
// processes believe for a moment that they are elected, both look, which does no harm.

import { getValue, type Sql } from '@carillon/postgres';
import type { Log } from '../host/log.ts';
import { mintUuid, type Uuid } from '../values/ids.ts';

export interface LookoutOptions<Due> {
  readonly sql: Sql;
  readonly log: Log;
  /** Finds everything that is due, over all apps. */
  readonly look: () => Promise<Due>;
  /** Sends a word to the other processes, where `hear` gets it. */
  readonly tell: (word: string) => void;
  readonly everyMs?: number;
}

export interface Lookout<Due> {
  /** True when this process is elected. */
  readonly isElected: boolean;
  /** When it last did its work, by `performance.now()`. A look that hangs shows here. */
  readonly lastLookedAt: number;
  /** Allows that this process is elected from now on. */
  stand(): void;
  /** Adds a listener for everything that is due, after each look of this or another process. */
  onDue(listener: (due: Due) => void): void;
  /** Takes a word from another process or from this one. */
  hear(word: string): void;
  /** Gives the place to another process. */
  stop(): Promise<void>;
}

interface Word<Due> {
  readonly from: Uuid;
  /** Null when this process stops. */
  readonly due: Due | null;
}

/** Renewed each second, so that one late renewal does not lose the lease. */
const leaseSeconds = 3;
const everyMsUsual = 1000;
/**
 * Milliseconds without a word after which the elected process counts as gone; words come each
 * second.
 */
const silentMs = 2000;
const restMs = 10_000;

export function startLookout<Due>({ sql, log, look, tell, everyMs = everyMsUsual }: LookoutOptions<Due>): Lookout<Due> {
  const id = mintUuid();
  const listeners: ((due: Due) => void)[] = [];
  let mayStand = false;
  let isElected = false;
  let isStopped = false;
  let isAnswered = true;
  let heardAt = Number.NEGATIVE_INFINITY;
  let dueKnownAt = Number.NEGATIVE_INFINITY;
  let lastLookedAt = performance.now();
  let turn: Promise<void> | undefined;

  const say = (due: Due | null): void => tell(JSON.stringify({ from: id, due } satisfies Word<Due>));

  const takeTurn = async (): Promise<void> => {
    const nowMs = performance.now();
    const isHeard = nowMs - heardAt < silentMs;
    try {
      const stands = mayStand && (isElected || !isHeard);
      if (!stands && isHeard && nowMs - dueKnownAt < restMs) return;
      dueKnownAt = nowMs;
      // The look comes before the election, because a failing look shows that the database is away.
      const due = await look();
      if (!isAnswered) log.warn('the database answers again');
      isAnswered = true;
      if (stands) {
        const wasElected = isElected;
        isElected = await holdLookout(sql, id, leaseSeconds);
        if (isElected && !wasElected) log.info('this process looks for what falls due');
      }
      if (isElected) say(due);
      for (const listener of listeners) listener(due);
    } catch (error) {
      isElected = false;
      // One line in each outage, so that the log of a service that answers 503 says why.
      if (isAnswered && !isStopped) log.warn({ err: error }, 'the database does not answer; asking each second');
      isAnswered = false;
    }
  };
  const next = (): void => {
    if (turn || isStopped) return;
    lastLookedAt = performance.now();
    turn = takeTurn().finally(() => {
      turn = undefined;
    });
  };

  const timer = setInterval(next, everyMs);
  timer.unref();
  // The first look comes after this turn of the event loop, because the caller connects its
  // listeners first.
  setImmediate(next);
  return {
    get isElected() {
      return isElected;
    },
    get lastLookedAt() {
      return lastLookedAt;
    },
    stand() {
      mayStand = true;
    },
    onDue: (listener) => void listeners.push(listener),
    hear(text) {
      const word = JSON.parse(text) as Word<Due>;
      if (word.due === null) {
        heardAt = Number.NEGATIVE_INFINITY;
        next();
        return;
      }
      heardAt = performance.now();
      if (word.from !== id) for (const listener of listeners) listener(word.due);
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      clearInterval(timer);
      await turn;
      if (!isElected) return;
      isElected = false;
      // When this fails, the lease expires.
      await sql`DELETE FROM lookouts WHERE holder = ${id}`.then(
        () => say(null),
        () => undefined,
      );
    },
  };
}

/**
 * Takes the place when it is free, or keeps it. Uses the server's clock, independent of the
 * service's own clock. A lease that ends too late was written before the server's clock was set
 * back, and does not count.
 */
async function holdLookout(sql: Sql, holder: Uuid, seconds: number): Promise<boolean> {
  const until = sql`now() + ${seconds}::float8 * interval '1 second'`;
  const isAhead = sql`l.held_until > ${until} + interval '1 second'`;
  // Another process takes the place within a second of its end. After a longer pause the database
  // may have been away.
  const rows = await sql`
    INSERT INTO lookouts AS l (id, holder, held_until, watched_since) VALUES (1, ${holder}, ${until}, now())
    ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until, watched_since =
      CASE WHEN l.held_until < now() - interval '1 second' OR ${isAhead} THEN now() ELSE least(l.watched_since, now()) END
    WHERE l.holder = excluded.holder OR l.held_until < now() OR ${isAhead}
    RETURNING 1`;
  return rows.length > 0;
}

/**
 * Whether a worker has looked each second for all of the last `ms`, and holds the place now. So the
 * database was there, by the server's own clock.
 */
export function wasWatched(sql: Sql, ms: number): Promise<boolean> {
  return getValue(sql`
    SELECT EXISTS (
      SELECT FROM lookouts WHERE watched_since <= now() - ${ms}::float8 * interval '1 millisecond'
        AND held_until BETWEEN now() AND now() + ${leaseSeconds + 1}::float8 * interval '1 second')`);
}
