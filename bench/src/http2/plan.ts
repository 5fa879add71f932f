// The plan that the clients of `http2` share: the shape of a request and the figures of a run.
export type ClientName = 'own' | 'node';

export const inFlight = 100;

/** The order to a client: `warmUp` requests that do not count, then `count` requests that do. */
export interface ToClient {
  readonly port: number;
  readonly warmUp: number;
  readonly count: number;
}

/** The figures of one run of a client. */
export interface ClientRun {
  readonly perSecond: number;
  /** User and system time of the client's process per request, in microseconds. */
  readonly cpuUs: number;
}

/**
 * Requests in the shape of APNs: constant headers, and a path and an id that differ in each
 * request.
 */
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
