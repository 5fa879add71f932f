// What both ends of `http2` agree on: where, what a request looks like, and what is said of a run.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fixtures = fileURLToPath(new URL('../../../server/test/fixtures/', import.meta.url));
export const certificateFile = join(fixtures, 'cert.pem');
export const keyFile = join(fixtures, 'key.pem');

export type ClientName = 'own' | 'node';

export const inFlight = 100;

/** One measured run of a client. */
export interface Measured {
  readonly perSecond: number;
  /** User and system time of the client's process. */
  readonly cpuUs: number;
}

/** Shaped as for APNs: constants, and a path and an id of its own for each. */
export const constants = {
  authorization: `bearer ${'eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.'.repeat(4)}`,
  topic: 'com.example.shop',
  pushType: 'alert',
  priority: '10',
  expiration: '1767225600',
};

export const body = Buffer.from(
  JSON.stringify({
    aps: { alert: { title: 'Your order is on its way', body: 'It arrives tomorrow.' } },
    url: '/orders',
  }),
);

const idOf = (number: number) => number.toString(16).padStart(12, '0');
export const pathOf = (number: number) =>
  `/3/device/0123456789abcdef0123456789abcdef0123456789abcdef0123${idOf(number)}`;
export const apnsIdOf = (number: number) => `e63c4f3a-0f0c-4c7c-9d6b-${idOf(number)}`;
