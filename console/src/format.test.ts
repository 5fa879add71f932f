import { describe, expect, test } from 'vitest';
import {
  count,
  countUsers,
  formatBody,
  formatDuration,
  formatExact,
  formatRelative,
  formatShare,
  languageName,
  tellBrowser,
  withLocalTimes,
} from './format.ts';

describe('formatDuration', () => {
  test.each([
    [0, '0 ms'],
    [95, '95 ms'],
    [999.4, '999 ms'],
    [1400, '1.4 s'],
    [14_000, '14 s'],
    [60_000, '1 min'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h'],
    [12_000_000, '3 h 20 min'],
  ])('%d ms reads as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('formatRelative', () => {
  const now = Date.parse('2026-11-21T12:00:00.000Z');
  test.each([
    ['2026-11-21T11:59:55.000Z', 'just now'],
    ['2026-11-21T11:59:30.000Z', '30 seconds ago'],
    ['2026-11-21T11:55:00.000Z', '5 minutes ago'],
    ['2026-11-21T14:00:00.000Z', 'in 2 hours'],
    ['2026-11-22T11:59:40.000Z', 'in 24 hours'],
    ['2026-11-21T10:00:30.000Z', '1 hour ago'],
    ['2026-11-20T11:00:00.000Z', 'yesterday'],
    ['2024-11-20T11:00:00.000Z', '2 years ago'],
  ])('%s reads as %s', (instant, text) => {
    expect(formatRelative(instant, now)).toBe(text);
  });
});

test('a share of zero is no number', () => {
  expect(formatShare(0, 0)).toBe('–');
  expect(formatShare(1, 4)).toBe('25%');
});

test('one is counted in the singular', () => {
  expect(count(1, 'device')).toBe('1 device');
  expect(count(48_210, 'device')).toBe('48,210 devices');
  expect(count(0, 'delivery', 'deliveries')).toBe('0 deliveries');
  expect(countUsers({ users: 1 })).toBe('1 user');
  expect(countUsers({ users: 412_345, users_estimated: true })).toBe('about 412,000 users');
});

test('a body that is JSON gets line breaks, and any other body stays as it came', () => {
  expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(formatBody('<b>gone</b>')).toBe('<b>gone</b>');
});

test('instants in a sentence of the service are shown in the zone of the viewer', () => {
  expect(withLocalTimes('It runs at 2026-11-24T16:07:16.881Z.')).toBe(
    `It runs at ${formatExact('2026-11-24T16:07:16.881Z')}.`,
  );
});

test.each([
  ['de', 'German'],
  ['pt-BR', 'Portuguese (Brazil)'],
  ['xx', 'xx'],
  ['de-12', 'de-12'],
])('a language is told by its name: %s', (tag, name) => {
  expect(languageName(tag)).toBe(name);
});

test.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36',
    'Chrome 150 on Linux',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:142.0) Gecko/20100101 Firefox/142.0', 'Firefox 142 on Windows'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari 18 on iOS',
  ],
  ['curl/8.5.0', 'curl/8.5.0'],
])('the browser of a session has a name: %s', (userAgent, told) => {
  expect(tellBrowser(userAgent)).toBe(told);
});
