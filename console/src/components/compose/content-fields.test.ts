import { expect, test } from 'vitest';
import { moreFieldsAt } from './content-fields.ts';

const namesAt = (place: Parameters<typeof moreFieldsAt>[0]): string[] => moreFieldsAt(place).map(({ name }) => name);

test('the form has every field of contract 7.1 beside texts and buttons', () => {
  const common = ['icon', 'ttl', 'priority', 'collapse_key', 'data'];
  expect(namesAt('all')).toEqual(common);
  expect(namesAt('language-de')).toEqual([]);
  const own = {
    webpush: ['badge', 'tag', 'renotify', 'require_interaction', 'silent', 'dir', 'lang', 'app_badge'],
    apns: [
      ...['sound', 'badge', 'category', 'thread_id', 'interruption_level', 'relevance_score', 'mutable_content'],
      ...['content_available', 'target_content_id'],
    ],
    fcm: [
      ...['channel_id', 'sound', 'color', 'tag', 'visibility', 'notification_count', 'click_action'],
      ...['analytics_label', 'direct_boot_ok'],
    ],
  } as const;
  for (const channel of ['webpush', 'apns', 'fcm'] as const) {
    expect(namesAt(channel).sort()).toEqual([...own[channel], ...common].sort());
  }
});

test('a label is given once in a place, so that a reader of the screen tells fields apart', () => {
  for (const place of ['all', 'webpush', 'apns', 'fcm'] as const) {
    const labels = moreFieldsAt(place).map(({ label }) => label);
    expect(new Set(labels).size).toBe(labels.length);
  }
});
