// A webhook: the kinds of events, its states, and what each answer of its endpoint makes of it (contract 12, 13.4). Pure.
//
//   enabled ──the 15th failure in a row──► disabled ──by hand: no failures, one probe──► enabled
//
// How many requests may be under way at once: 10 at first, one more with each 2xx up to 64; from the first failure on at most
// min(10, 15 − failures), so that a dead endpoint gets exactly 15 requests; 1 while it is probed after being enabled again.

export const eventKinds = ['message.sent', 'message.failed', 'message.clicked'] as const;
export type EventKind = (typeof eventKinds)[number];

/** As it is stored. Never renumber: append. */
export function kindNumber(kind: EventKind): number {
  return eventKinds.indexOf(kind);
}

export function kindOfNumber(number: number): EventKind {
  const kind = eventKinds[number];
  if (!kind) throw new Error(`no kind of event has the number ${number}`);
  return kind;
}

/** What a webhook is told, by its choice; no choice is all. */
export function subscribedKinds(events: readonly string[]): EventKind[] {
  return eventKinds.filter((kind) => events.length === 0 || events.includes(kind));
}

/** In one app. */
export const webhooksMax = 10;
export const failuresMax = 15;
const inFlightFirst = 10;
const inFlightMost = 64;
const firstPauseMs = 100;

/** How an endpoint has been doing. */
export interface Health {
  readonly state: 'enabled' | 'disabled';
  /** In a row. */
  readonly failures: number;
  readonly inFlightMax: number;
  readonly isProbing: boolean;
}

/** After being enabled again: one request at a time until a 2xx. */
export const probingHealth: Health = { state: 'enabled', failures: 0, inFlightMax: 1, isProbing: true };

/** A 2xx. One that comes after the disabling does not enable. */
export function afterSuccess(health: Health): Health {
  if (health.state === 'disabled') return health;
  const inFlightMax = health.isProbing ? inFlightFirst : Math.min(inFlightMost, health.inFlightMax + 1);
  return { state: 'enabled', failures: 0, inFlightMax, isProbing: false };
}

/** Anything else. */
export function afterFailure(health: Health): Health {
  if (health.state === 'disabled') return health;
  const failures = health.failures + 1;
  if (failures >= failuresMax) return { state: 'disabled', failures: failuresMax, inFlightMax: 1, isProbing: false };
  const inFlightMax = health.isProbing ? 1 : Math.min(inFlightFirst, failuresMax - failures);
  return { ...health, failures, inFlightMax };
}

/** How long a webhook rests before its next request of any event, after so many failures in a row. */
export function pauseMs(failures: number, pauseMsMax: number): number {
  return failures === 0 ? 0 : Math.min(pauseMsMax, firstPauseMs * 2 ** (failures - 1));
}
