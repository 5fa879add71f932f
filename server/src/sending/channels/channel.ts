// The interface of every channel: a Push goes in, an Outcome comes out. A channel knows no
// database, and of users and messages only their ids. A channel never throws for a refusal:
// whatever a provider, a network or a hostile token does is an Outcome.

import type { TransportError } from '@carillon/http2';
import type { ChannelContent } from '../content/content.ts';
import type { ErrorCode } from './error-code.ts';

export const channelIds = ['webpush', 'apns', 'fcm'] as const;
export type ChannelId = (typeof channelIds)[number];

export const platforms = ['web', 'ios', 'android'] as const;
export type Platform = (typeof platforms)[number];

/** The one channel that reaches a platform (contract 8). */
export const channelOfPlatform: Readonly<Record<Platform, ChannelId>> = { web: 'webpush', ios: 'apns', android: 'fcm' };

/**
 * The two environments of APNs. A token belongs to one of them, depending on how its app was built
 * (contract 8).
 */
export const environments = ['production', 'sandbox'] as const;
export type Environment = (typeof environments)[number];

/**
 * The provider's answer as the timeline shows it: verbatim text and chosen headers, never a request
 * header or a key.
 */
export interface ProviderAnswer {
  /** `webpush`, `apns` or `fcm`. */
  readonly name: ChannelId;
  readonly httpStatus: number | null;
  /**
   * Only `apns-id`, `apns-unique-id`, `retry-after`, `location`, `content-type`, and the headers in
   * which WNS explains an answer. In lower case.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Response text up to 4,096 bytes; null when there was none. */
  readonly body: string | null;
  readonly truncated: boolean;
  /** The reason why no HTTP answer came; the status is null then. */
  readonly transportError: TransportError | null;
}

/**
 * One push to one device. The content is merged and rendered, and nothing is left to resolve. A
 * channel changes none of it.
 */
export interface Push<Credential> {
  readonly credential: Credential;
  /** The device's token as registered (web: the push subscription as JSON). */
  readonly token: string;
  /**
   * The public ids `msg_…` and `dev_…`. Every attempt has the same ids, so that a repeated
   * notification replaces the first instead of appearing twice.
   */
  readonly messageId: string;
  readonly deviceId: string;
  /** The receipt token (contract 14), 47 characters. */
  readonly receiptToken: string;
  /** `{base_url}/v1/r/{token}`, or null where no public address is configured. */
  readonly clickUrl: string | null;
  readonly content: ChannelContent;
  /** The rest of the content's ttl in whole seconds; a ttl of 0 stays 0 (contract 7.4). */
  readonly ttlSeconds: number;
  /**
   * For APNs only: the environment of the token, as the device said or as an earlier push found.
   * Null or absent: not known.
   */
  readonly environment?: Environment | null;
  /**
   * Waits for the right to make one more request. Called before each request of this push after the
   * first. Absent: no wait.
   */
  readonly again?: (() => Promise<void>) | undefined;
  /**
   * Called when a request is about to be sent, after every wait. False: the request is not sent
   * . Absent: it is always sent.
   */
  isWanted?(): boolean;
}

/** A push on its way, which takes its own outcome. */
export interface SentPush<Credential> extends Push<Credential> {
  /**
   * Takes the one outcome of this push, possibly during the call of `send`. Must not throw. A
   * method and not a promise, because promises took a third of the memory of a waiting push.
   */
  onOutcome(outcome: Outcome): void;
}

/** The parts of the service's clock that a channel needs. */
export interface ChannelClock {
  /** The present instant, for the times in tokens. */
  nowMs(): number;
  /** For durations: nobody sets it, and it includes the time that the host slept. */
  steadyMs(): number;
  /** The number of times that a clock has stepped. */
  readonly steps: number;
  /** While true, `nowMs` may be wrong by hours: no token is signed that a push could use. */
  isInDoubt(): boolean;
}

/**
 * The end of one push. Every kind but `sent` names its code. `retryable` says whether the code
 * allows another attempt at all.
 */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly providerMessageId: string | null;
      readonly provider: ProviderAnswer;
      readonly latencyMs: number;
      /**
       * For APNs only: the environment that accepted a token of unknown environment, to be
       * remembered.
       */
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
      /** Null when a local check failed before any request. */
      readonly provider: ProviderAnswer | null;
      readonly latencyMs: number;
      /**
       * The time at which the token ended, as the provider says. A token registered later is alive.
       */
      readonly goneAtMs?: number;
      /**
       * The provider refuses more pushes to this token for now, but accepts pushes to other tokens.
       */
      readonly isOfToken?: true;
      /**
       * No provider was asked: the host's name could not be looked up in time, because lookups of
       * other names held all places.
       */
      readonly isUntried?: true;
      /** Our own clock may be at fault, so the refusal says nothing of the credential. */
      readonly isExcused?: true;
    };

/** A push that did not arrive, whether the provider or a local check refused it. */
export type RefusedOutcome = Extract<Outcome, { kind: 'refused' }>;

/** A bucket of tokens, one for each push. It fills faster the longer it is used. */
export interface Rate {
  /** Tokens a second after a rest. */
  readonly perSecondLeast: number;
  readonly perSecondMost: number;
  /**
   * The time in which the rate grows from its least to its most. An equally long rest starts the
   * growth again.
   */
  readonly rampMs: number;
  /** The most tokens that a rest saves. They may all be used at once. */
  readonly savedMost: number;
  /**
   * Milliseconds after which an unused token is dropped, so that late tokens do not add up to a
   * burst.
   */
  readonly usableMs: number;
}

/**
 * A way to reach phones or browsers. One test suite, `server/test/channels/conformance.ts`, holds
 * every channel to the same behaviour.
 */
export interface Channel<Credential> {
  /** Sends one push, and tells it the outcome. Throws nothing. */
  send(push: SentPush<Credential>): void;
  /**
   * The pace that the provider asks of an account. `send` does not wait for it: the caller does,
   * while it holds nothing that others need. Absent: the provider asks for none.
   */
  readonly pace?: { readonly rate: Rate; accountOf(credential: Credential): string };
  /** Closes the warm connections after the pushes under way have ended. */
  close(): Promise<void>;
}
