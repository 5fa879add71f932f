import type { Sql } from '@carillon/postgres';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../host/log.ts';
import { createTeller, readWords } from './teller.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A teller, and the words of each of its statements. */
function setUp() {
  const said: ReturnType<typeof readWords>[] = [];
  const sql = (async (_strings: readonly string[], _channel: string, payload: string) => {
    said.push(readWords(payload));
  }) as unknown as Sql;
  return { teller: createTeller({ sql, log: createLog('silent', 'test') }), said };
}

describe('R-99 the notifications of a process', () => {
  it('leave at once, and then at most twenty times a second, however many there are', async () => {
    const { teller, said } = setUp();
    for (let ms = 0; ms < 2_000; ms++) {
      teller.tell('finished', `message ${ms}`);
      await vi.advanceTimersByTimeAsync(1);
      if (ms === 0) expect(said).toHaveLength(1);
    }
    await vi.advanceTimersByTimeAsync(1_000);
    expect(said.length).toBeLessThanOrEqual(42);
    const words = said.flatMap((one) => one.flatMap(([, each]) => each));
    expect(words).toEqual(Array.from({ length: 2_000 }, (_, ms) => `message ${ms}`));
  });

  it('have the same word once, and all words of a topic together', async () => {
    const { teller, said } = setUp();
    for (let i = 0; i < 3; i++) {
      teller.tell('batches');
      teller.tell('finished', `message ${i % 2}`);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(said).toEqual([
      [
        ['batches', ['']],
        ['finished', ['message 0', 'message 1']],
      ],
    ]);
  });

  it('tell everybody to look where the words do not fit into a NOTIFY', async () => {
    const { teller, said } = setUp();
    for (let i = 0; i < 500; i++) teller.tell('finished', `01a206ff-2f27-7004-be80-${i}`);
    await vi.advanceTimersByTimeAsync(100);
    expect(said).toEqual([[['finished', ['']]]]);
  });

  it('leave before the process ends', async () => {
    const { teller, said } = setUp();
    teller.tell('batches');
    await teller.close();
    expect(said).toEqual([[['batches', ['']]]]);
  });
});

it('a payload of another version has no words', () => {
  expect(['', '{', '[]', '{"batches":1}', 'null'].map(readWords)).toEqual([[], [], [], [], []]);
});
