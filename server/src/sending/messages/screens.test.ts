import { describe, expect, it } from 'vitest';
import { channelIds } from '../channels/channel.ts';
import { cutText, screenNames, screensOf } from './screens.ts';

describe('a text on a screen', () => {
  it.each([
    ['a text within the limit is whole', 'Hello', 5, 'Hello', 5],
    ['a longer text ends in an ellipsis within the limit', 'Hello there', 8, 'Hello t…', 11],
    ['no space stands before the ellipsis', 'Hello there', 7, 'Hello…', 11],
    ['an emoji of several code points counts once', '👩‍👩‍👧👍', 2, '👩‍👩‍👧👍', 2],
    ['an emoji is not torn', 'a👩‍👩‍👧b', 2, 'a…', 3],
    ['a letter with a combining mark counts once', 'Zoë', 3, 'Zoë', 3],
    ['nothing is nothing', '', 5, '', 0],
  ])('%s', (_name, text, limit, shown, length) => {
    expect(cutText(text, limit)).toEqual({ text, shown, length, limit });
  });

  it('every channel has a screen, and every screen a channel', () => {
    const names = channelIds.flatMap((channel) => screensOf[channel].map(({ name }) => name));
    expect(names.toSorted()).toEqual([...screenNames].sort());
  });
});
