import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { detectFacts, osOf, sdk } from './device-facts.ts';

afterEach(() => vi.unstubAllGlobals());

test('the sdk fact names the version of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(sdk).toBe(`carillon-web/${version}`);
});

const agent = (system: string) => `Mozilla/5.0 (${system}) AppleWebKit/605.1.15 (KHTML, like Gecko)`;

test.each([
  ['Windows NT 10.0; Win64; x64', 0, 'Windows'],
  ['Linux; Android 15; Pixel 9', 5, 'Android'],
  ['iPhone; CPU iPhone OS 18_4 like Mac OS X', 5, 'iOS'],
  ['Macintosh; Intel Mac OS X 10_15_7', 0, 'macOS'],
  ['Macintosh; Intel Mac OS X 10_15_7', 5, 'iOS'],
  ['X11; CrOS x86_64 14541.0.0', 0, 'Chrome OS'],
  ['X11; Linux x86_64', 0, 'Linux'],
  ['PlayStation', 0, undefined],
])('%s with %i touch points runs %s', (system, touchPoints, os) => {
  expect(osOf(agent(system), touchPoints)).toBe(os);
});

describe('the facts of a browser', () => {
  test("prefer the browser's own platform hint to its user agent", () => {
    vi.stubGlobal('navigator', {
      language: 'fr',
      userAgent: agent('X11; Linux'),
      userAgentData: { platform: 'Windows' },
    });
    expect(detectFacts()).toMatchObject({ sdk, locale: 'fr', os: 'Windows' });
  });

  test.each(['de-DE', 'de', 'zh-Hant', 'es-419', 'ca-ES-valencia', 'de-DE-u-co-phonebk'])(
    'have the locale %s as the browser reports it, because the service reads every form',
    (language) => {
      vi.stubGlobal('navigator', { language, userAgent: '' });
      expect(detectFacts()).toMatchObject({ locale: language });
    },
  );

  test.each(['', undefined])('leave out unknown values instead of guessing (%j)', (language) => {
    vi.stubGlobal('navigator', { language, userAgent: '' });
    expect(Object.keys(detectFacts())).not.toContain('locale');
    expect(Object.keys(detectFacts())).not.toContain('os');
  });
});
