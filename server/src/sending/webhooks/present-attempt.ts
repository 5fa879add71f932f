// An attempt of a webhook as the console and the command line show it.
import { encodeId } from '../../ground/values/ids.ts';
import type { AttemptRow } from './queries.ts';
import { kindOfNumber } from './webhook.ts';

/** Presents an attempt. `at` is a date, and the duration has milliseconds. */
export function presentAttempt(row: AttemptRow) {
  return {
    at: row.at,
    event: kindOfNumber(row.kind),
    event_id: encodeId('whe', row.eventId),
    message_id: encodeId('msg', row.messageId),
    device_id: encodeId('dev', row.deviceId),
    attempt: row.attempt,
    status_code: row.statusCode,
    error: row.error,
    duration_ms: row.durationMs,
  };
}
