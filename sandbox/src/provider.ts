// What a provider is to the server on the wire: it is handed one complete request and says what it made of it.
// Another provider is another implementation of this, given to the push server beside the first.
import type { IncomingHttpHeaders } from 'node:http';
import type { Check } from './check.ts';
import type { ShownNotification } from './notification.ts';
import type { SenderName } from './senders.ts';
import type { VapidSeen } from './vapid-checks.ts';
import type { Answer } from './vendors/vendor.ts';

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
  /** Names that were given more than once; known over HTTP/2 only. */
  readonly repeatedHeaders: readonly string[];
  /** The body, or its beginning when `bodyBytes` is more than anyone takes. */
  readonly body: Buffer;
  readonly bodyBytes: number;
  /** Milliseconds since the epoch, when the request was complete. */
  readonly at: number;
}

export type ServiceName = 'webpush' | 'apns' | 'fcm' | 'oauth';

/** Who a request is for, as faults match it. */
export interface Target {
  readonly service: ServiceName;
  readonly vendor: SenderName;
  /** Empty when the request names none. */
  readonly token: string;
}

/** What a provider made of a request. */
export interface Reception extends Target {
  readonly endpoint: string | null;
  readonly checks: readonly Check[];
  readonly vapid: VapidSeen | null;
  /** What a sender to phones showed for itself. */
  readonly providerToken: TokenSeen | null;
  readonly payload: Payload | null;
  readonly notification: ShownNotification | null;
  readonly answer: Answer;
  /** Whether the device would have got it: accepted, and opened by its keys. */
  readonly isDelivered: boolean;
  /** Streams that the connection may have open from now on; null: as many as before. */
  readonly streamsMax: number | null;
}

/** A token that was read: its parts, and whom it is of. */
export interface TokenSeen {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly holder: string;
}

/** A payload, opened where it was encrypted: its text, and what the text is as JSON where it is any. */
export interface Payload {
  readonly text: string;
  readonly json: unknown;
}

export interface Provider {
  /** What its GOAWAY says for itself when it shuts down, and when a connection was idle for too long. */
  readonly goawayWords: { readonly shutdown: string; readonly idle: string };
  /** Cheap: reads the address, and the body only where it names the device. */
  target(authority: string, path: string, body?: Buffer): Target;
  receive(request: PushRequest): Reception;
  /** The provider's own words for a status that a fault asks for. */
  refuseWithStatus(target: Target, status: number): Answer;
  /** Its own error of that name; undefined when it has none. */
  refuseWithReason(target: Target, reason: string): Answer | undefined;
  /** A success for a request that nobody examined; `id` is another for each. */
  acceptBlindly(target: Target, request: PushRequest, id: number): Answer;
  /** Nothing more will come on this connection. */
  connectionEnded?(connectionId: number): void;
}
