// A webhook: its kinds of events, its states, and how each answer of its endpoint changes its
// health (contract 12, 13.4). Pure.
//
//    enabled ──the 15th failure in a row──► disabled ──by hand: no failures, one probe──► enabled
//
// The window is how many requests may be under way at once. It starts at 10 and grows by one with
// each 2xx, up to 64. From the first failure on it is at most min(10, 15 − failures), so that a
// dead endpoint gets exactly 15 requests. It is 1 while the webhook is probed after it was enabled
// again.

export const eventKinds = ['message.sent', 'message.failed', 'message.clicked'] as const;
export type EventKind = (typeof eventKinds)[number];

/** The stored number of a kind. Never renumber: append. */
export function kindNumber(kind: EventKind): number {
  return eventKinds.indexOf(kind);
}

export function kindOfNumber(number: number): EventKind {
  const kind = eventKinds[number];
  if (!kind) throw new Error(`no kind of event has the number ${number}`);
  return kind;
}

/** The kinds that a webhook is subscribed to. An empty choice stands for all. */
export function subscribedKinds(events: readonly string[]): EventKind[] {
  return eventKinds.filter((kind) => events.length === 0 || events.includes(kind));
}

/** The most webhooks of one app. */
export const webhooksMax = 10;
export const failuresMax = 15;
const inFlightFirst = 10;
const inFlightMost = 64;
const firstPauseMs = 100;

/** The health of an endpoint. */
export interface Health {
  readonly state: 'enabled' | 'disabled';
  /** Failures in a row. */
  readonly failures: number;
  readonly inFlightMax: number;
  readonly isProbing: boolean;
}

/** The health after a webhook was enabled by hand: one request at a time until a 2xx. */
export const probingHealth: Health = { state: 'enabled', failures: 0, inFlightMax: 1, isProbing: true };

/** The health after a 2xx. A 2xx that comes after the disabling does not enable. */
export function afterSuccess(health: Health): Health {
  if (health.state === 'disabled') return health;
  const inFlightMax = health.isProbing ? inFlightFirst : Math.min(inFlightMost, health.inFlightMax + 1);
  return { state: 'enabled', failures: 0, inFlightMax, isProbing: false };
}

/** The health after any other result. */
export function afterFailure(health: Health): Health {
  if (health.state === 'disabled') return health;
  const failures = health.failures + 1;
  if (failures >= failuresMax) return { state: 'disabled', failures: failuresMax, inFlightMax: 1, isProbing: false };
  const inFlightMax = health.isProbing ? 1 : Math.min(inFlightFirst, failuresMax - failures);
  return { ...health, failures, inFlightMax };
}

/**
 * How long a webhook waits before its next request of any event, after this many failures in a row.
 */
export function pauseMs(failures: number, pauseMsMax: number): number {
  return failures === 0 ? 0 : Math.min(pauseMsMax, firstPauseMs * 2 ** (failures - 1));
}
