import { expect, test } from 'vitest';
import { vendorOf } from './push-hosts.ts';

test.each([
  ['fcm.googleapis.com', 'google'],
  ['android.googleapis.com', 'google'],
  ['jmt17.google.com', 'google'],
  ['updates.push.services.mozilla.com', 'mozilla'],
  ['web.push.apple.com', 'apple'],
  ['wns2-x.notify.windows.com', 'microsoft'],
  ['a.b.notify.windows.com', 'microsoft'],
  ['push.apple.com', 'other'],
  ['push.example.org', 'other'],
])('%s belongs to %s', (host, vendor) => {
  expect(vendorOf(host)).toBe(vendor);
});
