import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../ground/http/api-error.ts';
import { parseInstant, writeInstant } from '../../ground/values/instant.ts';
import { localTimePasts } from './local-time.ts';
import { scheduleOf, type Timing } from './schedule.ts';

const now = Date.UTC(2026, 10, 21, 12);
const secondMs = 1000;
const hourMs = 3600 * secondMs;
const dayMs = 24 * hourMs;

/** The run time, or the issues in words. */
function judge(timing: Timing, nowMs = now): string {
  try {
    return scheduleOf(timing, nowMs).runAt.toISOString();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return (error.details.issues ?? [])
      .map(({ path, code, limit }) => `${path.join('.')} ${code}${limit === undefined ? '' : ` ${limit}`}`)
      .join(', ');
  }
}
const at = (aheadMs: number, offsetMinutes = 0) => ({ send_at: { ms: now + aheadMs, offsetMinutes } });

describe('send_at', () => {
  it.each([
    ['in the past', -secondMs, 'send_at too_soon'],
    ['now', 0, 'send_at too_soon'],
    ['29.9 s ahead', 29_900, 'send_at too_soon'],
    ['a millisecond short of 30 s', 29_999, 'send_at too_soon'],
    ['30 s ahead', 30_000, '2026-11-21T12:00:30.000Z'],
    ['30.1 s ahead', 30_100, '2026-11-21T12:00:30.100Z'],
    ['365 days ahead', 365 * dayMs, '2027-11-21T12:00:00.000Z'],
    ['a millisecond more', 365 * dayMs + 1, 'send_at too_big'],
  ])('%s', (_what, aheadMs, answer) => {
    expect(judge(at(aheadMs))).toBe(answer);
    expect(judge(at(aheadMs, -480))).toBe(answer);
  });
});

describe('a local time', () => {
  it.each([
    ['whose first zone is 30 s ahead', 14 * hourMs + 30_000, 0, '2026-11-21T12:00:30.000Z'],
    [
      'whose first zone is a millisecond too near',
      14 * hourMs + 29_999,
      0,
      'send_at too_soon 2026-11-22T02:00:30.000Z',
    ],
    ['in an hour', hourMs, 0, 'send_at too_soon 2026-11-22T02:00:30.000Z'],
    ['in an hour, at +01:00', hourMs, 60, 'send_at too_soon 2026-11-22T02:00:30.000+01:00'],
    ['in an hour, at -08:00', hourMs, -480, 'send_at too_soon 2026-11-22T02:00:30.000-08:00'],
    ['in an hour, at +14:00', hourMs, 840, '2026-11-21T13:00:00.000Z'],
    ['in the past', -hourMs, 0, 'send_at too_soon 2026-11-22T02:00:30.000Z'],
    ['at +15:00', 40_000, 900, '2026-11-21T12:00:40.000Z'],
  ])('refused where it is past somewhere: %s', (_what, aheadMs, offsetMinutes, answer) => {
    expect(judge({ ...at(aheadMs, offsetMinutes), local_time: true })).toBe(answer);
    expect(judge({ ...at(aheadMs, offsetMinutes), local_time: true, local_time_past: 'refuse' })).toBe(answer);
  });

  it.each([
    ['tomorrow', 20 * hourMs, '2026-11-21T18:00:00.000Z'],
    ['so that the first zones are past', hourMs, '2026-11-21T12:00:30.000Z'],
    ['itself 30 s ahead', 30_000, '2026-11-21T12:00:30.000Z'],
    ['itself nearer', 29_999, 'send_at too_soon'],
    ['itself past', -hourMs, 'send_at too_soon'],
    ['365 days ahead', 365 * dayMs, '2027-11-20T22:00:00.000Z'],
    ['further', 366 * dayMs, 'send_at too_big'],
  ])('sent now or skipped there: %s', (_what, aheadMs, answer) => {
    for (const local_time_past of ['now', 'skip'] as const)
      expect(judge({ ...at(aheadMs), local_time: true, local_time_past })).toBe(answer);
  });

  it('is not one unless it is asked for', () => {
    const { local } = scheduleOf({ ...at(hourMs), local_time: false }, now);
    expect(local).toBeNull();
  });

  it('runs on a whole millisecond, whatever fraction the clock says', () => {
    const timing = { ...at(hourMs), local_time: true, local_time_past: 'now' } as const;
    expect(judge(timing, now + 0.25)).toBe('2026-11-21T12:00:30.001Z');
  });

  it('that is refused names the earliest send_at that is taken, in the offset it was written with', () => {
    const aheadMs = fc.integer({ min: -10 * dayMs, max: 2 * dayMs });
    fc.assert(
      fc.property(aheadMs, fc.integer({ min: -1439, max: 1439 }), (ms, offsetMinutes) => {
        const timing = { ...at(ms, offsetMinutes), local_time: true };
        const [, limit] = /^send_at too_soon (.+)$/.exec(judge(timing)) ?? [];
        if (limit === undefined) return;
        const send_at = parseInstant(limit) ?? expect.unreachable(limit);
        expect(send_at.offsetMinutes).toBe(offsetMinutes);
        expect(judge({ send_at, local_time: true })).toBe(new Date(now + 30_000).toISOString());
        const sooner = { ...send_at, ms: send_at.ms - 1 };
        expect(judge({ send_at: sooner, local_time: true })).toBe(`send_at too_soon ${writeInstant(send_at)}`);
      }),
    );
  });

  it('never runs less than 30 s ahead, nor after the instant that is written', () => {
    const aheadMs = fc.integer({ min: -2 * dayMs, max: 3 * dayMs });
    const past = fc.constantFrom(...localTimePasts);
    fc.assert(
      fc.property(aheadMs, fc.integer({ min: -720, max: 840 }), past, (ms, offsetMinutes, local_time_past) => {
        const answer = judge({ ...at(ms, offsetMinutes), local_time: true, local_time_past });
        if (answer.startsWith('send_at')) return;
        expect(Date.parse(answer)).toBeGreaterThanOrEqual(now + 30_000);
        expect(Date.parse(answer)).toBeLessThanOrEqual(now + ms);
      }),
    );
  });
});
