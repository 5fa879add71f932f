import { describe, expect, it } from 'vitest';
import { periodIndexOf, periodsOf, type Range, splitRange } from './periods.ts';

const range = (from: string, to: string): Range => ({ fromMs: Date.parse(from), toMs: Date.parse(to) });
const shown = (ranges: readonly Range[]): string[] => ranges.map(({ fromMs }) => new Date(fromMs).toISOString());
const hours = (ranges: readonly Range[]): number[] => ranges.map(({ fromMs, toMs }) => (toMs - fromMs) / 3_600_000);

describe('periods', () => {
  it('are days of the zone, also the ones with 23 and 25 hours', () => {
    const spring = periodsOf(range('2026-03-27T23:00:00Z', '2026-03-30T22:00:00Z'), 'day', 'Europe/Berlin');
    expect([shown(spring), hours(spring)]).toEqual([
      ['2026-03-27T23:00:00.000Z', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
      [24, 23, 24],
    ]);
    const autumn = periodsOf(range('2026-10-23T22:00:00Z', '2026-10-26T23:00:00Z'), 'day', 'Europe/Berlin');
    expect(hours(autumn)).toEqual([24, 25, 24]);
  });

  it('are cut to the range, and whole without a group', () => {
    const asked = range('2026-11-01T10:00:00.001Z', '2026-11-03T01:00:00Z');
    expect(periodsOf(asked, null, 'UTC')).toEqual([asked]);
    expect(shown(periodsOf(asked, 'day', 'UTC'))).toEqual([
      '2026-11-01T10:00:00.001Z',
      '2026-11-02T00:00:00.000Z',
      '2026-11-03T00:00:00.000Z',
    ]);
  });

  it('begin weeks on Monday and months on their first', () => {
    const asked = range('2026-11-01T00:00:00Z', '2027-01-02T00:00:00Z');
    expect(shown(periodsOf(asked, 'week', 'UTC')).slice(0, 3)).toEqual([
      '2026-11-01T00:00:00.000Z',
      '2026-11-02T00:00:00.000Z',
      '2026-11-09T00:00:00.000Z',
    ]);
    expect(shown(periodsOf(asked, 'month', 'Asia/Kathmandu'))).toEqual([
      '2026-11-01T00:00:00.000Z',
      '2026-11-30T18:15:00.000Z',
      '2026-12-31T18:15:00.000Z',
    ]);
  });

  it('begin a day that has no midnight with its first instant, and leave out a day that there was not', () => {
    const beirut = periodsOf(range('2024-03-29T22:00:00Z', '2024-04-01T00:00:00Z'), 'day', 'Asia/Beirut');
    expect(shown(beirut)[1]).toBe('2024-03-30T22:00:00.000Z');
    const apia = periodsOf(range('2011-12-29T10:00:00Z', '2012-01-01T10:00:00Z'), 'day', 'Pacific/Apia');
    expect(shown(apia)).toEqual(['2011-12-29T10:00:00.000Z', '2011-12-30T10:00:00.000Z', '2011-12-31T10:00:00.000Z']);
  });

  it('meet without a gap in every zone of the runtime, a year through', () => {
    const year = range('2025-12-31T23:00:00Z', '2026-12-31T23:00:00Z');
    for (const zone of ['America/New_York', 'Australia/Lord_Howe', 'America/Havana', 'Asia/Kolkata', 'Africa/Cairo']) {
      const days = periodsOf(year, 'day', zone);
      expect([zone, days.length >= 365 && days.length <= 367]).toEqual([zone, true]);
      expect(days.every((day, i) => day.toMs === (days[i + 1]?.fromMs ?? year.toMs) && day.fromMs < day.toMs)).toBe(
        true,
      );
      for (const [i, { fromMs, toMs }] of days.entries()) {
        expect([periodIndexOf(days, fromMs), periodIndexOf(days, toMs - 1)]).toEqual([i, i]);
      }
    }
  });
});

describe('splitRange', () => {
  const splitOf = (from: string, to: string, keptSince?: string) => {
    const { inner, edges } = splitRange(
      range(`2026-11-01T${from}Z`, `2026-11-01T${to}Z`),
      keptSince === undefined ? undefined : Date.parse(`2026-11-01T${keptSince}Z`),
    );
    const show = ({ fromMs, toMs }: Range): string =>
      `${new Date(fromMs).toISOString().slice(11, 23)} ${new Date(toMs).toISOString().slice(11, 23)}`;
    return { inner: inner.fromMs === inner.toMs ? null : show(inner), edges: edges.map(show) };
  };

  it('keeps whole quarters together and leaves the ends', () => {
    expect(splitOf('10:00:00.000', '11:00:00.000')).toEqual({ inner: '10:00:00.000 11:00:00.000', edges: [] });
    expect(splitOf('10:07:00.001', '11:00:00.001')).toEqual({
      inner: '10:15:00.000 11:00:00.000',
      edges: ['10:07:00.001 10:15:00.000', '11:00:00.000 11:00:00.001'],
    });
  });

  it('has one end where all is within a quarter', () => {
    expect(splitOf('10:01:00.000', '10:14:00.000')).toEqual({ inner: null, edges: ['10:01:00.000 10:14:00.000'] });
    expect(splitOf('10:00:00.000', '10:14:00.000')).toEqual({ inner: null, edges: ['10:00:00.000 10:14:00.000'] });
    expect(splitOf('10:01:00.000', '10:15:00.000')).toEqual({ inner: null, edges: ['10:01:00.000 10:15:00.000'] });
    expect(splitOf('10:14:00.000', '10:16:00.000')).toEqual({
      inner: null,
      edges: ['10:14:00.000 10:15:00.000', '10:15:00.000 10:16:00.000'],
    });
  });

  it('counts quarters wholly where their events are gone, each in just one of two ranges that meet', () => {
    const gone = '23:00:00.000';
    expect(splitOf('10:07:00.000', '11:05:00.000', gone)).toEqual({ inner: '10:15:00.000 11:15:00.000', edges: [] });
    expect(splitOf('11:05:00.000', '11:10:00.000', gone)).toEqual({ inner: null, edges: [] });
    expect(splitOf('11:00:00.000', '11:10:00.000', gone)).toEqual({ inner: '11:00:00.000 11:15:00.000', edges: [] });
  });
});
