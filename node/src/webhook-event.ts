// The events that a webhook receives, distinguished by their `event`. Within v1, kinds and fields
// are only added. A program should acknowledge unknown kinds and ignore unknown fields.
import type { ErrorCode } from './types.gen.ts';

/** The fields of every event. */
export interface EventData {
  readonly message_id: string;
  readonly device_id: string;
  readonly channel: 'webpush' | 'apns' | 'fcm';
  readonly error_code: ErrorCode | null;
  /** The metadata of the accepted message; absent when the message has none. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
}

/** The push service accepted a push. */
export interface MessageSentEvent {
  readonly event: 'message.sent';
  /** When the event happened (not when it was told), as ISO-8601 in UTC. */
  readonly created_at: string;
  readonly data: EventData & { readonly error_code: null };
}

/** A delivery failed for good. */
export interface MessageFailedEvent {
  readonly event: 'message.failed';
  readonly created_at: string;
  readonly data: EventData & {
    readonly error_code: ErrorCode;
    /** The user that the device belonged to when the message was sent. */
    readonly external_id: string | null;
    /** The HTTP status of the last attempt; null when there was no answer. */
    readonly provider_status: number | null;
    /** The push service's own reason. */
    readonly provider_reason: string | null;
    /** Requests made to the push service; 0 when the delivery failed before the first. */
    readonly attempts: number;
  };
}

/** A person opened the notification. Told once for each message and device. */
export interface MessageClickedEvent {
  readonly event: 'message.clicked';
  readonly created_at: string;
  readonly data: EventData & {
    readonly error_code: null;
    readonly external_id: string | null;
    /** The click's target, as it was rendered for that device. */
    readonly url: string | null;
    /** The clicked button; null for the notification itself. */
    readonly action: string | null;
  };
}

/** Sent by hand to try an endpoint. Its ids are all zeros. */
export interface WebhookTestEvent {
  readonly event: 'webhook.test';
  readonly created_at: string;
  readonly data: EventData & { readonly error_code: null };
}

export type WebhookEvent = MessageSentEvent | MessageFailedEvent | MessageClickedEvent | WebhookTestEvent;
