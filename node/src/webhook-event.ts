// What a webhook is told: the events, by their `event`. Within v1 kinds and fields are only added, so a program acknowledges a
// kind it does not know and ignores fields it does not know.
import type { ErrorCode } from './types.gen.ts';

/** Of every event. */
export interface EventData {
  readonly message_id: string;
  readonly device_id: string;
  readonly channel: 'webpush' | 'apns' | 'fcm';
  readonly error_code: ErrorCode | null;
  /** The message's, as it was accepted; only where it has one. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
}

/** The push service took a push. */
export interface MessageSentEvent {
  readonly event: 'message.sent';
  /** When it happened, not when it is told: ISO-8601 in UTC. */
  readonly created_at: string;
  readonly data: EventData & { readonly error_code: null };
}

/** A delivery failed for good. */
export interface MessageFailedEvent {
  readonly event: 'message.failed';
  readonly created_at: string;
  readonly data: EventData & {
    readonly error_code: ErrorCode;
    /** The user that the device belonged to when it was sent. */
    readonly external_id: string | null;
    /** The HTTP status of the last attempt; null where there was no answer. */
    readonly provider_status: number | null;
    /** The push service's own word. */
    readonly provider_reason: string | null;
    /** Requests made to the push service; 0 for a failure before any. */
    readonly attempts: number;
  };
}

/** Somebody opened the notification; once for each message and device. */
export interface MessageClickedEvent {
  readonly event: 'message.clicked';
  readonly created_at: string;
  readonly data: EventData & {
    readonly error_code: null;
    readonly external_id: string | null;
    /** Where the click led, as it was rendered for that device. */
    readonly url: string | null;
    /** The button; null: the notification itself. */
    readonly action: string | null;
  };
}

/** Sent by hand, to try an endpoint; its ids are all zeros. */
export interface WebhookTestEvent {
  readonly event: 'webhook.test';
  readonly created_at: string;
  readonly data: EventData & { readonly error_code: null };
}

export type WebhookEvent = MessageSentEvent | MessageFailedEvent | MessageClickedEvent | WebhookTestEvent;
