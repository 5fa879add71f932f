// What the clients of `http2` agree on: what a request looks like, and what is said of a run.
export type ClientName = 'own' | 'node';

export const inFlight = 100;

/** What a client is asked: so many requests that do not count, and so many that do. */
export interface ToClient {
  readonly port: number;
  readonly warmUp: number;
  readonly count: number;
}

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
