// The meaning of each code of a delivery in words, and the next step for the one who reads it.
// Pure. The codes are those of contract 7.6. `tools/api-types.ts` writes them for the console.
import { z } from 'zod';
import { component } from '../../ground/http/schemas.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { SkipReason } from './delivery.ts';

export const codeMeaning = component(
  'CodeMeaning',
  z.strictObject({
    title: z.string().describe('A few words, as a heading.'),
    meaning: z.string().describe('Completes the sentence "The push failed: …".'),
    action: z.string().describe('The next step, as a sentence.'),
  }),
);
export type CodeMeaning = Readonly<z.output<typeof codeMeaning>>;

/** Failures before skips. */
export const codeMeanings: Readonly<Record<ErrorCode | SkipReason, CodeMeaning>> = {
  unregistered: {
    title: 'The device is gone',
    meaning: 'the token was valid and is gone, mostly because the app was removed or notifications were blocked',
    action: 'Nothing to do: the device is retired, and comes back when it registers again.',
  },
  invalid_token: {
    title: 'The token is not valid',
    meaning: 'the push service does not know the token',
    action: 'Check that the app registers the token of this environment, and registers it unchanged.',
  },
  credential_mismatch: {
    title: 'The device belongs to another credential',
    meaning: 'the token belongs to another key, app or sender',
    action: 'Add the credential that the device registered with under Channels, or let the device register again.',
  },
  auth_failed: {
    title: 'The push service rejects our credential',
    meaning: 'the push service rejected our credential',
    action: 'Set the credential of this channel again under Channels.',
  },
  not_configured: {
    title: 'The channel has no credential',
    meaning: 'the channel had no credential that could be read',
    action: 'Set the credential of this channel under Channels.',
  },
  payload_too_large: {
    title: 'The content is too large',
    meaning: 'the notification is larger than the push service accepts',
    action: 'Shorten the text or the data of the message.',
  },
  invalid_payload: {
    title: 'The push service refused a field',
    meaning: 'the push service refused a field of the notification',
    action: 'Read the raw answer of the push service: it names the field.',
  },
  rate_limited: {
    title: 'The push service asked for a slower pace',
    meaning: 'the push service asked for fewer requests until the retries ended',
    action: 'Send with per_second, or send again later.',
  },
  provider_unavailable: {
    title: 'The push service was not available',
    meaning: 'the push service could not be reached or answered with a fault of its own',
    action: 'Send again later. Read the raw answer for the cause.',
  },
  timeout: {
    title: 'The push service did not answer in time',
    meaning: 'the push service did not answer in ten seconds, so the push may have arrived',
    action: 'Send again only where a second notification does no harm.',
  },
  expired: {
    title: 'The time to send ran out',
    meaning: 'the send window ended before the push service accepted the push',
    action: 'Send with a longer ttl, or with a higher per_second.',
  },
  unknown_error: {
    title: 'An answer that Carillon does not know',
    meaning: 'the push service answered with something that Carillon does not know',
    action: 'Read the raw answer of the push service.',
  },
  device_inactive: {
    title: 'The device became inactive first',
    meaning: 'the device opted out or was retired before its turn',
    action: 'Nothing to do: the device comes back when it registers again.',
  },
  empty_content: {
    title: 'Nothing to show',
    meaning: 'title and body are empty for this person after rendering',
    action: 'Give the values of the template a default.',
  },
  canceled: {
    title: 'The message was canceled',
    meaning: 'the message was canceled before the turn of the device',
    action: 'Nothing to do.',
  },
  local_time_past: {
    title: 'The local time was already past',
    meaning: 'the local time had passed in the time zone of the device',
    action: 'Send earlier, or with local_time_past: now.',
  },
};

export function meaningOf(code: ErrorCode | SkipReason): CodeMeaning {
  return codeMeanings[code];
}
