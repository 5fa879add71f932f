import { expect, it } from 'vitest';
import { parseUrl } from './parse-url.ts';

it('a text is read as a URL, also the ten thousandth time and with letters outside ASCII', () => {
  const text = 'https://bücher.example/straße';
  const read = Array.from({ length: 10_000 }, () => parseUrl(text)?.host);
  expect(new Set(read)).toEqual(new Set(['xn--bcher-kva.example']));
  expect(parseUrl('https://')).toBeNull();
});
