import { expect, test } from 'vitest';
import { emptyForm } from './message-form.ts';
import { tellIssue, tellWarnings } from './tell-trial.ts';

const answer = { dry_run: true, count: 1, users: 1, by_channel: {}, quota: null };

test('warnings have numbers that people can read, and a pace without words of the API', () => {
  const warnings = [
    { code: 'channel_not_configured', channel: 'apns', message: '156093 devices would be skipped: …' },
    { code: 'rate_too_low', limit: 1200, message: '585206 deliveries do not end within their send window of 86400 s' },
  ];
  const told = tellWarnings({ ...answer, warnings } as never, { ...emptyForm, per_second: 1 });
  expect(told.warnings.map(({ message }) => message)).toEqual([
    '156,093 devices would be skipped: …',
    'At 1 push a second the message does not reach everybody in time. The slowest pace that does is 1,200 a second.',
  ]);
  expect(told).toMatchObject({ count: 1, warnings: [{ channel: 'apns' }, { limit: 1200 }] });
});

test('a local time that is past somewhere says which time is not, and what else can be done', () => {
  const issue = {
    path: ['send_at'],
    code: 'too_soon',
    limit: '2026-11-27T03:23:28.937+01:00',
    message: 'In the first time zone, +14:00, … send_at from 2026-11-27T03:23:28.937+01:00 on, or local_time_past.',
  };
  const { message } = tellIssue(issue, { ...emptyForm, local_time: true });
  expect(message.replaceAll('\u202f', ' ')).toBe(
    'In some time zones this time is past already. Choose Nov 27, 2026, 3:24 AM or later, or say below what becomes of the people there.',
  );
  expect(tellIssue(issue, emptyForm).message).toBe('Choose a time that is at least 30 seconds ahead.');
  const far = { path: ['send_at'], code: 'too_big', message: 'send_at must be at most 365 days ahead.' };
  expect(tellIssue(far, emptyForm).message).toBe('Choose a time that is at most 365 days ahead.');
  const other = { path: ['content', 'title'], code: 'template_syntax', message: "There is no variable 'x'." };
  expect(tellIssue(other, emptyForm)).toBe(other);
});
