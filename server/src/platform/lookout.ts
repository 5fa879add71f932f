// One process of all looks each second for what falls due, and tells the others. They look every ten seconds while they hear
// it, and every second while they do not: when it is gone, or when this process is deaf. The place is a lease in the database; two
// that both believe to have it for a moment only look twice.
import type { Sql } from './db.ts';
import { mintUuid, type Uuid } from './ids.ts';
import type { Log } from './log.ts';

export interface LookoutOptions<Due> {
  readonly sql: Sql;
  readonly log: Log;
  /** What is due, over all apps. */
  readonly look: () => Promise<Due>;
  /** Hands a word to the others; `hear` is given it there. */
  readonly tell: (word: string) => void;
  readonly everyMs?: number;
}

export interface Lookout<Due> {
  /** This process looks for all. */
  readonly isElected: boolean;
  /** When it last did what it had to, by `performance.now()`: a look that hangs shows here. */
  readonly lastLookedAt: number;
  /** From now on this process may be the one that looks for all. */
  stand(): void;
  /** What is due is handed over each time it was looked for, here or elsewhere. */
  onDue(listener: (due: Due) => void): void;
  /** A word of another process, or of this one. */
  hear(word: string): void;
  /** Lets another have the place. */
  stop(): Promise<void>;
}

interface Word<Due> {
  readonly from: Uuid;
  /** Null: this process stops. */
  readonly due: Due | null;
}

/** Renewed each second, so that a late renewal loses nothing. */
const leaseSeconds = 3;
const everyMsUsual = 1000;
/** Words come each second; so much later they are missed. */
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
      // Before the place is asked for: a look tells its owner that the database is away.
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
      // Once an outage: an operator who reads the log of a service that answers 503 finds why.
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
  // Whoever has opened it has something to wire first.
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
      // Where this fails, the lease runs out.
      await sql`DELETE FROM lookouts WHERE holder = ${id}`.then(
        () => say(null),
        () => undefined,
      );
    },
  };
}

/** Takes the place where it is free, or keeps it. By the server's clock, whatever clock the service's decisions use. */
async function holdLookout(sql: Sql, holder: Uuid, seconds: number): Promise<boolean> {
  const until = sql`now() + ${seconds}::float8 * interval '1 second'`;
  const rows = await sql`
    INSERT INTO lookouts AS l (id, holder, held_until) VALUES (1, ${holder}, ${until})
    ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE l.holder = excluded.holder OR l.held_until < now()
    RETURNING 1`;
  return rows.length > 0;
}
