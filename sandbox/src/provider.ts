// What a provider is to the server on the wire: it is handed one complete request and says what it made of it.
// Another provider is another implementation of this, given to the push server beside the first.
import type { IncomingHttpHeaders } from 'node:http';
import type { Check } from './check.ts';
import type { ShownNotification } from './notification.ts';
import type { VapidSeen } from './vapid-checks.ts';
import type { Answer, VendorName } from './vendors/vendor.ts';

/** One request, read to its end, over either protocol. */
export interface PushRequest {
  readonly protocol: 'h2' | 'http/1.1';
  readonly connectionId: number;
  readonly method: string;
  /** `:authority` or `Host`. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, or its beginning when `bodyBytes` is more than anyone takes. */
  readonly body: Buffer;
  readonly bodyBytes: number;
  /** Milliseconds since the epoch, when the request was complete. */
  readonly at: number;
}

export type ServiceName = 'webpush';

/** Who a request is for, as faults match it. */
export interface Target {
  readonly service: ServiceName;
  readonly vendor: VendorName;
  /** Empty when the path names none. */
  readonly token: string;
}

/** What a provider made of a request. */
export interface Reception extends Target {
  readonly endpoint: string | null;
  readonly checks: readonly Check[];
  readonly vapid: VapidSeen | null;
  readonly payload: Payload | null;
  readonly notification: ShownNotification | null;
  readonly answer: Answer;
  /** Whether the device would have got it: accepted, and opened by its keys. */
  readonly isDelivered: boolean;
}

/** A decrypted payload: its text, and what the text is as JSON where it is any. */
export interface Payload {
  readonly text: string;
  readonly json: unknown;
}

export interface Provider {
  /** Whether requests to this host and path are its own. */
  claims(authority: string, path: string): boolean;
  /** Cheap: reads nothing but the address. */
  target(authority: string, path: string): Target;
  receive(request: PushRequest): Reception;
  /** The provider's own words for a status that a fault asks for. */
  refuseWithStatus(target: Target, status: number): Answer;
}
