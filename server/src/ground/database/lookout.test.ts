import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../../packages/postgres/test/database.ts';
import { whenDone } from '../../../../rig/src/when-done.ts';
import { createLog } from '../host/log.ts';
import { type Lookout, startLookout, wasWatched } from './lookout.ts';

const everyMs = 10;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(everyMs);
}

/** Lookouts of several processes. The words of each reach all that hear. */
async function setUp() {
  const { sql } = await createTestDatabase();
  const all: { readonly lookout: Lookout<number>; readonly hears: boolean }[] = [];
  const open = ({ hears = true, stands = true } = {}) => {
    let looks = 0;
    const dues: number[] = [];
    const lookout = startLookout<number>({
      sql,
      log: createLog('silent', 'test'),
      look: async () => ++looks,
      tell(word) {
        for (const one of all) if (one.hears) one.lookout.hear(word);
      },
      everyMs,
    });
    lookout.onDue((due) => dues.push(due));
    if (stands) lookout.stand();
    all.push({ lookout, hears });
    whenDone(() => lookout.stop());
    return { lookout, dues, looked: () => looks };
  };
  return { open, sql };
}

describe('an outage of the database', () => {
  it('is logged once, and so is its end', async () => {
    const { sql } = await createTestDatabase();
    const lines: string[] = [];
    const log = createLog('silent', 'test');
    // A log call has the fields first, if there are any, and the text last.
    log.warn = (...words: unknown[]) => void lines.push(String(words.at(-1)));
    let looks = 0;
    const look = async (): Promise<number> => {
      looks++;
      if (looks > 2 && looks < 6) throw new Error('connect ECONNREFUSED');
      return looks;
    };
    const lookout = startLookout<number>({ sql, log, look, tell: () => undefined, everyMs });
    whenDone(() => lookout.stop());
    await until(() => looks > 8);
    expect(lines).toEqual(['the database does not answer; asking each second', 'the database answers again']);
  });
});

describe('R-99 of several processes', () => {
  it('one looks at every turn, and the others hear its result without looking', async () => {
    const t = await setUp();
    const first = t.open();
    await until(() => first.lookout.isElected);
    const second = t.open();
    await until(() => second.dues.length > 0);
    const [before, looksBefore] = [first.looked(), second.looked()];
    await until(() => first.looked() > before + 20);
    expect(second.lookout.isElected).toBe(false);
    expect(second.looked()).toBe(looksBefore);
    expect(second.dues.length).toBeGreaterThanOrEqual(20);
  });

  it('another takes the place of one that stops, at once', async () => {
    const t = await setUp();
    const first = t.open();
    await until(() => first.lookout.isElected);
    const second = t.open();
    await until(() => second.dues.length > 0);
    await first.lookout.stop();
    await until(() => second.lookout.isElected);
    const before = second.looked();
    await until(() => second.looked() > before + 5);
  });

  it('another takes the place of one that no longer renews it, because it was killed or stands still', async () => {
    const t = await setUp();
    await t.sql`
      INSERT INTO lookouts (id, holder, held_until) VALUES (1, gen_random_uuid(), now() + interval '200 milliseconds')`;
    const second = t.open();
    await until(() => second.lookout.isElected);
    expect(await t.sql`SELECT count(*)::int AS holders FROM lookouts`).toEqual([{ holders: 1 }]);
  });

  it('one that hears nothing looks at every turn for itself', async () => {
    const t = await setUp();
    const first = t.open();
    await until(() => first.lookout.isElected);
    const deaf = t.open({ hears: false });
    await until(() => deaf.dues.length > 10);
    expect(deaf.lookout.isElected).toBe(false);
    // The results of its own looks, and nothing from another process.
    expect(deaf.dues).toEqual(deaf.dues.map((_due, index) => index + 1));
  });

  it('one that works no batches never looks for the others', async () => {
    const t = await setUp();
    const api = t.open({ stands: false });
    await until(() => api.looked() > 5);
    expect(await t.sql`SELECT 1 FROM lookouts`).toEqual([]);
    expect(api.lookout.isElected).toBe(false);
  });
});

describe('R-97 the database counts as watched for the last six seconds', () => {
  /** The row as the lookout before left it, by instants as in `now() - interval '7 seconds'`. */
  async function setUpAfter({ since, until }: { readonly since: string; readonly until: string }) {
    const t = await setUp();
    await t.sql.unsafe(
      `INSERT INTO lookouts VALUES (1, gen_random_uuid(), now() + interval '${until}', now() + interval '${since}')`,
    );
    return t;
  }
  const isWatched = (t: Awaited<ReturnType<typeof setUp>>): Promise<boolean> => wasWatched(t.sql, 6000);
  /** The lookout of a process that takes the place. */
  async function elect(t: Awaited<ReturnType<typeof setUp>>): Promise<void> {
    const { lookout } = t.open();
    await until(() => lookout.isElected);
  }

  it('while one process after the other has looked, also after one was killed', async () => {
    const t = await setUpAfter({ since: '-7 seconds', until: '-500 milliseconds' });
    expect(await isWatched(t)).toBe(false);
    await elect(t);
    expect(await isWatched(t)).toBe(true);
  });

  it.each([
    ['nobody has looked yet', undefined],
    ['one has looked for less', { since: '-4 seconds', until: '-500 milliseconds' }],
    ['nobody looked for seconds, because the database was away', { since: '-1 hour', until: '-2 seconds' }],
    ['its clock was set back', { since: '-1 hour', until: '2 hours' }],
    ['an older version has looked', { since: 'infinity', until: '-500 milliseconds' }],
  ])('not when %s', async (_when, row) => {
    const t = row ? await setUpAfter(row) : await setUp();
    expect(await isWatched(t)).toBe(false);
    await elect(t);
    expect(await isWatched(t)).toBe(false);
  });
});
