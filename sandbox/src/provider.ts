// The interface between the wire and a provider: the provider gets one complete request and returns
// its judgement. Another provider is another implementation of this interface.
import type { IncomingHttpHeaders } from 'node:http';
import type { Check } from './check.ts';
import type { ShownNotification } from './notification.ts';
import type { SenderName } from './senders.ts';
import type { VapidSeen } from './vapid-checks.ts';
import type { Answer } from './vendors/vendor.ts';

/** One complete request, over either protocol. */
export interface PushRequest {
  readonly protocol: 'h2' | 'http/1.1';
  readonly connectionId: number;
  readonly method: string;
  /** `:authority` or `Host`. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Headers that were given more than once; known over HTTP/2 only. */
  readonly repeatedHeaders: readonly string[];
  /** The body, or its beginning when it is larger than any provider accepts. */
  readonly body: Buffer;
  readonly bodyBytes: number;
  /** Milliseconds since the epoch, when the request was complete. */
  readonly at: number;
}

export type ServiceName = 'webpush' | 'apns' | 'fcm' | 'oauth';

/** The addressee of a request, as fault rules match it. */
export interface Target {
  readonly service: ServiceName;
  readonly vendor: SenderName;
  /** Empty when the request names none. */
  readonly token: string;
}

/** A provider's judgement of a request. */
export interface Reception extends Target {
  readonly endpoint: string | null;
  readonly checks: readonly Check[];
  readonly vapid: VapidSeen | null;
  /** The credential that a sender to phones presented. */
  readonly providerToken: TokenSeen | null;
  readonly payload: Payload | null;
  readonly notification: ShownNotification | null;
  readonly answer: Answer;
  /** Whether the device gets the push: accepted, and decryptable with its keys. */
  readonly isDelivered: boolean;
  /** Streams that the connection may have open from now on; null: unchanged. */
  readonly streamsMax: number | null;
}

/** A token that was read: its parts, and its holder. */
export interface TokenSeen {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly holder: string;
}

/** A payload, decrypted where needed: its text, and the parsed JSON if it is JSON. */
export interface Payload {
  readonly text: string;
  readonly json: unknown;
}

export interface Provider {
  /** The debug text of GOAWAY at shutdown, and after a connection was idle too long. */
  readonly goawayWords: { readonly shutdown: string; readonly idle: string };
  /** Must be cheap: it reads the address, and the body only when that names the device. */
  target(authority: string, path: string, body?: Buffer): Target;
  receive(request: PushRequest): Reception;
  /** The provider's usual words for a status that a fault asks for. */
  refuseWithStatus(target: Target, status: number): Answer;
  /** The provider's own error of that name; undefined when it has none. */
  refuseWithReason(target: Target, reason: string): Answer | undefined;
  /** A success for a request that nobody examined. `id` differs for each. */
  acceptBlindly(target: Target, request: PushRequest, id: number): Answer;
  /** Called when a connection has ended. */
  connectionEnded?(connectionId: number): void;
}
