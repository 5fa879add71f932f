// Tells other processes by NOTIFY about things that they would otherwise find by polling. A NOTIFY
// takes a lock of the whole cluster at its commit, so it has a transaction of its own. A process
// sends at most twenty a second; words in between are sent together. A lost word costs only
// latency, because every process polls too.

import type { Sql } from '@carillon/postgres';
import type { Log } from '../host/log.ts';

export interface Teller {
  /** Returns at once. `word` is an id, or empty. Call it after the commit of the change. */
  tell(topic: string, word?: string): void;
  /** Sends the remaining words. */
  close(): Promise<void>;
}

/** The NOTIFY channel for all words between processes of the service. */
export const toldChannel = 'carillon_told';

const apartMs = 50;
/**
 * Ids of one topic in one NOTIFY, whose payload has at most 8,000 bytes. With more ids, every
 * process looks for itself.
 */
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

/**
 * Reads a NOTIFY: each topic with its words; an empty word stands for all. The result is empty for
 * an unreadable payload, as from another version.
 */
export function readWords(payload: string): [topic: string, words: string[]][] {
  try {
    return Object.entries(JSON.parse(payload) as Record<string, string[]>).filter(([, words]) => Array.isArray(words));
  } catch {
    return [];
  }
}
