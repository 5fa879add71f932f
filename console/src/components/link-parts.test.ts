import { expect, test } from 'vitest';
import { linkParts } from './link-parts.ts';

const app = 'app_1';
const device = 'dev_2LzZ6blcUnSsq7qADFk27Q';
const user = { name: 'u-42', to: '/apps/app_1/users/u-42' };
const tell = (text: string, named = [user]): string =>
  linkParts(text, app, named)
    .map((part) => (part.to === undefined ? part.text : `[${part.text}](${part.to})`))
    .join('');

test.each([
  ['u-42 got it.', '[u-42](/apps/app_1/users/u-42) got it.'],
  // Only the first place, and only the whole word.
  ['u-421 and u-42 and u-42', 'u-421 and [u-42](/apps/app_1/users/u-42) and u-42'],
  [`Device ${device} is invalid.`, `Device [${device}](/apps/app_1/devices/${device}) is invalid.`],
  ['app_2LzZ6blcUnSsq7qADFk27Q is new.', '[app_2LzZ6blcUnSsq7qADFk27Q](/apps/app_2LzZ6blcUnSsq7qADFk27Q) is new.'],
  ['Nothing is named.', 'Nothing is named.'],
  ['evt_2LzZ6blcUnSsq7qADFk27Q has no page.', 'evt_2LzZ6blcUnSsq7qADFk27Q has no page.'],
  ['', ''],
])('a sentence links what it names: %s', (text, told) => expect(tell(text)).toBe(told));

test('the longer of two names at one place is the link', () => {
  const longer = { name: 'u-42 of Berlin', to: '/segment' };
  expect(tell('u-42 of Berlin', [user, longer])).toBe('[u-42 of Berlin](/segment)');
});
