import { describe, expect, test } from 'vitest';
import type { ChannelContent } from '../../content/content.ts';
import type { Push } from '../channel.ts';
import { apnsIdOf, buildHeaders, buildPayload } from './payload.ts';

const nowMs = Date.parse('2026-11-21T10:15:30.900Z');

function push(content: Partial<ChannelContent>, ttlSeconds = 3_600): Push<{ bundleId: string }> {
  return {
    credential: { bundleId: 'com.example.shop' },
    token: 'ab'.repeat(32),
    messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    receiptToken: 'AQGS',
    clickUrl: null,
    content: { ttl: 3_600, priority: 'high', ...content },
    ttlSeconds,
  };
}

const payloadOf = (content: Partial<ChannelContent>) => JSON.parse(buildPayload(push(content)).toString());
const headersOf = (content: Partial<ChannelContent>, ttlSeconds?: number) =>
  buildHeaders(push(content, ttlSeconds), nowMs, 'bearer a.b.c');
const ours = { carillon_message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3', carillon_token: 'AQGS' };

describe('the payload', () => {
  test('every field stands where the contract puts it', () => {
    expect(
      payloadOf({
        title: 'Sale',
        subtitle: 'Today',
        body: 'Now on',
        url: 'shop://sale',
        image: 'https://shop.example/a.png',
        badge: 3,
        sound: 'bell.caf',
        category: 'SALE',
        thread_id: 'sales',
        interruption_level: 'time-sensitive',
        relevance_score: 0.5,
        mutable_content: true,
        content_available: true,
        target_content_id: 'window-1',
        data: { order: 17, paid: true, note: 'x' },
      }),
    ).toEqual({
      aps: {
        alert: { title: 'Sale', subtitle: 'Today', body: 'Now on' },
        badge: 3,
        sound: 'bell.caf',
        'thread-id': 'sales',
        category: 'SALE',
        'content-available': 1,
        'mutable-content': 1,
        'target-content-id': 'window-1',
        'interruption-level': 'time-sensitive',
        'relevance-score': 0.5,
      },
      url: 'shop://sale',
      image_url: 'https://shop.example/a.png',
      order: 17,
      paid: true,
      note: 'x',
      ...ours,
    });
  });

  test('a field that was not given is absent', () => {
    expect(payloadOf({ title: 'Sale' })).toEqual({ aps: { alert: { title: 'Sale' } }, ...ours });
  });

  test('an image asks for the extension that fetches it', () => {
    expect(payloadOf({ title: 'Sale', image: 'https://a.example/b.png' }).aps['mutable-content']).toBe(1);
  });

  test.each([
    [
      { name: 'bell.caf', critical: true, volume: 0.5 },
      { name: 'bell.caf', critical: 1, volume: 0.5 },
    ],
    [
      { name: 'bell.caf', critical: false },
      { name: 'bell.caf', critical: 0 },
    ],
    [{ name: 'bell.caf' }, { name: 'bell.caf' }],
  ])('the sound %j is %j', (sound, expected) => {
    expect(payloadOf({ title: 'Sale', sound }).aps.sound).toEqual(expected);
  });

  test('a badge of 0 clears it', () => {
    expect(payloadOf({ title: 'Sale', badge: 0 }).aps.badge).toBe(0);
  });

  test('a background push shows nothing', () => {
    expect(payloadOf({ content_available: true, data: { sync: true } })).toEqual({
      aps: { 'content-available': 1 },
      sync: true,
      ...ours,
    });
  });
});

describe('the headers', () => {
  test('name the sender, topic, identity, type, life, urgency and the push that is replaced', () => {
    expect(headersOf({ title: 'Sale' })).toEqual({
      authorization: 'bearer a.b.c',
      'apns-topic': 'com.example.shop',
      'apns-push-type': 'alert',
      'apns-id': 'e63cc8fd-db6e-5cb9-b51e-0ec3465e5843',
      'apns-expiration': String(Math.floor(nowMs / 1_000) + 3_600),
      'apns-priority': '10',
      'apns-collapse-id': 'msg_02y9GVDsTuJUi2BOoCH5G3',
    });
  });

  test('a ttl of 0 stays 0: now or never', () => {
    expect(headersOf({ title: 'Sale' }, 0)['apns-expiration']).toBe('0');
  });

  test.each([
    ['high', '10'],
    ['normal', '5'],
    ['low', '1'],
  ] as const)('priority %s is %s', (priority, expected) => {
    expect(headersOf({ title: 'Sale', priority })['apns-priority']).toBe(expected);
  });

  test('a background push says so, and is never urgent', () => {
    expect(headersOf({ content_available: true, priority: 'high' })).toMatchObject({
      'apns-push-type': 'background',
      'apns-priority': '5',
    });
  });

  test.each(['', { name: '', volume: 0.5 }])('a background push may name no sound: %j is left out', (sound) => {
    expect(headersOf({ content_available: true, sound })).toMatchObject({ 'apns-push-type': 'background' });
    expect(payloadOf({ content_available: true, sound }).aps).toEqual({ 'content-available': 1 });
    expect(payloadOf({ title: 'T', sound }).aps).toEqual({ alert: { title: 'T' } });
  });

  test.each([{ badge: 0 }, { badge: 3 }, { sound: 'bell.caf' }, { badge: 0, content_available: true }])(
    'a push of %j alone is an alert push without an alert',
    (given) => {
      const { content_available: wakes, ...shown } = { content_available: false, ...given };
      expect(headersOf(given)).toMatchObject({ 'apns-push-type': 'alert', 'apns-priority': '10' });
      expect(payloadOf(given).aps).toEqual({ ...shown, ...(wakes && { 'content-available': 1 }) });
    },
  );

  test('a collapse key is the id under which one push replaces another', () => {
    expect(headersOf({ title: 'Sale', collapse_key: 'order-17' })['apns-collapse-id']).toBe('order-17');
  });
});

test('the apns-id is the vector of the contract, and each device of a message has its own', () => {
  const message = 'msg_02y9GVDsTuJUi2BOoCH5G3';
  expect(apnsIdOf(message, 'dev_4r4tgBwaHmRyQNukgzmqsi')).toBe('e63cc8fd-db6e-5cb9-b51e-0ec3465e5843');
  expect(apnsIdOf(message, 'dev_0351dbgDTMcdJ4uMzQecL9')).not.toBe('e63cc8fd-db6e-5cb9-b51e-0ec3465e5843');
  expect(apnsIdOf('msg_0000000000000000000001', 'dev_4r4tgBwaHmRyQNukgzmqsi')).not.toMatch(/^e63cc8fd/);
  expect(apnsIdOf(message, 'dev_4r4tgBwaHmRyQNukgzmqsi')).toBe('e63cc8fd-db6e-5cb9-b51e-0ec3465e5843');
});
