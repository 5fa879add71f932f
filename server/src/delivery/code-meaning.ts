// The meaning of each code of a delivery in words, and the next step for the one who reads it. Pure;
// the codes themselves are those of contract 7.6.
import type { ErrorCode } from '../channels/error-code.ts';
import type { SkipReason } from './delivery.ts';

export interface CodeMeaning {
  /** Completes the sentence "The push failed: …". */
  readonly meaning: string;
  /** The next step, as a sentence. */
  readonly action: string;
}

const meanings: Readonly<Record<ErrorCode | SkipReason, CodeMeaning>> = {
  unregistered: {
    meaning: 'the token was valid and is gone, mostly because the app was removed or notifications were blocked',
    action: 'Nothing to do: the device is retired, and comes back when it registers again.',
  },
  invalid_token: {
    meaning: 'the push service does not know the token',
    action: 'Check that the app registers the token of this environment, and registers it unchanged.',
  },
  credential_mismatch: {
    meaning: 'the token belongs to another key, app or sender',
    action: 'Add the credential that the device registered with under Channels, or let the device register again.',
  },
  auth_failed: {
    meaning: 'the push service rejected our credential',
    action: 'Set the credential of this channel again under Channels.',
  },
  not_configured: {
    meaning: 'the channel had no credential that could be read',
    action: 'Set the credential of this channel under Channels.',
  },
  payload_too_large: {
    meaning: 'the notification is larger than the push service accepts',
    action: 'Shorten the text or the data of the message.',
  },
  invalid_payload: {
    meaning: 'the push service refused a field of the notification',
    action: 'Read the raw answer of the push service: it names the field.',
  },
  rate_limited: {
    meaning: 'the push service asked for fewer requests until the retries ended',
    action: 'Send with per_second, or send again later.',
  },
  provider_unavailable: {
    meaning: 'the push service could not be reached or answered with a fault of its own',
    action: 'Send again later. Read the raw answer for the cause.',
  },
  timeout: {
    meaning: 'the push service did not answer in ten seconds, so the push may have arrived',
    action: 'Send again only where a second notification does no harm.',
  },
  expired: {
    meaning: 'the send window ended before the push service accepted the push',
    action: 'Send with a longer ttl, or with a higher per_second.',
  },
  unknown_error: {
    meaning: 'the push service answered with something that Carillon does not know',
    action: 'Read the raw answer of the push service.',
  },
  device_inactive: {
    meaning: 'the device opted out or was retired before its turn',
    action: 'Nothing to do: the device comes back when it registers again.',
  },
  empty_content: {
    meaning: 'title and body are empty for this person after rendering',
    action: 'Give the values of the template a default.',
  },
  canceled: {
    meaning: 'the message was canceled before the turn of the device',
    action: 'Nothing to do.',
  },
  local_time_past: {
    meaning: 'the local time had passed in the time zone of the device',
    action: 'Send earlier, or with local_time_past: now.',
  },
};

export function meaningOf(code: ErrorCode | SkipReason): CodeMeaning {
  return meanings[code];
}
