// Tracked events on their way to the service: kept in IndexedDB until it has taken them, so offline and reload lose none.
// An event waits until this browser is a device, for only then can the service tell a repeat from a second one.
import { inTransaction } from './database.ts';
import { changeBrowser, findBrowser } from './device-id.ts';
import { ApiError } from './errors.ts';
import { oneAtATime } from './lock.ts';
import { callApi, type Pause } from './transport.ts';

/** The service takes at most 50 at once (contract 5.10). */
const batchMax = 50;
/** Beyond this the oldest goes: a site that tracks for months without a subscription must not fill the disk. */
const queueMax = 1_000;

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
  readonly event: TrackedEvent;
}

export async function queueEvent(scope: string, event: TrackedEvent): Promise<void> {
  const queued: QueuedEvent = { scope, deviceId: null, event };
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
 * the service cannot be reached or refuses the caller, and keeps the events. Events the service finds invalid are
 * dropped and told to `onError`, or one of them would hold up all the others.
 */
export async function sendEvents(scope: string, onError: (error: unknown) => void, pause?: Pause): Promise<void> {
  await oneAtATime(`events ${scope}`, async () => {
    for (;;) {
      const browser = await findBrowser(scope);
      if (!browser?.deviceId) return;
      const { deviceId } = browser;
      const batch = await takeBatch(scope, deviceId);
      if (batch.length === 0) return;
      const events = batch.map((queued) => ({ ...queued.event, device_id: queued.deviceId }));
      try {
        await callApi(browser, { method: 'POST', path: '/v1/events', body: { events } }, pause);
        await drop(batch);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404) {
          const strangers = batch.filter((queued) => queued.deviceId !== deviceId);
          // The service has lost this very device: the next registration makes a new one.
          if (strangers.length === 0) await changeBrowser(scope, browser, () => ({ registeredAt: 0 }));
          if (strangers.length === 0) throw error;
          await keep(strangers.map((queued) => ({ ...queued, deviceId })));
        } else if (error.status === 400) {
          await drop(invalidOf(batch, error));
          onError(error);
        } else {
          throw error;
        }
      }
    }
  });
}

/** The oldest events, each with its device from now on. */
async function takeBatch(scope: string, deviceId: string): Promise<QueuedEvent[]> {
  const batch = await inTransaction<QueuedEvent[]>('events', 'readwrite', (store, done) => {
    const request: IDBRequest<QueuedEvent[]> = store.index('scope').getAll(scope, batchMax);
    request.onsuccess = () => {
      done(
        request.result.map((queued) => {
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

/** Issues stand at `["events", 3, …]`. A 400 that names no event condemns the batch: nothing in it would ever pass. */
function invalidOf(batch: readonly QueuedEvent[], error: ApiError): QueuedEvent[] {
  const invalid = new Set(error.issues.map((issue) => (issue.path[0] === 'events' ? issue.path[1] : undefined)));
  const named = batch.filter((_, position) => invalid.has(position));
  return named.length > 0 ? named : [...batch];
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
