import { describe, expect, it } from 'vitest';
import { setbackOf, waitMsAfter } from './setback.ts';

const withCode = (code: string): Error => Object.assign(new Error('refused'), { code });
const dayMs = 86_400_000;

describe('R-96 whose fault a setback is', () => {
  it.each([
    ['57P01', 'away', 'the server was shut down'],
    ['08006', 'away', 'the connection failed'],
    ['ECONNREFUSED', 'away', 'nobody listens'],
    ['CONNECTION_UNANSWERED', 'away', 'our own deadline passed'],
    ['CONNECTION_BUSY', 'away', 'no connection came free'],
    ['57014', 'slow', 'the statement took too long'],
    ['55P03', 'slow', 'the lock took too long'],
    ['53300', 'slow', 'there are too many connections'],
    ['53100', 'slow', 'the disk is full'],
    ['40P01', 'slow', 'the database ended a deadlock'],
    ['40001', 'slow', 'the transaction could not be serialized'],
    ['23514', 'fault', 'a value is not allowed'],
    ['42703', 'fault', 'the statement is wrong'],
  ])('%s is %s: %s', (code, kind) => {
    expect(setbackOf(withCode(code)).kind).toBe(kind);
  });

  it('an error without a code is a fault of our own', () => {
    expect(setbackOf(new TypeError('undefined is not a function')).kind).toBe('fault');
    expect(setbackOf(undefined).kind).toBe('fault');
  });

  it('R-18 one place that fails for two devices is one fault, and two places are two', () => {
    const here = (device: string): Error => new Error(`device ${device} cannot be read`);
    const there = (device: string): Error => new Error(`device ${device} cannot be read`);
    expect(setbackOf(here('a'))).toEqual(setbackOf(here('b')));
    expect(setbackOf(here('a'))).not.toEqual(setbackOf(there('a')));
    expect(setbackOf(withCode('22021'))).not.toEqual(setbackOf(withCode('22P02')));
  });

  it('R-80 a fault is stored without the words of its error', () => {
    const { fault } = setbackOf(new Error('token-of-a-device')) as { fault: string };
    expect(fault).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe('R-96 how long a batch waits after a setback', () => {
  it.each([
    ['away', 0, 1000, 2000],
    ['away', 1, 1000, 4000],
    ['away', 2, 1000, 5000],
    ['away', 500, 1000, 5000],
    ['slow', 0, 1000, 2000],
    ['slow', 1, 2000, 4000],
    ['slow', 4, 16_000, 32_000],
    ['slow', 5, 30_000, 60_000],
    ['slow', 500, 30_000, 60_000],
    ['fault', 0, 1000, 2000],
    ['fault', 9, 30_000, 60_000],
  ] as const)('%s after %i others: %i to %i ms', (kind, setbacks, leastMs, mostMs) => {
    const setback = kind === 'fault' ? { kind, fault: 'x' } : { kind };
    const question = { setbacks, windowLeftMs: dayMs };
    expect(waitMsAfter(setback, { ...question, random: 0 })).toBe(leastMs);
    expect(waitMsAfter(setback, { ...question, random: 1 })).toBe(mostMs);
  });

  it.each([
    [40_000, 20_000],
    [3000, 1500],
    [500, 1000],
    [-1, 1000],
  ])('with %i ms left of its window no longer than %i ms', (windowLeftMs, mostMs) => {
    expect(waitMsAfter({ kind: 'slow' }, { setbacks: 9, windowLeftMs, random: 1 })).toBe(mostMs);
  });
});
