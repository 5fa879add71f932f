// The result of an attempt of a webhook, in words. Pure.
import type { WebhookAttempt, WebhookTest } from '../api/objects.ts';
import { formatDuration } from '../format.ts';

const errors: Readonly<Record<string, string>> = {
  timeout: 'gave no answer within 5 seconds',
  dns_error: 'has a host name without an address',
  connect_error: 'refused the connection',
  tls_error: 'failed the TLS handshake',
  reset: 'cut the connection',
  blocked_address: 'has an address that is not public, so it was not called',
  redirect: 'answered with a redirect, which is not followed',
};

const shortErrors: Readonly<Record<string, string>> = {
  timeout: 'Too late',
  dns_error: 'No address',
  connect_error: 'Refused',
  tls_error: 'TLS failed',
  reset: 'Cut off',
  blocked_address: 'Not public',
  redirect: 'Redirect',
};

type Answer = Pick<WebhookAttempt, 'status_code' | 'error' | 'duration_ms'>;

export function isGood(answer: Pick<WebhookTest, 'status_code'> | null): boolean {
  return answer?.status_code != null && answer.status_code >= 200 && answer.status_code < 300;
}

/** The answer in a word or two: `204`, `Too late`. */
export function shortAnswer({ status_code, error }: Answer): string {
  return status_code === null ? (shortErrors[error ?? ''] ?? 'No answer') : String(status_code);
}

/** `The endpoint answered 204 in 35 ms.` */
export function tellAnswer({ status_code, error, duration_ms }: Answer): string {
  const time = formatDuration(duration_ms);
  if (status_code !== null) return `The endpoint answered ${status_code} in ${time}.`;
  return `The endpoint ${errors[error ?? ''] ?? error ?? 'did not answer'} (${time}).`;
}

export const webhookEvents = [
  ['message.sent', 'Message sent: a push service accepted a push'],
  ['message.failed', 'Message failed: a delivery ended without success'],
  ['message.clicked', 'Message clicked: a person clicked for the first time'],
] as const;
