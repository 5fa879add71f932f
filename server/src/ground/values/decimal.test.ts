import { describe, expect, it } from 'vitest';
import { add, parseDecimal, subtract, writeDecimal, writePlaces, zero } from './decimal.ts';

const sum = (...texts: string[]): string => writeDecimal(texts.map(parseDecimal).reduce(add, zero));

describe('decimals', () => {
  it('add up exactly what doubles do not', () => {
    expect(sum('0.1', '0.2')).toBe('0.3');
    expect(sum('1000000000000', '0.0000000000000000001')).toBe('1000000000000.0000000000000000001');
    expect(sum(...Array.from({ length: 10 }, () => '9999999999999.99'))).toBe('99999999999999.9');
  });

  it('are read as JavaScript writes numbers, too', () => {
    expect(sum('1e-7', '1.5e-7', '20')).toBe('20.00000025');
    expect(sum('1e+21', '1.5e+2')).toBe('1000000000000000000150');
    expect(sum(String(0.1 + 0.2), String(Number.MIN_VALUE))).toBe(`0.30000000000000004${'0'.repeat(306)}5`);
  });

  it('are written without trailing zeros', () => {
    expect(['0', '0.00', '100', '100.50', '10.0', '007'].map((text) => writeDecimal(parseDecimal(text)))).toEqual([
      '0',
      '0',
      '100',
      '100.5',
      '10',
      '7',
    ]);
  });

  it('are written with all their places, as PostgreSQL writes a sum', () => {
    const texts = ['0', '0.00', '79.90', '-1.0', '-0.5', '0.05'];
    expect(texts.map((text) => writePlaces(parseDecimal(text)))).toEqual(texts);
  });

  it('subtract, through zero', () => {
    const minus = (a: string, b: string): string => writeDecimal(subtract(parseDecimal(a), parseDecimal(b)));
    expect([minus('5', '5.00'), minus('0.3', '0.1'), minus('1', '1.001'), minus('-2', '-2.5')]).toEqual([
      '0',
      '0.2',
      '-0.001',
      '0.5',
    ]);
  });

  it('refuse text that neither JavaScript nor PostgreSQL writes', () => {
    for (const text of ['', '1e5', '.5', '5.', 'NaN', '+1', ' 1']) expect(() => parseDecimal(text)).toThrow();
  });
});
