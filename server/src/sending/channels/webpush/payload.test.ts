import { describe, expect, test } from 'vitest';
import type { ChannelContent } from '../../content/content.ts';
import type { Push } from '../channel.ts';
import { buildPayload } from './payload.ts';

const clickUrl = 'https://push.example.com/v1/r/TOKEN';
const push = (content: Partial<ChannelContent>, changed: Partial<Push<null>> = {}): Push<null> => ({
  credential: null,
  token: '',
  messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
  deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
  receiptToken: 'TOKEN',
  clickUrl,
  content: { ttl: 60, priority: 'high', ...content },
  ttlSeconds: 60,
  ...changed,
});
const read = (content: Partial<ChannelContent>, onApple = false, changed: Partial<Push<null>> = {}) =>
  JSON.parse(buildPayload(push(content, changed), onApple).toString()) as { notification: Record<string, unknown> };

test('every field of the contract lands where the service worker looks for it', () => {
  const payload = read({
    title: 'Sale',
    body: 'Now on',
    url: 'https://shop.example/sale',
    image: 'https://shop.example/i.png',
    icon: 'https://shop.example/c.png',
    badge: 'https://shop.example/b.png',
    data: { order: 17, vip: true, note: 'hi' },
    tag: 'orders',
    renotify: true,
    require_interaction: true,
    silent: false,
    dir: 'rtl',
    lang: 'ar',
    app_badge: 3,
    actions: [
      { action: 'open', title: 'Open', url: 'https://shop.example/open', icon: 'https://shop.example/o.png' },
      { action: 'later', title: 'Later' },
    ],
  });
  expect(payload).toEqual({
    web_push: 8030,
    notification: {
      title: 'Sale',
      body: 'Now on',
      navigate: 'https://shop.example/sale',
      lang: 'ar',
      dir: 'rtl',
      silent: false,
      tag: 'orders',
      renotify: true,
      requireInteraction: true,
      icon: 'https://shop.example/c.png',
      image: 'https://shop.example/i.png',
      badge: 'https://shop.example/b.png',
      app_badge: 3,
      actions: [
        { action: 'open', title: 'Open', navigate: 'https://shop.example/open', icon: 'https://shop.example/o.png' },
        { action: 'later', title: 'Later', navigate: 'https://shop.example/sale' },
      ],
      data: {
        order: 17,
        vip: true,
        note: 'hi',
        url: 'https://shop.example/sale',
        carillon_message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        carillon_token: 'TOKEN',
      },
    },
  });
});

test('a field that was not given is not sent', () => {
  expect(read({ title: 'Hi' })).toEqual({
    web_push: 8030,
    notification: {
      title: 'Hi',
      tag: 'msg_02y9GVDsTuJUi2BOoCH5G3',
      data: { carillon_message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3', carillon_token: 'TOKEN' },
    },
  });
});

describe('the tag makes a repeated push replace the first', () => {
  test.each([
    [{}, 'msg_02y9GVDsTuJUi2BOoCH5G3'],
    [{ collapse_key: 'order-17' }, 'order-17'],
    [{ collapse_key: 'order-17', tag: 'mine' }, 'mine'],
    [{ tag: 'mine' }, 'mine'],
  ])('%j: %s', (content, tag) => {
    expect(read(content).notification['tag']).toBe(tag);
  });
});

describe('on Apple the links count the click', () => {
  const content = {
    url: 'https://shop.example/',
    actions: [
      { action: 'a b', title: 'A', url: 'https://shop.example/a' },
      { action: 'b', title: 'B' },
    ],
  };

  test('with a public address', () => {
    const { notification } = read(content, true);
    expect(notification['navigate']).toBe(clickUrl);
    expect(notification['actions']).toEqual([
      { action: 'a b', title: 'A', navigate: `${clickUrl}?a=a%20b` },
      { action: 'b', title: 'B', navigate: clickUrl },
    ]);
    expect(notification['data']).toMatchObject({ url: 'https://shop.example/' });
  });

  test('without one they are the real links', () => {
    const { notification } = read(content, true, { clickUrl: null });
    expect(notification['navigate']).toBe('https://shop.example/');
    expect(notification['actions']).toMatchObject([
      { navigate: 'https://shop.example/a' },
      { navigate: 'https://shop.example/' },
    ]);
  });

  test('a notification that opens nothing has no link, because there is nothing to count', () => {
    expect(read({ title: 'x' }, true).notification).not.toHaveProperty('navigate');
  });
});

test('names such as __proto__ are ordinary keys of data', () => {
  const data = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, string>;
  const text = buildPayload(push({ data }), false).toString();
  expect(text).toContain('"__proto__":"x"');
  expect(text).toContain('"constructor":"y"');
});

test('an iOS badge number that came down from the top level is no web badge', () => {
  expect(read({ badge: 3 }).notification).not.toHaveProperty('badge');
});
