import { describe, expect, test } from 'vitest';
import { parseFaultRule, parseFaults, presentFaults } from './fault-json.ts';
import { Faults } from './faults.ts';
import type { Target } from './provider.ts';

const target = (token: string, vendor: Target['vendor'] = 'generic'): Target => ({ service: 'webpush', vendor, token });

/** For each of `tokens` in order, on the connection with the same index: whether the rule acted. */
function actsOn(match: object, tokens: readonly string[], connections: readonly number[] = []): boolean[] {
  const faults = new Faults();
  faults.add(parseFaultRule({ match, action: { type: 'hang' } }, ''));
  return tokens.map((token, i) => faults.next(target(token), connections[i] ?? 1) !== undefined);
}

describe('which requests a rule acts on', () => {
  test.each([
    ['all of them', {}, ['a', 'b'], [true, true]],
    ['one token', { token: 'b' }, ['a', 'b', 'bb'], [false, true, false]],
    ['a prefix', { token_prefix: 'gone-' }, ['gone-1', 'here-1', 'gone-2'], [true, false, true]],
    ['the nth', { nth: 2 }, ['a', 'a', 'a'], [false, true, false]],
    ['several', { nth: [1, 3] }, ['a', 'a', 'a', 'a'], [true, false, true, false]],
    ['every second', { every: 2 }, ['a', 'a', 'a', 'a'], [false, true, false, true]],
    ['those after the first', { after: 1 }, ['a', 'a', 'a'], [false, true, true]],
    ['twice and no more', { times: 2 }, ['a', 'a', 'a'], [true, true, false]],
    ['the first of each token', { count: 'token', nth: 1 }, ['a', 'b', 'a', 'b'], [true, true, false, false]],
    ['the nth that matches', { token_prefix: 'x', nth: 2 }, ['x', 'a', 'x'], [false, false, true]],
  ])('%s', (_what, match, tokens, acts) => {
    expect(actsOn(match, tokens)).toEqual(acts);
  });

  test('those of one vendor', () => {
    const faults = new Faults();
    faults.add(parseFaultRule({ match: { vendor: 'apple' }, action: { type: 'hang' } }, ''));
    expect(faults.next(target('a', 'fcm'), 1)).toBeUndefined();
    expect(faults.next(target('a', 'apple'), 1)).toBeDefined();
  });

  test('a share of all tokens, the same ones every time', () => {
    const tokens = Array.from({ length: 2000 }, (_, index) => `token-${index}`);
    const first = actsOn({ share: 0.1 }, tokens);
    expect(actsOn({ share: 0.1 }, tokens)).toEqual(first);
    const hits = first.filter(Boolean).length;
    expect(hits).toBeGreaterThan(150);
    expect(hits).toBeLessThan(250);
    expect(actsOn({ share: 0 }, tokens)).not.toContain(true);
    expect(actsOn({ share: 1 }, tokens)).not.toContain(false);
  });

  test('another share for another seed, and a share of all connections', () => {
    const tokens = Array.from({ length: 2000 }, (_, index) => `token-${index}`);
    const one = actsOn({ share: 0.1, seed: 'one' }, tokens);
    const both = actsOn({ share: 0.1, seed: 'two' }, tokens).filter((acts, i) => acts && one[i]);
    expect(both.length).toBeLessThan(60);
    const connections = tokens.map((_, index) => Math.floor(index / 10));
    const lost = actsOn({ connection_share: 0.2, seed: 'one' }, tokens, connections);
    expect(actsOn({ connection_share: 0.2, seed: 'one' }, tokens, connections)).toEqual(lost);
    const numbers = new Set(connections.filter((_, i) => lost[i]));
    expect(lost.filter(Boolean)).toHaveLength(numbers.size * 10);
    expect(numbers.size).toBeGreaterThan(20);
    expect(numbers.size).toBeLessThan(60);
  });

  test('the nth request of each connection, which has a new number when another has ended', () => {
    const faults = new Faults();
    faults.add(parseFaultRule({ match: { count: 'connection', every: 2 }, action: { type: 'hang' } }, ''));
    const acts = (connection: number): boolean => faults.next(target('a'), connection) !== undefined;
    expect([acts(1), acts(2), acts(1), acts(2), acts(1)]).toEqual([false, false, true, true, false]);
    faults.connectionEnded(1);
    expect([acts(1), acts(1)]).toEqual([false, true]);
  });

  test('the first rule that acts decides, and the other rules still count the request', () => {
    const faults = new Faults();
    faults.set(
      parseFaults({
        faults: [
          { id: 'first', match: { nth: 1 }, action: { type: 'hang' } },
          { id: 'second', match: { nth: 2 }, action: { type: 'hang' } },
        ],
      }),
    );
    expect([1, 2, 3].map(() => faults.next(target('a'), 1)?.id)).toEqual(['first', 'second', undefined]);
    expect(faults.list().map(({ hits }) => hits)).toEqual([1, 1]);
  });
});

const answering = (fields: object) => ({ faults: [{ action: { type: 'status', status: 503, ...fields } }] });

describe('rules as JSON', () => {
  test('come back as they were given, so that the answer of a GET can be PUT', () => {
    const document = {
      faults: [
        { action: { type: 'status', status: 429, retry_after: 3, headers: { 'X-Why': 'no' }, body: '{}' } },
        { match: { vendor: 'apple', share: 0.5, times: 2 }, action: { type: 'slow', delay_ms: 5, byte_ms: 1 } },
        { match: { token_prefix: 'x', nth: [1, 2] }, action: { type: 'goaway', debug: 'bye' } },
        { match: { every: 3, count: 'token' }, action: { type: 'close', after_answer: true } },
        { action: { type: 'reset' } },
        { action: { type: 'rubbish', kind: 'html' } },
        { action: { type: 'hang', delivers: true } },
      ],
    };
    const faults = new Faults();
    faults.set(parseFaults(document));
    const once = presentFaults(faults.list());
    faults.set(parseFaults({ faults: once }));
    expect(presentFaults(faults.list())).toEqual(once);
  });

  test.each([
    [{}, 'faults: must be a list'],
    [{ faults: [{}] }, 'faults[0].action: must be an object'],
    [{ faults: [{ action: { type: 'explode' } }] }, 'faults[0].action.type: must be one of status'],
    [{ faults: [{ action: { type: 'status' } }] }, 'faults[0].action.status: must be a whole number'],
    [{ faults: [{ action: { type: 'hang', statsu: 1 } }] }, 'faults[0].action.statsu: is not known here'],
    [{ faults: [{ match: { tokn: 'a' }, action: { type: 'hang' } }] }, 'faults[0].match.tokn: is not known here'],
    [{ faults: [{ match: { nth: 0 }, action: { type: 'hang' } }] }, 'faults[0].match.nth: must be whole numbers'],
    [{ faults: [{ match: { share: 2 }, action: { type: 'hang' } }] }, 'faults[0].match.share: must be a number'],
    [{ faults: [{ match: { vendor: 'opera' }, action: { type: 'hang' } }] }, 'faults[0].match.vendor: must be one'],
    [{ faults: [], extra: 1 }, 'extra: is not known here'],
    [answering({ headers: { ':status': '200' } }), 'faults[0].action.headers.:status: is no header of an answer'],
    [answering({ headers: { 'x y': 'z' } }), 'faults[0].action.headers.x y: is no header of an answer'],
    [answering({ headers: { Connection: 'close' } }), 'faults[0].action.headers.connection: is no header of an answer'],
    [answering({ headers: { 'x-why': 'a\r\nb: c' } }), 'faults[0].action.headers.x-why: cannot stand in a header'],
    [answering({ retry_after: 'soon\n' }), 'faults[0].action.retry_after: cannot stand in a header'],
  ])('%j is refused with the path of the mistake', (document, message) => {
    expect(() => parseFaults(document)).toThrow(message);
  });
});
