import { describe, expect, test } from 'vitest';
import { readNotification } from './notification.ts';

const read = (value: unknown) => readNotification(JSON.stringify(value), value);

describe('the view of a payload on a device', () => {
  test('the declarative shape: every field, and where a click leads with and without a service worker', () => {
    expect(
      read({
        web_push: 8030,
        notification: {
          title: 'T',
          body: 'B',
          navigate: 'https://a.example/r',
          lang: 'ar',
          dir: 'rtl',
          silent: true,
          tag: 'tag',
          icon: 'https://a.example/i.png',
          image: 'https://a.example/m.png',
          badge: 'https://a.example/b.png',
          requireInteraction: true,
          actions: [{ action: 'a', title: 'A', navigate: 'https://a.example/a' }, { action: 'b' }, 7],
          data: { carillon_token: 'token', url: 'https://a.example/u' },
        },
      }),
    ).toEqual({
      title: 'T',
      body: 'B',
      icon: 'https://a.example/i.png',
      image: 'https://a.example/m.png',
      badge: 'https://a.example/b.png',
      url: 'https://a.example/u',
      navigate: 'https://a.example/r',
      tag: 'tag',
      actions: [{ action: 'a', title: 'A', url: 'https://a.example/a' }],
      isSilent: true,
      isRequiringInteraction: true,
      dir: 'rtl',
      lang: 'ar',
      isDeclarative: true,
      receiptToken: 'token',
      phone: null,
    });
  });

  test.each([
    [
      { title: 'T', body: 'B', url: 'https://a.example' },
      { title: 'T', body: 'B', url: 'https://a.example' },
    ],
    [
      { title: 'T', message: 'M' },
      { title: 'T', body: 'M' },
    ],
    [{ notification: { title: 'T' } }, { title: 'T', isDeclarative: false }],
    [
      { title: 'T', notification: { body: 'B' } },
      { title: 'T', body: 'B' },
    ],
    [{ body: 'B' }, { title: '', body: 'B' }],
    [
      { title: 'T', icon: 7, actions: 'none', data: [], dir: 'up' },
      { icon: null, actions: [], dir: 'auto' },
    ],
  ])('the fields of %j', (payload, seen) => {
    expect(read(payload)).toMatchObject(seen);
  });

  test.each([{}, { title: 7 }, { notification: null }, { web_push: 8030 }])('nothing for %j', (payload) => {
    expect(read(payload)).toBeNull();
  });

  test('the text itself, when it is no JSON object', () => {
    expect(readNotification('Hello', undefined)).toMatchObject({ title: 'Hello', body: '' });
    expect(readNotification('[1]', [1])).toMatchObject({ title: '[1]' });
    expect(readNotification('', undefined)).toBeNull();
  });
});
