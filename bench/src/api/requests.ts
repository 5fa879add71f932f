// The requests that the API is measured with, as bytes of HTTP/1.1 that are cheap to make. Each
// kind stands for one cost of the service: a row written, a row read, or an answer from the
// process's memory.
import { randomBytes } from 'node:crypto';

/** The requests of one connection, sent again and again. Its `keys` are used in turn. */
export interface Asking {
  readonly kind: RequestKind;
  readonly keys: readonly string[];
  /** Ids of devices, messages or users that exist. */
  readonly ids: readonly string[];
}

export const requestKinds = [
  'new devices',
  'known devices',
  'users',
  'events',
  'config',
  'message',
  'messages',
  'properties',
] as const;
export type RequestKind = (typeof requestKinds)[number];

interface Form {
  readonly method: 'GET' | 'POST';
  path(id: string): string;
  body?(number: number, id: string): string;
}

const run = randomBytes(6).toString('hex');
/** A token as long as the tokens of Google. */
const tokenOf = (text: string): string => `${text}:APA91b`.padEnd(152, 'x');

const forms: Readonly<Record<RequestKind, Form>> = {
  'new devices': {
    method: 'POST',
    path: () => '/v1/devices',
    body: (number) => deviceBody(`${run}-${process.pid}-${number}`),
  },
  'known devices': { method: 'POST', path: () => '/v1/devices', body: (_number, id) => deviceBody(id) },
  users: {
    method: 'POST',
    path: () => '/v1/users',
    body: (number, id) =>
      `{"external_id":"${id}","first_name":"Ada","country":"DE","properties":{"plan":"pro","age":36,${changing(number)}}}`,
  },
  events: { method: 'POST', path: () => '/v1/events', body: () => '{"name":"article_read"}' },
  config: { method: 'GET', path: () => '/v1/config' },
  message: { method: 'GET', path: (id) => `/v1/messages/${id}` },
  messages: { method: 'GET', path: () => '/v1/messages?limit=10' },
  properties: { method: 'GET', path: () => '/v1/properties' },
};

/** With `plan` and `age` ten properties; every request changes all but these two. */
function changing(number: number): string {
  return Array.from({ length: 8 }, (_, key) => `"key_${key}":${number + key}`).join(',');
}

export function deviceBody(name: string): string {
  return `{"platform":"android","token":"${tokenOf(name)}","locale":"de-DE","timezone":"Europe/Berlin","app_version":"4.2.0","os":"Android","os_version":"15","model":"Pixel 8"}`;
}

/** The bytes of request `number`, as Latin-1. */
export function writeRequest({ kind, keys, ids }: Asking, number: number): string {
  const { method, path, body } = forms[kind];
  const id = ids[number % Math.max(1, ids.length)] ?? '';
  const key = keys[number % keys.length] ?? '';
  const head = `${method} ${path(id)} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const text = body(number, id);
  return `${head}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}
