import { expect, it } from 'vitest';
import { vendorOfToken } from './push-vendor.ts';

const web = (endpoint: string): string => JSON.stringify({ endpoint, keys: { p256dh: 'x', auth: 'y' } });

it.each([
  ['webpush', web('https://fcm.googleapis.com/fcm/send/abc'), 'google'],
  ['webpush', web('https://updates.push.services.mozilla.com/wpush/v2/abc'), 'mozilla'],
  ['webpush', web('https://web.push.apple.com/abc'), 'apple'],
  ['webpush', web('https://wns2-par02p.notify.windows.com/w/?token=abc'), 'microsoft'],
  ['webpush', web('https://push.shop.example/abc'), 'other'],
  ['webpush', null, 'other'],
  ['apns', 'ab'.repeat(32), 'apple'],
  ['fcm', 'token', 'google'],
] as const)('a token of %s (%s) belongs to %s', (channel, token, vendor) => {
  expect(vendorOfToken(channel, token)).toBe(vendor);
});
