// The request log of one process: it collects requests and writes them once a second. No request
// waits for a statement. Unwritten entries are lost with the process.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { deleteBeyond, insertChunks, type RequestChunk } from './queries.ts';
import { keptMax, type RequestEntry } from './request-entry.ts';

export interface RequestLog {
  /**
   * `entry` is called when the log is written, and only for kept entries, so that a flood costs no
   * more.
   */
  note(appId: Uuid, isRefused: boolean, entry: () => RequestEntry): void;
  /** Writes the collected entries. Never rejects. */
  flush(): Promise<void>;
  /** Writes the rest, and stops. */
  close(): Promise<void>;
}

export interface RequestLogDeps {
  /** For short transactions. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs?: number;
}

const everyMsUsual = 1_000;
/** The number of apps whose entries one second can hold. Entries of further apps are dropped. */
const appsMax = 1_000;

interface Collected {
  readonly refused: (() => RequestEntry)[];
  readonly accepted: (() => RequestEntry)[];
}

export function createRequestLog({ sql, clock, log, everyMs = everyMsUsual }: RequestLogDeps): RequestLog {
  let collected = new Map<Uuid, Collected>();
  /** Entries that were written since the app's old ones were last deleted. */
  const written = new Map<Uuid, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const write = async (entries: ReadonlyMap<Uuid, Collected>): Promise<void> => {
    try {
      const chunks: RequestChunk[] = [];
      const full: Uuid[] = [];
      for (const [appId, { refused, accepted }] of entries) {
        for (const [isRefused, list] of [
          [true, refused],
          [false, accepted],
        ] as const) {
          const kept = list.slice(-keptMax).map((entry) => entry());
          if (kept.length > 0) chunks.push({ appId, id: mintUuid(clock.nowMs()), refused: isRefused, entries: kept });
        }
        const count = (written.get(appId) ?? 0) + refused.length + accepted.length;
        if (count >= keptMax) full.push(appId);
        written.set(appId, count >= keptMax ? 0 : count);
      }
      await insertChunks(sql, chunks);
      if (full.length > 0) await deleteBeyond(sql, full, keptMax);
    } catch (error) {
      log.debug({ err: error }, 'a part of the request log is lost');
    }
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (collected.size === 0) return writing;
    const entries = collected;
    collected = new Map();
    writing = writing.then(() => write(entries));
    return writing;
  };

  return {
    note(appId, isRefused, entry) {
      let of = collected.get(appId);
      if (!of) {
        if (collected.size >= appsMax) return;
        of = { refused: [], accepted: [] };
        collected.set(appId, of);
      }
      const list = isRefused ? of.refused : of.accepted;
      list.push(entry);
      // A list grows to twice what is kept at most, so that cutting it is rare.
      if (list.length >= 2 * keptMax) list.splice(0, keptMax);
      timer ??= setTimeout(() => void flush(), everyMs).unref();
    },
    flush,
    close: flush,
  };
}
