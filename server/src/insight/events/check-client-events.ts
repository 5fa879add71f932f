// Rules for events by client key that need no query: their age, their names, and purchases (contract 10).
// Strangers hold client keys. `event-names.ts` and `event-keys.ts` check the shares of names and
// keys.

import { ApiError, invalid } from '../../ground/http/api-error.ts';
import { shownNameProblem } from '../../ground/http/schemas.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { isOneLine } from '../../ground/values/one-line.ts';
import type { ClientEvents } from '../../teams/apps/caller.ts';
import type { EventGiven } from './event.ts';

/**
 * Days. A client key sends no older events, so that a stranger cannot change the reports of closed
 * months.
 */
export const clientDaysMax = 30;
const ageMsMax = clientDaysMax * 24 * 3_600_000;

/**
 * Throws the 400 for events that are too old or whose names could pass for others, and the 403 for a purchase when the app accepts none
 * from client keys.
 */
export function checkClientEvents(
  events: readonly EventGiven[],
  {
    clientEvents,
    nowMs,
    pathOf,
  }: { readonly clientEvents: ClientEvents; readonly nowMs: number; pathOf(index: number): Issue['path'] },
): void {
  const limit = new Date(nowMs - ageMsMax).toISOString();
  const message = `With a client key occurred_at lies at most ${clientDaysMax} days back.`;
  const issues = events.flatMap(({ occurredAtMs }, i): Issue[] =>
    occurredAtMs !== null && occurredAtMs < nowMs - ageMsMax
      ? [{ path: [...pathOf(i), 'occurred_at'], code: 'too_small', message, limit }]
      : [],
  );
  for (const [i, { name }] of events.entries()) {
    if (!isOneLine(name))
      issues.push({ path: [...pathOf(i), 'name'], code: 'invalid_format', message: shownNameProblem });
  }
  if (issues.length > 0) throw invalid(issues);
  const purchase = clientEvents.purchases ? -1 : events.findIndex(({ name }) => name === 'purchase');
  if (purchase === -1) return;
  throw new ApiError('wrong_key_scope', {
    message: 'This app takes purchases from server keys alone.',
    extra: { path: pathOf(purchase) },
  });
}
