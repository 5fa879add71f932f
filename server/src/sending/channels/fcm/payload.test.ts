import { describe, expect, test } from 'vitest';
import type { ChannelContent } from '../../content/content.ts';
import type { Push } from '../channel.ts';
import { buildMessage, payloadBytesOf } from './payload.ts';

function push(content: Partial<ChannelContent>, ttlSeconds = 3_600): Push<null> {
  return {
    credential: null,
    token: 'fGx0kKd3Q8u:APA91bHkR',
    messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    receiptToken: 'AQGS',
    clickUrl: null,
    content: { ttl: 3_600, priority: 'high', ...content },
    ttlSeconds,
  };
}

const messageOf = (content: Partial<ChannelContent>, ttlSeconds?: number) =>
  JSON.parse(buildMessage(push(content, ttlSeconds))).message;
const ours = { carillon_message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3', carillon_token: 'AQGS' };

describe('the message', () => {
  test('every field stands where the contract puts it', () => {
    expect(
      messageOf({
        title: 'Sale',
        body: 'Now on',
        url: 'https://shop.example/sale',
        image: 'https://shop.example/a.png',
        icon: 'ic_sale',
        color: '#ff0000',
        sound: 'bell',
        tag: 'sale',
        collapse_key: 'order-17',
        channel_id: 'offers',
        visibility: 'private',
        notification_count: 3,
        click_action: 'OPEN_SALE',
        analytics_label: 'autumn',
        direct_boot_ok: true,
        data: { order: 17, paid: true, note: 'x' },
      }),
    ).toEqual({
      token: 'fGx0kKd3Q8u:APA91bHkR',
      notification: { title: 'Sale', body: 'Now on' },
      data: { order: '17', paid: 'true', note: 'x', url: 'https://shop.example/sale', ...ours },
      android: {
        collapse_key: 'order-17',
        priority: 'HIGH',
        ttl: '3600s',
        direct_boot_ok: true,
        notification: {
          icon: 'ic_sale',
          color: '#ff0000',
          sound: 'bell',
          tag: 'sale',
          click_action: 'OPEN_SALE',
          channel_id: 'offers',
          image: 'https://shop.example/a.png',
          visibility: 'PRIVATE',
          notification_count: 3,
        },
      },
      fcm_options: { analytics_label: 'autumn' },
    });
  });

  test('a field that was not given is absent, and the message replaces itself', () => {
    expect(messageOf({ title: 'Sale' })).toEqual({
      token: 'fGx0kKd3Q8u:APA91bHkR',
      notification: { title: 'Sale' },
      data: ours,
      android: { priority: 'HIGH', ttl: '3600s', notification: { tag: 'msg_02y9GVDsTuJUi2BOoCH5G3' } },
    });
  });

  test('a collapse key without a tag is the tag as well', () => {
    const { android } = messageOf({ title: 'Sale', collapse_key: 'order-17' });
    expect(android).toMatchObject({ collapse_key: 'order-17', notification: { tag: 'order-17' } });
  });

  test('a background push is data alone: a notification would show something', () => {
    expect(messageOf({ data: { sync: true }, priority: 'normal' })).toEqual({
      token: 'fGx0kKd3Q8u:APA91bHkR',
      data: { sync: 'true', ...ours },
      android: { priority: 'NORMAL', ttl: '3600s' },
    });
  });

  test.each([
    ['high', 'HIGH'],
    ['normal', 'NORMAL'],
    ['low', 'NORMAL'],
  ] as const)('priority %s is %s', (priority, expected) => {
    expect(messageOf({ title: 'Sale', priority }).android.priority).toBe(expected);
  });

  test.each([
    [0, '0s'],
    [1, '1s'],
    [2_419_200, '2419200s'],
    [9_999_999, '2419200s'],
  ])('a remaining ttl of %i s is written %s', (ttlSeconds, expected) => {
    expect(messageOf({ title: 'Sale' }, ttlSeconds).android.ttl).toBe(expected);
  });
});

test('its size counts keys and values in bytes, and neither the token nor the JSON around them', () => {
  const bytes = (content: Partial<ChannelContent>) => payloadBytesOf(buildMessage(push(content)));
  const least = bytes({ title: 'x' });
  expect(bytes({ title: '🔔' })).toBe(least + 3);
  expect(bytes({ title: '"' })).toBe(least);
  expect(bytes({ title: 'x', data: { key: 12 } })).toBe(least + 5);
  expect(bytes({ title: 'x', icon: 'ic' })).toBe(least + 6);
  const short = push({ title: 'x' });
  expect(payloadBytesOf(buildMessage({ ...short, token: 'x'.repeat(4_000) }))).toBe(least);
});
