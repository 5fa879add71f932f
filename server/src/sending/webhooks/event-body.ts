// The body of a request, made from the stored event. It is the same bytes on every attempt, with
// keys in the documented order (contract 13.1, 13.2). Pure.
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { EventKind } from './webhook.ts';

/** The fields of an event beyond the common four. They depend on its kind. */
export type EventDetails = Readonly<Record<string, string | number | null>>;

export interface EventToTell {
  readonly kind: EventKind;
  readonly at: Date;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  readonly channel: string;
  readonly errorCode: string | null;
  readonly details: EventDetails | null;
  /** The metadata of the message; null when it has none. The field is then omitted. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

const detailsOf: Readonly<Record<EventKind, readonly string[]>> = {
  'message.sent': [],
  'message.failed': ['external_id', 'provider_status', 'provider_reason', 'attempts'],
  'message.clicked': ['external_id', 'url', 'action'],
};

export function eventBody({
  kind,
  at,
  messageId,
  deviceId,
  channel,
  errorCode,
  details,
  metadata,
}: EventToTell): Buffer {
  const further = detailsOf[kind].map((name) => [name, details?.[name] ?? null] as const);
  const data = {
    message_id: encodeId('msg', messageId),
    device_id: encodeId('dev', deviceId),
    channel,
    error_code: errorCode,
    ...Object.fromEntries(further),
    ...(metadata !== null && { metadata }),
  };
  return Buffer.from(JSON.stringify({ event: kind, created_at: at.toISOString(), data }));
}

/** The body of a test event (contract 13.2). */
export function testBody(at: Date): Buffer {
  const data = {
    message_id: 'msg_0000000000000000000000',
    device_id: 'dev_0000000000000000000000',
    channel: 'webpush',
    error_code: null,
  };
  return Buffer.from(JSON.stringify({ event: 'webhook.test', created_at: at.toISOString(), data }));
}
