import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arithmetic } from './arithmetic.ts';
import { decimal } from './template.ts';

type Name = keyof typeof arithmetic;
const compute = (value: unknown, name: Name, ...args: unknown[]): unknown =>
  Reflect.apply(arithmetic[name], undefined, [value, ...args]);

describe('arithmetic', () => {
  test.each<[unknown, Name, unknown, unknown]>([
    [0.1, 'plus', 0.2, 0.3],
    [100, 'minus', 99.99, 0.01],
    [1.1, 'times', 1.1, 1.21],
    [10, 'divided_by', 4, 2.5],
    [1, 'divided_by', 3, '0.33333333333333333333'],
    [-2, 'divided_by', 3, '-0.66666666666666666667'],
    [2, 'divided_by', -3, '-0.66666666666666666667'],
    ['19.90', 'times', 3, 59.7],
    [' +7 ', 'plus', '.5', 7.5],
    ['1e3', 'plus', '5.', 1005],
    [1e21, 'plus', 1, '1000000000000000000001'],
    [5e-324, 'plus', 1, 1],
    [0.5, 'minus', 0.5, 0],
    [-0.5, 'times', 0, 0],
    ['0.000000000000000000005', 'plus', 0, 1e-20],
    ['9'.repeat(40), 'plus', 0, '9'.repeat(40)],
    ['9'.repeat(40), 'plus', 1, undefined],
    [`${'9'.repeat(20)}.${'9'.repeat(20)}`, 'plus', 0, `${'9'.repeat(20)}.${'9'.repeat(20)}`],
    [`1${'0'.repeat(20)}.${'1'.repeat(20)}`, 'plus', 0, undefined],
    [1e308, 'times', 10, undefined],
    [1, 'divided_by', 0, undefined],
    [0, 'divided_by', '0.00', undefined],
    ['pro', 'plus', 1, undefined],
    [1, 'plus', 'pro', undefined],
    ['', 'plus', 1, undefined],
    ['.', 'plus', 1, undefined],
    ['1,000', 'plus', 1, undefined],
    ['0x10', 'plus', 1, undefined],
    ['Infinity', 'plus', 1, undefined],
    [undefined, 'plus', 1, undefined],
    [1, 'plus', undefined, undefined],
    [true, 'plus', 1, undefined],
    [2.5, 'round', undefined, 3],
    [-2.5, 'round', undefined, -3],
    [1.005, 'round', 2, 1.01],
    [1250, 'round', -2, 1300],
    [1.5, 'round', 99, 1.5],
    [2.7, 'round', 'x', undefined],
    ['x', 'round', 2, undefined],
    [-1.1, 'floor', undefined, -2],
    [-1.9, 'ceil', undefined, -1],
    ['2.0000000000000000001', 'ceil', undefined, 3],
    [7, 'floor', undefined, 7],
    [-0.4, 'round', undefined, 0],
    [-0.4, 'ceil', undefined, 0],
    [0, 'times', -1, 0],
    ['9007199254740992', 'plus', 1, '9007199254740993'],
    [9007199254740992, 'minus', '0.5', '9007199254740991.5'],
    [1e21, 'divided_by', 1e21, 1],
    ['1e-400', 'plus', 1, 1],
    ['\u0661', 'plus', 1, undefined],
    ['1_0', 'plus', 1, undefined],
    ['--1', 'plus', 1, undefined],
  ])('%j | %s: %j is %j', (value, name, argument, result) => {
    expect(argument === undefined && name !== 'plus' ? compute(value, name) : compute(value, name, argument)).toBe(
      result,
    );
  });

  // An independent computation by fractions of whole numbers, which need no scale and no rounding
  // until the end.
  const units = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
  const written = fc.tuple(units, fc.integer({ min: 0, max: 9 })).map(([whole, places]) => {
    const digits = String(whole < 0n ? -whole : whole).padStart(places + 1, '0');
    const at = digits.length - places;
    const text = `${whole < 0n ? '-' : ''}${digits.slice(0, at)}${places === 0 ? '' : `.${digits.slice(at)}`}`;
    return { text, over: whole, under: 10n ** BigInt(places) };
  });

  function expected(over: bigint, under: bigint): string | undefined {
    const scaled = (over < 0n ? -over : over) * 10n ** 21n;
    const divisor = under < 0n ? -under : under;
    // 21 digits, cut off. The last digit decides the rounding, and a remainder cannot change it.
    const cut = scaled / divisor;
    const units = cut / 10n + (cut % 10n >= 5n ? 1n : 0n);
    const whole = units / 10n ** 20n;
    const fraction = String(units % 10n ** 20n)
      .padStart(20, '0')
      .replace(/0+$/, '');
    if (String(whole).length + fraction.length > 40) return undefined;
    const isNegative = over < 0n !== under < 0n && units !== 0n;
    return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
  }

  test('agrees with fractions of whole numbers, for every operation', () => {
    const operations = fc.constantFrom('plus', 'minus', 'times', 'divided_by');
    fc.assert(
      fc.property(written, written, operations, (a, b, name) => {
        const fractions = {
          plus: [a.over * b.under + b.over * a.under, a.under * b.under],
          minus: [a.over * b.under - b.over * a.under, a.under * b.under],
          times: [a.over * b.over, a.under * b.under],
          divided_by: [a.over * b.under, a.under * b.over],
        } as const;
        const [over, under] = fractions[name];
        const result = compute(a.text, name, b.text);
        expect(typeof result === 'number' ? decimal(result) : result).toBe(
          under === 0n ? undefined : expected(over, under),
        );
      }),
      { numRuns: 3000 },
    );
  });
});
