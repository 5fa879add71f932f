import { describe, expect, test } from 'vitest';
import { marksOf, readNotification, targetOf } from './notification.ts';

const data = { carillon_message_id: 'msg_1', carillon_token: 'token', url: 'https://shop.example/sale' };
const push = (notification: Record<string, unknown>) => JSON.stringify({ web_push: 8030, notification });
const read = (text: string | null, actionsMax: number | undefined = 2) =>
  readNotification(text, {}, 'shop.example', actionsMax);

describe('a push', () => {
  test('of the whole contract becomes the options that browsers know', () => {
    const shown = read(
      push({
        title: 'Sale',
        body: 'Now on',
        navigate: 'https://shop.example/sale',
        lang: 'en-US',
        dir: 'auto',
        silent: true,
        tag: 'sale',
        renotify: true,
        requireInteraction: true,
        icon: 'https://shop.example/icon.png',
        image: 'https://shop.example/image.png',
        badge: 'https://shop.example/badge.png',
        app_badge: 3,
        actions: [
          { action: 'buy', title: 'Buy', navigate: 'https://shop.example/buy', icon: 'https://shop.example/b.png' },
        ],
        data: { ...data, topic: 'sport' },
      }),
    );
    expect(shown).toEqual({
      title: 'Sale',
      appBadge: 3,
      options: {
        body: 'Now on',
        lang: 'en-US',
        dir: 'auto',
        silent: true,
        tag: 'sale',
        renotify: true,
        requireInteraction: true,
        icon: 'https://shop.example/icon.png',
        image: 'https://shop.example/image.png',
        badge: 'https://shop.example/badge.png',
        actions: [{ action: 'buy', title: 'Buy', icon: 'https://shop.example/b.png' }],
        data: {
          ...data,
          topic: 'sport',
          carillon_url: 'https://shop.example/sale',
          carillon_actions: { buy: 'https://shop.example/buy' },
        },
      },
    });
  });

  test.each([
    ['no payload', null, 'shop.example', undefined],
    ['plain text, as from developer tools', 'Test push', 'shop.example', 'Test push'],
    ['half a JSON', '{"notification":', 'shop.example', '{"notification":'],
    ['JSON of another kind', '{"hello":1}', 'shop.example', undefined],
    ['an array', '[]', 'shop.example', undefined],
    ['null', 'null', 'shop.example', 'null'],
    ['a notification that is no object', '{"notification":"x"}', 'shop.example', undefined],
    ['fields of wrong types', push({ title: 7, body: {}, tag: [], actions: 'x', data: 1 }), 'shop.example', undefined],
    ['a body without a title', push({ body: 'Now on' }), 'shop.example', 'Now on'],
  ])('of %s still shows something', (_, text, title, body) => {
    const shown = read(text);
    expect(shown.title).toBe(title);
    expect(shown.options.body).toBe(body);
  });

  test("without title, icon or badge takes the site's defaults, and its own before them", () => {
    const defaults = { title: 'Shop', icon: '/icon.png', badge: '/badge.png' };
    expect(readNotification(null, defaults, 'shop.example', 2)).toMatchObject({
      title: 'Shop',
      options: { icon: '/icon.png', badge: '/badge.png' },
    });
    expect(readNotification(push({ title: 'Sale', icon: 'https://a/i.png' }), defaults, '', 2)).toMatchObject({
      title: 'Sale',
      options: { icon: 'https://a/i.png' },
    });
  });

  test('renotifies only with a tag, because browsers throw without one', () => {
    expect(read(push({ title: 'a', renotify: true })).options).not.toHaveProperty('renotify');
    expect(read(push({ title: 'a', renotify: true, tag: 't' })).options).toHaveProperty('renotify', true);
  });

  test('without a tag is replaced by a repeat of the same message', () => {
    expect(read(push({ title: 'a', data })).options.tag).toBe('msg_1');
  });

  test('with an unknown direction is shown without one', () => {
    expect(read(push({ title: 'a', dir: 'up' })).options).not.toHaveProperty('dir');
  });

  test.each([
    [1, ['a']],
    [2, ['a', 'b']],
    [undefined, ['a', 'b', 'c']],
  ])('shows at most the %s buttons a browser takes', (actionsMax, shown) => {
    const actions = ['a', 'b', 'c'].map((action) => ({ action, title: action }));
    const { options } = readNotification(push({ title: 't', actions }), {}, '', actionsMax);
    expect(options.actions?.map(({ action }) => action)).toEqual(shown);
  });

  test.each([
    [3, 3],
    [0, 0],
    ['3', null],
    [1.5, null],
    [undefined, null],
  ])('with the app badge %s sets %s', (badge, set) => {
    expect(read(push({ title: 'a', app_badge: badge })).appBadge).toBe(set);
  });
});

describe('a click', () => {
  const shown = read(
    push({
      title: 'a',
      navigate: 'https://push.example/v1/r/token',
      data,
      actions: [
        { action: 'buy', title: 'Buy', navigate: 'https://shop.example/buy' },
        { action: 'later', title: 'Later' },
      ],
    }),
  ).options.data;

  test.each([
    ['', 'https://shop.example/sale'],
    ['buy', 'https://shop.example/buy'],
    ['later', 'https://shop.example/sale'],
    ['unknown', 'https://shop.example/sale'],
    ['constructor', 'https://shop.example/sale'],
  ])("on '%s' leads to %s", (action, target) => {
    expect(targetOf(shown, action, 'https://shop.example/')).toBe(target);
  });

  test('leads to navigate when the message has no url of its own', () => {
    const { options } = read(push({ title: 'a', navigate: 'https://shop.example/n', data: {} }));
    expect(targetOf(options.data, '', 'https://shop.example/')).toBe('https://shop.example/n');
  });

  test.each([['javascript:alert(1)'], ['data:text/html,x'], ['http://'], ['shop://cart']])(
    'never follows %s',
    (url) => {
      expect(targetOf({ carillon_url: url }, '', 'https://shop.example/')).toBeNull();
    },
  );

  test.each([[null], [undefined], ['x'], [{ carillon_actions: 1 }]])(
    'on a foreign notification (%j) leads nowhere',
    (foreign) => {
      expect(targetOf(foreign, '', 'https://shop.example/')).toBeNull();
      expect(marksOf(foreign)).toEqual({ token: null, messageId: null });
    },
  );
});
