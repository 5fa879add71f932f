import { expect, it } from 'vitest';
import { closest } from './closest.ts';

const words = ['start', 'migrate', 'app', 'key', 'webhook', 'identify-secret', 'export', 'import'];

it.each([
  ['ap', 'app'],
  ['apps', 'app'],
  ['APP', 'app'],
  ['strat', 'start'],
  ['webhok', 'webhook'],
  ['identify_secret', 'identify-secret'],
  ['inport', 'import'],
  ['cook', undefined],
  ['', undefined],
])('finds the intended word, and nothing far off: %s', (given, meant) => {
  expect(closest(given, words)).toBe(meant);
});
