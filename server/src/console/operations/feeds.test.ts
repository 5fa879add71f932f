import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventReader } from '../../ground/http/event-stream.ts';
import type { AppCaller } from './caller.ts';
import { createFeeds, type FeedDeps, type Source } from './feeds.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const callerOf = (person: string, app = 'app-1') =>
  ({ by: { id: person }, session: { id: person }, app: { id: app }, organisationId: 'org' }) as unknown as AppCaller;

/** Feeds over sources that count their looks, and a database that admits everybody. */
function createTested() {
  const rows = (strings: TemplateStringsArray, ids: readonly string[]) =>
    strings.join('').includes('FROM apps')
      ? ids.map((id) => ({ id }))
      : ['a', 'b'].map((id) => ({ id, organisationId: 'org', role: 'owner', needsSecondFactor: false }));
  const sql = ((strings: TemplateStringsArray, ids: readonly string[]) =>
    Promise.resolve(rows(strings, ids))) as unknown as FeedDeps['sql'];
  const feeds = createFeeds({
    sql,
    clock: {} as FeedDeps['clock'],
    log: { debug: () => undefined } as unknown as FeedDeps['log'],
    readTurns: { run: (_app, work) => work() },
  });
  const looks: string[] = [];
  const follow = (person: string, name: string, app?: string) => {
    const read: string[] = [];
    const reader: EventReader = { send: (json) => void read.push(json), end: () => void read.push('end') };
    const begin = (): Source => ({
      async look() {
        looks.push(name);
        return [{ look: looks.length }];
      },
      state: () => ({ state: looks.length }),
    });
    const leave = feeds.open(callerOf(person, app), 'viewer', name, begin).open(reader);
    return { read, leave };
  };
  return { follow, looks };
}

describe('the feeds of a process', () => {
  it('share one look a second: each gets the state first, and then the changes', async () => {
    const { follow, looks } = createTested();
    const first = follow('a', 'live');
    await vi.advanceTimersByTimeAsync(0);
    const second = follow('b', 'live');
    expect(second.read).toEqual(['{"state":1}']);
    await vi.advanceTimersByTimeAsync(3000);
    expect(looks).toHaveLength(4);
    expect(first.read).toEqual(['{"state":1}', '{"look":2}', '{"look":3}', '{"look":4}']);
    expect(second.read).toEqual(first.read);
  });

  it('cause no look after the last one has ended', async () => {
    const { follow, looks } = createTested();
    const leavers = [follow('a', 'live'), follow('a', 'live'), follow('a', 'other')];
    await vi.advanceTimersByTimeAsync(1000);
    for (const { leave } of leavers) leave();
    const before = looks.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looks).toHaveLength(before);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of different apps have their own looks', async () => {
    const { follow, looks } = createTested();
    follow('a', 'live', 'app-1');
    follow('a', 'live', 'app-2');
    await vi.advanceTimersByTimeAsync(0);
    expect(looks).toHaveLength(2);
  });

  it('are at most ten of one caller, and a place is free again when one ends', () => {
    const { follow } = createTested();
    const open = Array.from({ length: 10 }, () => follow('a', 'live'));
    expect(() => follow('a', 'live')).toThrow('The limit of 10 open feeds is reached. Close one.');
    follow('b', 'live');
    open[0]?.leave();
    follow('a', 'live');
  });
});
