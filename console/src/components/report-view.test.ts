import { describe, expect, it } from 'vitest';
import { rangeBefore, rangeOf, readView, searchOfView, startOfDay } from './report-view.ts';

const nowMs = Date.parse('2027-03-29T10:00:00Z');
const read = (search: string) => readView(new URLSearchParams(search), nowMs);

describe('a day in a zone', () => {
  it.each([
    ['2027-03-28', 'Europe/Berlin', '2027-03-27T23:00:00.000Z'],
    ['2027-03-29', 'Europe/Berlin', '2027-03-28T22:00:00.000Z'],
    ['2027-10-31', 'Europe/Berlin', '2027-10-30T22:00:00.000Z'],
    ['2027-11-01', 'Europe/Berlin', '2027-10-31T23:00:00.000Z'],
    ['2027-03-28', 'Asia/Kolkata', '2027-03-27T18:30:00.000Z'],
    ['2027-03-28', 'America/Los_Angeles', '2027-03-28T07:00:00.000Z'],
    ['2027-03-28', 'Pacific/Kiritimati', '2027-03-27T10:00:00.000Z'],
    ['2027-03-28', 'UTC', '2027-03-28T00:00:00.000Z'],
    // The clocks of Beirut skip the first hour of this day.
    ['2027-03-28', 'Asia/Beirut', '2027-03-27T22:00:00.000Z'],
  ])('%s in %s begins at %s', (day, zone, instant) => {
    expect(startOfDay(day, zone)).toBe(instant);
  });
});

describe('the view of an address', () => {
  it('is the last 30 days by default, and that of the address otherwise', () => {
    expect(read('tz=Europe/Berlin')).toMatchObject({ firstDay: '2027-02-28', lastDay: '2027-03-29', group: 'day' });
    const march = read('from=2027-03-01&to=2027-03-31&tz=Europe/Berlin&by=week&currency=EUR&window=48&view=table');
    expect(march).toEqual({
      firstDay: '2027-03-01',
      lastDay: '2027-03-31',
      zone: 'Europe/Berlin',
      group: 'week',
      currency: 'EUR',
      windowHours: '48',
      isTable: true,
    });
    expect(rangeOf(march)).toEqual({
      from: '2027-02-28T23:00:00.000Z',
      to: '2027-03-31T22:00:00.000Z',
      tz: 'Europe/Berlin',
    });
    expect(rangeBefore(march)).toMatchObject({ from: '2027-01-28T23:00:00.000Z', to: '2027-02-28T23:00:00.000Z' });
  });

  it.each([
    'from=2027-02-30&to=never',
    'from=2029-01-01&to=2027-03-29',
    'from=1970-01-01&to=2027-03-29',
    'tz=Nowhere&by=minute&window=0',
  ])('%s is a view that the service takes', (search) => {
    const { from, to } = rangeOf(read(search));
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
    expect(days).toBeGreaterThan(0.9);
    expect(days).toBeLessThanOrEqual(366);
    expect(read(search)).toMatchObject({ group: 'day', windowHours: undefined });
  });

  it.each([
    ['Europe/Berlin', '2030-10-28'],
    ['Australia/Lord_Howe', '2029-10-06'],
    ['Africa/Casablanca', '2030-12-30'],
    ['UTC', '2028-12-31'],
  ])('in %s, the longest range up to %s is not an hour too long, and neither is the one before it', (zone, to) => {
    const view = readView(new URLSearchParams(`from=1970-01-01&to=${to}&tz=${zone}`), Date.parse('2031-01-01'));
    for (const range of [rangeOf(view), rangeBefore(view)]) {
      const days = (Date.parse(range.to) - Date.parse(range.from)) / 86_400_000;
      expect(days).toBeLessThanOrEqual(366);
      expect(days).toBeGreaterThan(364.9);
    }
  });

  it('is the same by its link a year later', () => {
    for (const search of ['', 'tz=Asia/Kolkata&by=month', 'currency=USD&view=table&segment=seg_1']) {
      const link = searchOfView(new URLSearchParams(search), read(search));
      expect(readView(new URLSearchParams(link), nowMs + 365 * 86_400_000)).toEqual(read(search));
    }
  });
});
