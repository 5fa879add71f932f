import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, writeInstant } from './instant.ts';

describe('an instant', () => {
  it.each([
    ['2026-12-01T09:00:00+01:00', '2026-12-01T08:00:00.000Z', 60],
    ['2026-12-01T09:00Z', '2026-12-01T09:00:00.000Z', 0],
    ['2026-12-01T09:00:00.1Z', '2026-12-01T09:00:00.100Z', 0],
    ['2026-12-01T09:00:00.123999Z', '2026-12-01T09:00:00.123Z', 0],
    ['2026-12-01T09:00:00-03:30', '2026-12-01T12:30:00.000Z', -210],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z', 0],
    ['2000-01-01T00:00:00+14:00', '1999-12-31T10:00:00.000Z', 840],
  ])('%s is %s', (text, expected, offsetMinutes) => {
    const instant = parseInstant(text);
    expect(new Date(instant?.ms ?? Number.NaN).toISOString()).toBe(expected);
    expect(instant?.offsetMinutes).toBe(offsetMinutes);
  });

  it.each([
    ['no offset', '2026-12-01T09:00:00'],
    ['a 30th of February', '2026-02-30T09:00:00Z'],
    ['a 29th of February in a year without one', '2026-02-29T09:00:00Z'],
    ['a thirteenth month', '2026-13-01T09:00:00Z'],
    ['a month 0', '2026-00-01T09:00:00Z'],
    ['a day 0', '2026-01-00T09:00:00Z'],
    ['hour 24', '2026-12-01T24:00:00Z'],
    ['minute 60', '2026-12-01T09:60:00Z'],
    ['second 60', '2026-12-01T09:00:60Z'],
    ['an offset beyond a day', '2026-12-01T09:00:00+24:00'],
    ['an offset without a colon', '2026-12-01T09:00:00+0100'],
    ['a date alone', '2026-12-01'],
    ['a space in place of T', '2026-12-01 09:00:00Z'],
    ['lower case', '2026-12-01t09:00:00z'],
    ['a year before 2000', '1999-12-31T23:59:59Z'],
    ['a year after 2100', '2101-01-01T00:00:00Z'],
    ['a year of six digits', '+275760-09-13T00:00:00Z'],
    ['the basic form', '20261201T090000Z'],
    ['a number', '1795256130'],
    ['nothing', ''],
    ['something behind it', '2026-12-01T09:00:00Z '],
    ['an empty fraction', '2026-12-01T09:00:00.Z'],
  ])('is not %s', (_what, text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it('reads back what it writes, in any offset', () => {
    const ms = fc.integer({ min: Date.UTC(2000, 0, 3), max: Date.UTC(2100, 11, 29) });
    fc.assert(
      fc.property(ms, fc.integer({ min: -1439, max: 1439 }), (ms, offsetMinutes) => {
        expect(parseInstant(writeInstant({ ms, offsetMinutes }))).toEqual({ ms, offsetMinutes });
      }),
    );
    expect(writeInstant({ ms: Date.UTC(2026, 11, 1, 8), offsetMinutes: 60 })).toBe('2026-12-01T09:00:00.000+01:00');
    expect(writeInstant({ ms: Date.UTC(2026, 11, 1, 8), offsetMinutes: 0 })).toBe('2026-12-01T08:00:00.000Z');
  });

  it('reads back whatever Date writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2000-01-01'), max: new Date('2100-12-31'), noInvalidDate: true }),
        (date) => {
          expect(parseInstant(date.toISOString())?.ms).toBe(date.getTime());
        },
      ),
    );
  });
});
