// The body of POST /v1/events: one event, or up to fifty under `events`. The whole body is checked
// before anything is stored, so that one invalid event stores nothing. Pure.

import { ApiError, invalid } from '../../ground/http/api-error.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { type Issue, issuesMax } from '../../ground/values/issue.ts';
import { type EventGiven, eventFields, eventsMax, issue, readEvent, refuseKey, required, wrongType } from './event.ts';

const batchFields = ['events'];

/**
 * Returns the events of a request, in its order. Throws the 400 that lists all issues, then the 403
 * for fields that a client key may not use.
 */
export function readEvents(body: unknown, isServer: boolean): EventGiven[] {
  const issues: Issue[] = [];
  const events =
    isRecord(body) && isBatch(body) ? readBatch(body, isServer, issues) : readSingle(body, isServer, issues);
  if (issues.length > 0) throw invalid(issues);
  if (!isServer && events.some(({ externalId }) => externalId !== null)) {
    throw new ApiError('wrong_key_scope', { message: 'external_id needs a server key.' });
  }
  return events;
}

/** The path of an event in the request. */
export function pathOfEvent(body: unknown, index: number): Issue['path'] {
  return isRecord(body) && isBatch(body) ? ['events', index] : [];
}

function isBatch(body: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(body, 'events') && body['events'] !== null;
}

function readSingle(body: unknown, isServer: boolean, issues: Issue[]): EventGiven[] {
  if (body === undefined) {
    issues.push(required([]));
    return [];
  }
  // `events: null` counts as absent, and an event has no such field.
  const { events: _omitted, ...rest } = isRecord(body) ? body : {};
  return readAt(isRecord(body) ? rest : body, [], isServer, issues);
}

function readBatch(body: Readonly<Record<string, unknown>>, isServer: boolean, issues: Issue[]): EventGiven[] {
  for (const key in body) {
    if (key === 'events' || (body[key] === null && (eventFields as readonly string[]).includes(key))) continue;
    if (key === 'name') {
      const message = 'A request has a name or events, not both.';
      issues.push({ path: [], code: 'exactly_one_required', message, allowed: ['name', 'events'] });
    } else refuseKey([], key, batchFields, issues);
    if (issues.length >= issuesMax) return [];
  }
  const { events } = body;
  if (!Array.isArray(events)) issues.push(wrongType(['events'], 'an array'));
  else if (events.length === 0) issues.push(issue(['events'], 'too_small', 'A batch has at least 1 event.'));
  else if (events.length > eventsMax) {
    issues.push(issue(['events'], 'too_big', `A batch has at most ${eventsMax} events.`));
  }
  if (!Array.isArray(events) || issues.length > 0) return [];
  return events.flatMap((given: unknown, i) => readAt(given, ['events', i], isServer, issues));
}

function readAt(given: unknown, at: readonly (string | number)[], isServer: boolean, issues: Issue[]): EventGiven[] {
  const event = issues.length < issuesMax ? readEvent(given, at, issues) : undefined;
  if (event === undefined) return [];
  // Otherwise a stranger could use up another device's ids.
  if (!isServer && event.id !== null && event.deviceId === null) {
    const message = 'With a client key an event that has an id needs a device_id.';
    issues.push(issue([...at, 'device_id'], 'required', message));
  }
  return [event];
}
