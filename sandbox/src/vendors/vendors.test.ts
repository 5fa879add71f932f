import { describe, expect, test } from 'vitest';
import type { Problem } from './vendor.ts';
import { readEndpoint, vendorNames, vendorOfHost, vendors } from './vendors.ts';

const someToken = 'kvxvIkrYAAAAAGQlKyO6YA';
const problems: readonly Problem[] = ['endpoint_gone', 'ttl_missing', 'vapid_signature', 'body_too_large'];

describe.each(vendorNames)('%s', (name) => {
  const vendor = vendors[name];

  test.each([true, false])('finds its own endpoints again (bound to a key: %s)', (isRestricted) => {
    const path = vendor.endpointPath(someToken, isRestricted);
    expect(readEndpoint(path)).toEqual({ vendor, token: someToken });
  });

  test('knows its own host, and no other vendor does', () => {
    expect(vendorNames.filter((each) => vendors[each].isHost(vendor.host))).toEqual([name]);
    expect(vendorOfHost(vendor.host)).toBe(vendor);
  });

  test('answers every script’s status with that status', () => {
    for (const status of [400, 401, 403, 404, 405, 406, 410, 413, 418, 429, 500, 502, 503, 507]) {
      expect(vendor.refuseWithStatus(status).status).toBe(status);
    }
  });

  test('writes header names as HTTP/2 demands, in lower case', () => {
    const answers = [
      ...problems.map((problem) => vendor.refuse(problem, 'why')),
      vendor.refuseWithStatus(503),
      vendor.accept({ origin: 'https://localhost', messageId: 'id', ttlSeconds: 60 }),
    ];
    for (const header of answers.flatMap((answer) => Object.keys(answer.headers))) {
      expect(header).toBe(header.toLowerCase());
    }
  });
});

test.each(['/', '/favicon.ico/x', '/wpush/v3/abc', '/w/?other=abc', '/message/1', '/fcm/send/', '/a b'])(
  'the path %s is no vendor’s endpoint',
  (path) => {
    expect(readEndpoint(path)).toBeUndefined();
  },
);
