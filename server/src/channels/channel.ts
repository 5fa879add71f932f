// What every channel is: a Push in, an Outcome out. Knows no database, no user and no message beyond their ids.
// A channel never throws for a refusal: whatever a provider, a network or a hostile token does is an Outcome.
import type { ChannelContent } from '../content/content.ts';
import type { TransportError } from '../platform/outbound-socket.ts';
import type { ErrorCode } from './error-code.ts';

export const channelIds = ['webpush', 'apns', 'fcm'] as const;
export type ChannelId = (typeof channelIds)[number];

export const platforms = ['web', 'ios', 'android'] as const;
export type Platform = (typeof platforms)[number];

/** The one channel that reaches a platform (contract 8). */
export const channelOfPlatform: Readonly<Record<Platform, ChannelId>> = { web: 'webpush', ios: 'apns', android: 'fcm' };

/** The two worlds of APNs: a token belongs to one of them, by how its app was built (contract 8). */
export const environments = ['production', 'sandbox'] as const;
export type Environment = (typeof environments)[number];

/** The provider's answer as the timeline shows it: verbatim text, chosen headers, never a request header or a key. */
export interface ProviderAnswer {
  /** `webpush`, `apns` or `fcm`. */
  readonly name: ChannelId;
  readonly httpStatus: number | null;
  /** Only `apns-id`, `apns-unique-id`, `retry-after`, `location` and `content-type`, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Response text up to 4,096 bytes; null when there was none. */
  readonly body: string | null;
  readonly truncated: boolean;
  /** Why no HTTP answer came; then the status is null. */
  readonly transportError: TransportError | null;
}

/** One push to one device: content merged and rendered, nothing left to resolve. A channel changes none of it. */
export interface Push<Credential> {
  readonly credential: Credential;
  /** The device's token as registered (web: the push subscription as JSON). */
  readonly token: string;
  /** External ids, `msg_…` and `dev_…`: the same on every attempt, so a repeat replaces instead of doubling. */
  readonly messageId: string;
  readonly deviceId: string;
  /** The receipt token (contract 14), 47 characters. */
  readonly receiptToken: string;
  /** `{base_url}/v1/r/{token}`, or null where no public address is configured. */
  readonly clickUrl: string | null;
  readonly content: ChannelContent;
  /** What is left of the content's ttl, in whole seconds; 0 stays 0 (contract 7.4). */
  readonly ttlSeconds: number;
  /** APNs alone: where the token belongs, by the device's word or as it was found. Null or absent: not known. */
  readonly environment?: Environment | null;
  /** Waited for before each request that this push needs beside its first. Absent: nothing is to be waited for. */
  readonly again?: (() => Promise<void>) | undefined;
  /** Asked as each request is about to go out, after every wait: false, and it does not. Absent: it always does. */
  readonly isWanted?: (() => boolean) | undefined;
}

/** How one push ended. Everything but `sent` names its code; `retryable` says whether the code may be tried again at all. */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly providerMessageId: string | null;
      readonly provider: ProviderAnswer;
      readonly latencyMs: number;
      /** APNs alone: where a token of unknown environment turned out to belong, to be remembered. */
      readonly environmentFound?: Environment;
    }
  | {
      readonly kind: 'refused';
      readonly errorCode: ErrorCode;
      readonly retryable: boolean;
      /** The provider's Retry-After, clamped to 1 s … 1 h; null when it gave none. */
      readonly retryAfterMs: number | null;
      /** The provider's reason word, at most 200 characters; null without one. */
      readonly reason: string | null;
      /** Null when nothing was sent: a local check failed before any request. */
      readonly provider: ProviderAnswer | null;
      readonly latencyMs: number;
      /** When the provider says that the token ended; one registered since is alive. */
      readonly goneAtMs?: number;
      /** The provider refuses more pushes to this token for now, and takes those to others. */
      readonly isOfToken?: true;
      /** Nobody was asked: the host's name could not even be looked up in time, as other names held all places. */
      readonly isUntried?: true;
    };

/** A push that did not arrive, whoever said so. */
export type RefusedOutcome = Extract<Outcome, { kind: 'refused' }>;

/** A way to reach phones or browsers. One suite, `server/test/channels/conformance.ts`, holds every channel to the same behaviour. */
export interface Channel<Credential> {
  readonly id: ChannelId;
  readonly platform: Platform;
  /** For people: `Web push`. */
  readonly name: string;
  /** Largest payload in UTF-8 bytes, measured after personalization. */
  readonly payloadBytesMax: number;
  /** Sends one push. Never rejects. */
  send(push: Push<Credential>): Promise<Outcome>;
  /**
   * How long the next push with this credential has to wait, in milliseconds; it takes its place in the row. A promise where the
   * place has to be asked for. Absent: never.
   * `send` itself does not wait: whoever waits must hold nothing that others need.
   */
  waitMs?(credential: Credential): number | Promise<number>;
  /** Ends warm connections; pushes under way end first. */
  close(): Promise<void>;
}
