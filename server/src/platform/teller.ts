// Tells other processes through NOTIFY what they would otherwise find out by looking. A NOTIFY takes a lock of the whole cluster at its
// commit, so it never stands in a transaction that does anything else, and a process makes at most twenty a second: what is told
// meanwhile goes together. What gets lost costs latency alone: everybody looks for themselves, too.
import type { Sql } from './db.ts';
import type { Log } from './log.ts';

export interface Teller {
  /** Returns at once. `word` is an id, or nothing. To be called after the commit of what it tells of. */
  tell(topic: string, word?: string): void;
  /** Tells what is left. */
  close(): Promise<void>;
}

/** The NOTIFY channel of all that processes of the service tell each other. */
export const toldChannel = 'carillon_told';

const apartMs = 50;
/** Ids of one topic in one NOTIFY, whose payload is at most 8,000 bytes. Of more, everybody looks for themselves. */
const wordsMax = 100;

export function createTeller({ sql, log }: { readonly sql: Sql; readonly log: Log }): Teller {
  let topics = new Map<string, Set<string>>();
  let timer: NodeJS.Timeout | undefined;
  let telling: Promise<void> | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;

  const tellAll = async (): Promise<void> => {
    const told = topics;
    topics = new Map();
    lastAt = performance.now();
    try {
      await sql`SELECT pg_notify(${toldChannel}, ${writeWords(told)})`;
    } catch (error) {
      log.debug({ err: error }, 'nobody could be told');
    }
  };
  const tellInTime = (): void => {
    if (timer !== undefined || telling || topics.size === 0) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        telling = tellAll().finally(() => {
          telling = undefined;
          tellInTime();
        });
      },
      Math.max(0, lastAt + apartMs - performance.now()),
    );
  };

  return {
    tell(topic, word = '') {
      const words = topics.get(topic) ?? new Set();
      words.add(word);
      topics.set(topic, words);
      tellInTime();
    },
    async close() {
      await telling;
      clearTimeout(timer);
      timer = undefined;
      if (topics.size > 0) await tellAll();
    },
  };
}

function writeWords(topics: ReadonlyMap<string, ReadonlySet<string>>): string {
  return JSON.stringify(
    Object.fromEntries([...topics].map(([topic, words]) => [topic, words.size > wordsMax ? [''] : [...words]])),
  );
}

/** What a NOTIFY says: each topic with its words; a word that is empty stands for all. Of a process of another version, nothing. */
export function readWords(payload: string): [topic: string, words: string[]][] {
  try {
    return Object.entries(JSON.parse(payload) as Record<string, string[]>).filter(([, words]) => Array.isArray(words));
  } catch {
    return [];
  }
}
