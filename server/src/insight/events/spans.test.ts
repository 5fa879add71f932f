import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { missingSpan, monthOf, type Span } from './spans.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const at = Date.parse;
const month = (text: string) => monthOf(at(text));

describe('the partition that an event needs', () => {
  it.each<[what: string, instant: string, existing: Span[], name: string | undefined]>([
    ['its month', '2026-11-01T00:00:00Z', [], '202611'],
    ['none where there is one', '2026-11-30T23:59:59.999Z', [month('2026-11-01')], undefined],
    ['the month beside one', '2026-12-01T00:00:00Z', [month('2026-11-01')], '202612'],
    ['a month of three years ago', '2023-11-05T00:00:00Z', [], '202311'],
    ['a month of a year that is not wholly so long ago', '2023-01-05T00:00:00Z', [], '202301'],
    ['the year of the far past', '2022-12-31T23:59:59.999Z', [], '2022'],
    ['the year before the first that can be written', '1999-12-31T10:00:00Z', [], '1999'],
    ['a month of the far past beside another', '2022-05-05T00:00:00Z', [month('2022-04-01')], '202205'],
  ])('is %s', (_what, instant, existing, name) => {
    expect(missingSpan(at(instant), now, existing)?.name).toBe(name);
  });

  it('holds the event and overlaps no other, and few are made for events of any order and year', () => {
    const instants = fc.array(fc.integer({ min: at('1999-12-31'), max: at('2040-01-01') }), { maxLength: 200 });
    fc.assert(
      fc.property(instants, (given) => {
        const made: Span[] = [];
        for (const ms of given) {
          const span = missingSpan(ms, Math.max(ms, now), made);
          if (span) {
            expect(span.from.getTime() <= ms && ms < span.to.getTime()).toBe(true);
            expect(made.every(({ from, to }) => to <= span.from || span.to <= from)).toBe(true);
            made.push(span);
          }
          expect(missingSpan(ms, now, made)).toBeNull();
        }
      }),
    );
  });
});
