// Tracked events on their way to the service. They are kept in IndexedDB until the service has
// accepted them, so that offline times and reloads lose none. An event waits until this browser is
// a device, because only then can the service recognise a repeat. It also waits until the service
// links that device to the person who caused the event: a browser may be shared, and nobody may get
// another person's events.
import { inTransaction } from './database.ts';
import { type Browser, findBrowser, type Identity, isMissing, noteMissing } from './device-id.ts';
import { ApiError } from './errors.ts';
import { oneAtATime } from './lock.ts';
import { callApi, type Sleep } from './transport.ts';

/** The service accepts at most 50 at once (contract 5.10). */
const batchMax = 50;
/**
 * Above this the oldest event is deleted: a site that tracks for months without a subscription must
 * not fill the disk.
 */
const queueMax = 1_000;
const propertiesBytesMax = 8_192;
const propertiesMax = 50;
const keyLengthMax = 64;
const lengthMax = 128;
/** The properties object itself is the first level. */
const depthMax = 5;
/** Events that one run may drop without the service naming a wrong one. */
const blindMax = 5;
const eventsPath = '/v1/events';

export interface TrackedEvent {
  readonly id: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly occurred_at: string;
}

interface QueuedEvent {
  /** Assigned by the store; absent until the event is stored. */
  readonly order?: number;
  readonly scope: string;
  /**
   * Set at the first send and then fixed, so that a repeat is recognised; null while there is no
   * device.
   */
  readonly deviceId: string | null;
  /**
   * The person who caused the event; null when nobody was logged in. Absent in events of earlier
   * SDK versions.
   */
  readonly externalId?: string | null;
  readonly event: TrackedEvent;
}

/**
 * The properties as JSON has them, because they are sent as JSON. Throws a `TypeError` for values
 * that JSON cannot hold or the service would refuse (contract 10), so that the caller learns of it,
 * and not a background task.
 */
export function checkProperties(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const text = JSON.stringify(properties);
  const value: Record<string, unknown> = JSON.parse(text);
  if (new TextEncoder().encode(text).length > propertiesBytesMax) {
    throw new TypeError('The properties of an event are at most 8 KiB of JSON.');
  }
  if (Object.keys(value).length > propertiesMax || Object.keys(value).some((key) => key.length > keyLengthMax)) {
    throw new TypeError(
      `An event has at most ${propertiesMax} properties, with keys of at most ${keyLengthMax} characters.`,
    );
  }
  if (depthOf(value) > depthMax) throw new TypeError(`The properties of an event are nested at most ${depthMax} deep.`);
  return value;
}

/** Throws a `TypeError` for a name or an id that the service would refuse. */
export function checkName(name: string, id: string): void {
  if (!name || name.length > lengthMax || /\p{Cc}/u.test(name)) {
    throw new TypeError(`An event has a name of at most ${lengthMax} characters, none of them a control character.`);
  }
  if (!/^[!-~]+$/.test(id) || id.length > lengthMax) {
    throw new TypeError(`The id of an event is at most ${lengthMax} characters of visible ASCII.`);
  }
}

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

export async function queueEvent(scope: string, event: TrackedEvent): Promise<void> {
  const externalId = (await findBrowser(scope))?.identity?.externalId ?? null;
  const queued: QueuedEvent = { scope, deviceId: null, externalId, event };
  await inTransaction('events', 'readwrite', (store) => {
    store.add(queued);
    const waiting = store.index('scope').getAllKeys(scope);
    waiting.onsuccess = () => {
      for (const order of waiting.result.slice(0, -queueMax)) store.delete(order);
    };
  });
}

/**
 * Sends the waiting events, oldest first, in one tab at a time. Resolves when no event is left that
 * can be sent now. Throws when the service is unreachable or refuses the caller; the events are
 * then kept. Events that are invalid, or that the app accepts from no browser, are dropped and
 * reported to `onError`, because one of them would block all later ones.
 */
export function sendEvents(scope: string, onError: (error: unknown) => void, sleep?: Sleep): Promise<void> {
  return oneAtATime(`events ${scope}`, () => drainEvents(scope, onError, sleep));
}

/** The same, for a caller that holds the lock of the events. */
export async function drainEvents(scope: string, onError: (error: unknown) => void, sleep?: Sleep): Promise<void> {
  let size = batchMax;
  let blind = 0;
  for (;;) {
    const browser = await findBrowser(scope);
    if (!browser?.deviceId || isMissing(browser, eventsPath)) return;
    const { deviceId } = browser;
    const batch = await takeBatch(scope, deviceId, personOf(browser), size);
    if (batch.length === 0) return;
    const events = batch.map((queued) => ({ ...queued.event, device_id: queued.deviceId }));
    try {
      await callApi(browser, { method: 'POST', path: eventsPath, body: { events } }, sleep);
      await drop(batch);
      size = Math.min(batchMax, size * 2);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) {
        const strangers = batch.filter((queued) => queued.deviceId !== deviceId);
        if (strangers.length === 0) await noteMissing(scope, browser, eventsPath);
        if (strangers.length === 0) throw error;
        await keep(strangers.map((queued) => ({ ...queued, deviceId })));
      } else if (error.status === 400 || error.status === 413 || error.path) {
        const invalid = invalidOf(batch, error);
        if (invalid.length === 0 && batch.length > 1) {
          // The answer does not name the wrong event, so the batch is halved to find it.
          size = Math.ceil(batch.length / 2);
          continue;
        }
        await drop(invalid.length > 0 ? invalid : batch);
        if (invalid.length === 0) blind += 1;
        // A service that refuses every event is not asked about all of them in one run.
        if (blind >= blindMax) throw error;
        onError(error);
      } else {
        throw error;
      }
    }
  }
}

/**
 * The person that the service links the device to. Null is nobody. Undefined means unknown, because
 * no link is acknowledged yet.
 */
function personOf({ deviceId, identifiedAs }: Browser): string | null | undefined {
  if (identifiedAs?.deviceId !== deviceId) return null;
  if (!identifiedAs.identity) return undefined;
  const identity: Identity | null = JSON.parse(identifiedAs.identity);
  return identity?.externalId ?? null;
}

/** The oldest events of that person. Each is bound to its device from now on. */
async function takeBatch(
  scope: string,
  deviceId: string,
  person: string | null | undefined,
  size: number,
): Promise<QueuedEvent[]> {
  if (person === undefined) return [];
  const batch = await inTransaction<QueuedEvent[]>('events', 'readwrite', (store, done) => {
    const request: IDBRequest<QueuedEvent[]> = store.index('scope').getAll(scope);
    request.onsuccess = () => {
      done(
        request.result
          .filter(({ externalId = person }) => externalId === person)
          .slice(0, size)
          .map((queued) => {
            if (queued.deviceId !== null) return queued;
            const stamped = { ...queued, deviceId };
            store.put(stamped);
            return stamped;
          }),
      );
    };
  });
  return batch ?? [];
}

/**
 * The events that the answer names, at `["events", 3, …]`; none when the fault concerns the whole
 * body.
 */
function invalidOf(batch: readonly QueuedEvent[], { issues, path }: ApiError): QueuedEvent[] {
  const paths = [...issues.map((issue) => issue.path), path ?? []];
  const invalid = new Set(paths.map((at) => (at[0] === 'events' ? at[1] : undefined)));
  return batch.filter((_, position) => invalid.has(position));
}

async function drop(events: readonly QueuedEvent[]): Promise<void> {
  await inTransaction('events', 'readwrite', (store) => {
    for (const { order } of events) if (order !== undefined) store.delete(order);
  });
}

async function keep(events: readonly QueuedEvent[]): Promise<void> {
  await inTransaction('events', 'readwrite', (store) => {
    for (const event of events) store.put(event);
  });
}
