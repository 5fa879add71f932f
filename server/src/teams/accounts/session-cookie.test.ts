import { expect, it } from 'vitest';
import { cookieFormOf, type Way } from './session-cookie.ts';

const direct: Way = {
  host: undefined,
  isForwarded: false,
  protocols: [],
  peer: { isTrusted: false, isLoopback: false },
};
const here: Partial<Way> = { peer: { isTrusted: false, isLoopback: true } };
const proxy: Partial<Way> = { isForwarded: true, peer: { isTrusted: true, isLoopback: false } };
const https = 'https://push.shop.example';

it.each<[string | null, Partial<Way>, string | null]>([
  [https, here, '__Host-carillon_session'],
  [https, {}, null],
  [https, { protocols: ['https'], isForwarded: true }, null],
  [https, { ...here, isForwarded: true }, null],
  [https, { ...proxy, protocols: ['https'] }, '__Host-carillon_session'],
  [https, { ...proxy, protocols: ['https', 'HTTPS'] }, '__Host-carillon_session'],
  [https, { ...proxy, protocols: ['https', 'http'] }, null],
  [https, { ...proxy, protocols: ['http'] }, null],
  [https, { ...proxy, protocols: [''] }, null],
  [https, proxy, '__Host-carillon_session'],
  ['http://localhost:8080', { host: 'localhost:8080' }, 'carillon_session'],
  ['http://[::1]:8080', { host: '[::1]:8080' }, 'carillon_session'],
  [null, { host: '127.0.0.1:8080' }, 'carillon_session'],
  [null, { host: 'push.shop.example' }, null],
  ['http://localhost:8080', { host: 'localhost:8080', isForwarded: true }, null],
  ['http://localhost:8080', { host: 'push.shop.example' }, null],
  ['http://push.shop.example', { ...here, host: 'localhost:8080' }, null],
  ['http://push.shop.example', { ...proxy, protocols: ['https'], host: 'push.shop.example' }, null],
])('R-50 at %s a request %j gets the cookie %s', (publicUrl, way, name) => {
  expect(cookieFormOf(publicUrl, { ...direct, ...way })?.name ?? null).toBe(name);
});
