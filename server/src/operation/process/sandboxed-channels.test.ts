import { expect, it } from 'vitest';
import { sandboxedChannels } from './sandboxed-channels.ts';

const vendors = { apnsUrl: 'https://api.push.apple.com', fcmUrl: 'https://fcm.googleapis.com', pushHosts: [] };

it.each([
  ['the addresses of the vendors', {}, []],
  ['a push host of one’s own', { pushHosts: ['push.shop.example'] }, []],
  ['another port of Apple', { apnsUrl: 'https://api.push.apple.com:2197' }, []],
  ['browsers on this machine', { pushHosts: ['localhost'] }, ['webpush']],
  ['phones on this machine', { apnsUrl: 'https://127.0.0.1:1', fcmUrl: 'https://127.0.0.1:2' }, ['apns', 'fcm']],
] as const)('%s lead to the sandbox on the channels that they should', (_name, changed, channels) => {
  expect(sandboxedChannels({ ...vendors, ...changed })).toEqual(channels);
});
