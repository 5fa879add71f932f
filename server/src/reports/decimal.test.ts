import { describe, expect, it } from 'vitest';
import { add, parseDecimal, subtract, writeDecimal, zero } from './decimal.ts';

const sum = (...texts: string[]): string => writeDecimal(texts.map(parseDecimal).reduce(add, zero));

describe('decimals', () => {
  it('add up exactly what doubles do not', () => {
    expect(sum('0.1', '0.2')).toBe('0.3');
    expect(sum('1000000000000', '0.0000000000000000001')).toBe('1000000000000.0000000000000000001');
    expect(sum(...Array.from({ length: 10 }, () => '9999999999999.99'))).toBe('99999999999999.9');
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

  it('subtract, through zero', () => {
    const minus = (a: string, b: string): string => writeDecimal(subtract(parseDecimal(a), parseDecimal(b)));
    expect([minus('5', '5.00'), minus('0.3', '0.1'), minus('1', '1.001'), minus('-2', '-2.5')]).toEqual([
      '0',
      '0.2',
      '-0.001',
      '0.5',
    ]);
  });

  it('refuses what PostgreSQL never writes', () => {
    for (const text of ['', '1e5', '.5', '5.', 'NaN', '+1', ' 1']) expect(() => parseDecimal(text)).toThrow();
  });
});
