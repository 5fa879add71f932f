// Tracked events on their way to the service: kept in IndexedDB until it has taken them, so offline and reload lose none.
// An event waits until this browser is a device, for only then can the service tell a repeat from a second one, and until the
// service takes that device for the person who did it: a browser may be shared, and nobody gets what another did.
import { inTransaction } from './database.ts';
import { type Browser, findBrowser, type Identity, isMissing, noteMissing } from './device-id.ts';
import { ApiError } from './errors.ts';
import { oneAtATime } from './lock.ts';
import { callApi, type Pause } from './transport.ts';

/** The service takes at most 50 at once (contract 5.10). */
const batchMax = 50;
/** Beyond this the oldest goes: a site that tracks for months without a subscription must not fill the disk. */
const queueMax = 1_000;
const propertiesBytesMax = 8_192;
const propertiesMax = 50;
const keyLengthMax = 64;
const lengthMax = 128;
/** The object of the properties itself is the first level. */
const depthMax = 5;
/** Events dropped in one run though the service named none of them. */
const blindMax = 5;
const eventsPath = '/v1/events';

export interface TrackedEvent {
  readonly id: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly occurred_at: string;
}

interface QueuedEvent {
  /** Given by the store; absent until it was stored. */
  readonly order?: number;
  readonly scope: string;
  /** Fixed when first sent, so that a repeat is recognised; null while there is no device. */
  readonly deviceId: string | null;
  /** Who did it; null: nobody was logged in. An earlier version of the SDK did not keep it. */
  readonly externalId?: string | null;
  readonly event: TrackedEvent;
}

/**
 * The properties as JSON has them, for that is how they will travel. Throws a `TypeError` for what JSON cannot hold and
 * for what the service would refuse (contract 10), so that the caller hears of it and not the background.
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
 * Sends what waits, oldest first, in one tab at a time. Resolves when nothing is left that could go now; throws when
 * the service cannot be reached or refuses the caller, and keeps the events. Events that the service finds invalid, or that the app
 * takes from no browser, are dropped and told to `onError`, or one of them would hold up all the others.
 */
export function sendEvents(scope: string, onError: (error: unknown) => void, pause?: Pause): Promise<void> {
  return oneAtATime(`events ${scope}`, () => drainEvents(scope, onError, pause));
}

/** The same, for who holds the lock of the events. */
export async function drainEvents(scope: string, onError: (error: unknown) => void, pause?: Pause): Promise<void> {
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
      await callApi(browser, { method: 'POST', path: eventsPath, body: { events } }, pause);
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
          // Nobody says which it is, so it is looked for, by halves.
          size = Math.ceil(batch.length / 2);
          continue;
        }
        await drop(invalid.length > 0 ? invalid : batch);
        if (invalid.length === 0) blind += 1;
        // A service that finds fault with everything is not asked about every event at one go.
        if (blind >= blindMax) throw error;
        onError(error);
      } else {
        throw error;
      }
    }
  }
}

/** Whom the service takes the device for: null is nobody, undefined whoever it may be while that is not acknowledged. */
function personOf({ deviceId, identifiedAs }: Browser): string | null | undefined {
  if (identifiedAs?.deviceId !== deviceId) return null;
  if (!identifiedAs.identity) return undefined;
  const identity: Identity | null = JSON.parse(identifiedAs.identity);
  return identity?.externalId ?? null;
}

/** The oldest events of that person, each with its device from now on. */
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

/** The events that the answer names, at `["events", 3, …]`; none where it speaks of the whole body. */
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
