import { expect, test } from 'vitest';
import { tellMessage } from './message-text.ts';

const base = {
  status: 'sent',
  status_reason: null,
  report: { accepted: 50_000, sent: 48_210, failed: 1790, skipped: 0 },
  error_counts: { unregistered: 1700, timeout: 90 },
  run_at: null,
  started_at: '2026-11-21T10:00:00.000Z',
  finished_at: '2026-11-21T10:00:14.000Z',
} as const;

test.each([
  [
    'a finished message tells number, time and the chief reason of failures',
    base,
    'Sent to 48,210 of 50,000 devices in 14 s. 1,790 failed, mostly: the device is gone.',
  ],
  [
    'a message without failures says no more',
    { ...base, report: { accepted: 1, sent: 1, failed: 0, skipped: 0 }, error_counts: {} },
    'Sent to 1 of 1 device in 14 s.',
  ],
  [
    'a message that is sending says how far it is',
    {
      ...base,
      status: 'sending',
      report: { accepted: 10, sent: 4, failed: 0, skipped: 0, pending: 6 },
      error_counts: {},
    },
    'Sending: 4 of 10 devices done. 6 to go.',
  ],
  [
    'an empty audience is not called a success',
    { ...base, report: { accepted: 0, sent: 0, failed: 0, skipped: 0 }, error_counts: {} },
    'Nobody was in the audience, so nothing was sent.',
  ],
  [
    'a message that never ran says why',
    {
      ...base,
      status: 'failed',
      status_reason: 'quota_exceeded',
      report: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
      error_counts: {},
    },
    'Nothing was sent, because the monthly quota of the app had no room for it.',
  ],
  [
    'a canceled message says what went before',
    {
      ...base,
      status: 'canceled',
      report: { accepted: 10, sent: 4, failed: 0, skipped: 6 },
      error_counts: { canceled: 6 },
    },
    'Canceled. Before that, sent to 4 of 10 devices in 14 s. 6 skipped.',
  ],
] as const)('%s', (_name, message, sentence) => {
  expect(tellMessage(message)).toBe(sentence);
});
