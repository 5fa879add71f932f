import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../../packages/postgres/test/database.ts';
import { loadTimeZones } from '../../ground/database/load-time-zones.ts';
import { parseInstant } from '../../ground/values/instant.ts';
import { createLocalInstants, earliestMsOf, localInstantMs, wallMsOf, zonesDue } from './local-time.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const instantOf = (text: string) => parseInstant(text) ?? expect.unreachable(`${text} is no instant`);
const wall = (text: string): number => wallMsOf(instantOf(`${text}Z`));
const inZone = (text: string, zone: string): string => new Date(localInstantMs(wall(text), zone)).toISOString();

describe('a time on the wall of a zone', () => {
  it.each([
    ['2026-12-01T09:00', 'UTC', '2026-12-01T09:00:00.000Z'],
    ['2026-12-01T09:00', 'Europe/Berlin', '2026-12-01T08:00:00.000Z'],
    ['2026-07-01T09:00', 'Europe/Berlin', '2026-07-01T07:00:00.000Z'],
    ['2026-07-01T09:00:30.125', 'Asia/Kathmandu', '2026-07-01T03:15:30.125Z'],
    ['2026-07-01T09:00', 'America/St_Johns', '2026-07-01T11:30:00.000Z'],
    ['2026-07-01T09:00', 'Pacific/Kiritimati', '2026-06-30T19:00:00.000Z'],
    ['2026-07-01T09:00', 'Etc/GMT+12', '2026-07-01T21:00:00.000Z'],
    ['2026-07-01T09:00', 'Asia/Calcutta', '2026-07-01T03:30:00.000Z'],
    // Just before, at and after the hours that are skipped or come twice.
    ['2026-03-29T01:59:59.999', 'Europe/Berlin', '2026-03-29T00:59:59.999Z'],
    ['2026-03-29T03:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59:59.999', 'Europe/Berlin', '2026-10-24T23:59:59.999Z'],
    ['2026-10-25T03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
  ])('%s in %s is %s', (time, zone, instant) => {
    expect(inZone(time, zone)).toBe(instant);
  });

  it.each([
    ['an hour in spring', '2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['its first instant', '2026-03-29T02:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['its last millisecond', '2026-03-29T02:59:59.999', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['midnight', '2026-04-24T00:00', 'Africa/Cairo', '2026-04-23T22:00:00.000Z'],
    ['half an hour', '2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03T15:30:00.000Z'],
    ['two hours', '2026-03-29T02:59', 'Antarctica/Troll', '2026-03-29T01:00:00.000Z'],
    ['a whole day', '2011-12-30T12:00', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
  ])('that is skipped (%s) is the first instant after the gap', (_what, time, zone, instant) => {
    expect(inZone(time, zone)).toBe(instant);
  });

  it.each([
    ['an hour in autumn', '2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['its first instant', '2026-10-25T02:00', 'Europe/Berlin', '2026-10-25T00:00:00.000Z'],
    ['its last millisecond', '2026-10-25T02:59:59.999', 'Europe/Berlin', '2026-10-25T00:59:59.999Z'],
    ['midnight', '2026-11-01T00:30', 'America/Havana', '2026-11-01T04:30:00.000Z'],
    ['half an hour', '2026-04-05T01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
  ])('that comes twice (%s) is the first of the two', (_what, time, zone, instant) => {
    expect(inZone(time, zone)).toBe(instant);
  });

  it('of a zone that nobody knows is a RangeError', () => {
    expect(() => localInstantMs(0, 'Mars/Olympus')).toThrow(RangeError);
  });
});

describe('every zone of a real database', async () => {
  const { sql } = await createTestDatabase();
  const zones = (await loadTimeZones(sql)).names();

  // An independent way to the same result: the zone's offset as text, read at every quarter of an
  // hour.
  const offsetIn = (zone: string): ((ms: number) => number) => {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    return (ms) => {
      const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
      const [, sign, hours = 0, minutes = 0] = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(name) ?? expect.unreachable(name);
      return (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
    };
  };
  const bySearch = (wallMs: number, zone: string): number => {
    const offsetMsAt = offsetIn(zone);
    const stepMs = 15 * minuteMs;
    const first = Math.floor((wallMs - 15 * hourMs) / stepMs) * stepMs;
    for (let ms = first; ; ms += stepMs) {
      const offsetMs = offsetMsAt(ms);
      if (ms + offsetMs >= wallMs) return ms;
      // Offsets change only on quarters of an hour, so within one the clock does not jump.
      if (ms + stepMs + offsetMs > wallMs) return wallMs - offsetMs;
    }
  };
  const wallTimes = fc.integer({ min: Date.UTC(2000, 0, 2), max: Date.UTC(2100, 11, 30) });

  it('agrees with a search for the first instant at which its clock stands there or beyond', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), wallTimes, (zone, wallMs) => {
        expect([zone, localInstantMs(wallMs, zone)]).toEqual([zone, bySearch(wallMs, zone)]);
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with it around every change of the clocks of a year, in every seventh zone', () => {
    const year = Date.UTC(2026, 5, 1);
    for (const zone of zones.filter((_name, index) => index % 7 === 0)) {
      const offsetMsAt = offsetIn(zone);
      for (let ms = year; ms < year + 366 * 24 * hourMs; ms += 24 * hourMs) {
        const [before, after] = [offsetMsAt(ms), offsetMsAt(ms + 24 * hourMs)];
        if (before === after) continue;
        for (let wallMs = ms - 12 * hourMs; wallMs < ms + 48 * hourMs; wallMs += 47 * minuteMs) {
          expect([zone, localInstantMs(wallMs, zone)]).toEqual([zone, bySearch(wallMs, zone)]);
        }
      }
    }
  });

  it('is never due before the instant of +14:00, and within 26 hours of it unless it skips a day', () => {
    const instants = createLocalInstants(() => zones);
    fc.assert(
      fc.property(wallTimes, (wallMs) => {
        const earliest = earliestMsOf({ ms: wallMs, offsetMinutes: 0 });
        for (const ms of instants(wallMs).values()) {
          expect(ms).toBeGreaterThanOrEqual(earliest);
          expect(ms).toBeLessThanOrEqual(earliest + 26 * hourMs + 24 * hourMs);
        }
      }),
      { numRuns: 5 },
    );
  });

  it('is asked about a time on the wall once', () => {
    let asked = 0;
    const instants = createLocalInstants(() => {
      asked++;
      return zones.slice(0, 3);
    });
    expect(instants(0)).toBe(instants(0));
    expect(asked).toBe(1);
    for (let wallMs = 1; wallMs <= 20; wallMs++) instants(wallMs);
    instants(0);
    expect(asked).toBe(22);
  });
});

describe('the earliest instant', () => {
  it.each([
    ['2026-12-01T09:00:00Z', '2026-11-30T19:00:00.000Z'],
    ['2026-12-01T09:00:00+01:00', '2026-11-30T19:00:00.000Z'],
    ['2026-12-01T09:00:00-10:00', '2026-11-30T19:00:00.000Z'],
    ['2026-12-01T09:00:00+14:00', '2026-11-30T19:00:00.000Z'],
    // No zone has this offset, but a device without a zone would be due then.
    ['2026-12-01T09:00:00+15:00', '2026-11-30T18:00:00.000Z'],
  ])('of %s is that of +14:00: %s', (sendAt, instant) => {
    expect(new Date(earliestMsOf(instantOf(sendAt))).toISOString()).toBe(instant);
  });
});

describe('zones whose time is past', () => {
  const sendAt = instantOf('2026-12-01T09:00:00Z');
  const instants = new Map([
    ['Before', 1000],
    ['Now', 2000],
    ['After', 3000],
  ]);
  it.each([
    ['now', [2000, false], [2000, false], [3000, false]],
    ['skip', [2000, true], [2000, false], [3000, false]],
    ['refuse', [2000, false], [2000, false], [3000, false]],
  ] as const)('%s', (past, ...expected) => {
    const due = zonesDue({ sendAt, past }, 2000, instants);
    expect(due.map(({ dueAtMs, isSkipped }) => [dueAtMs, isSkipped])).toEqual(expected);
  });
});
