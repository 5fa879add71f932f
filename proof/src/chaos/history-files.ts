// The files that a run leaves for its checker: lines of JSON, written as things happen and read one
// by one, so that neither side holds a run in memory.
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const fileNames = {
  /** Written by the sandbox; see `rig/src/sandbox-process.ts`. */
  history: 'history.ndjson',
  devices: 'devices.ndjson',
  audiences: 'audiences.ndjson',
  messages: 'messages.ndjson',
  deliveries: 'deliveries.ndjson',
  outbox: 'outbox.ndjson',
  events: 'events.ndjson',
  claims: 'claims.ndjson',
  waits: 'waits.ndjson',
  facts: 'facts.ndjson',
} as const;

/** A device as the API names it, and its token as the provider knows it. */
export type DeviceLine = readonly [device: string, token: string];

/** A requested message: its title, which every push shows, and the devices of its audience. */
export interface AudienceLine {
  readonly title: string;
  readonly id: string;
  readonly devices: readonly string[];
}

/** The API's view of a message when all is quiet. */
export interface MessageLine {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly report: Readonly<Record<'accepted' | 'sent' | 'failed' | 'skipped', number>>;
}

/** A stored delivery. `doneAt` is the time of its outcome in milliseconds since the epoch. */
export type DeliveryLine = readonly [
  messageId: string,
  device: string,
  status: string,
  errorCode: string | null,
  doneAt: number,
];

/**
 * An event of a delivery in the webhook's outbox. The endpoint is never called, so every event is
 * still there.
 */
export type OutboxLine = readonly [messageId: string, device: string, event: string];

/** Something that was done to one node or, for an outage, to the database of all nodes. */
export interface EventLine {
  /** Milliseconds since the epoch, just before the event. */
  readonly at: number;
  readonly node: string;
  readonly kind: 'kill' | 'stop' | 'outage';
  /** By hand, the name of a failpoint, or the kind of outage. */
  readonly by: string;
  /** For a stop or an outage: when it ended. */
  readonly until?: number;
}

/** A batch whose lease ran out and that another process claimed. */
export interface ClaimLine {
  readonly batch: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly leaseEndedAt: number;
  readonly takenAt: number;
}

/**
 * A connection of the service that waits: for a lock, or in an open transaction for its own
 * process.
 */
export interface WaitingBackend {
  readonly pid: number;
  /** The pool of the connection. */
  readonly name: string;
  readonly state: string;
  readonly event: string;
  /** How long the connection has waited, in milliseconds. */
  readonly ms: number;
  readonly query: string;
  /** The connections that hold the lock. */
  readonly behind: readonly number[];
}

/** One observation of the connections that wait. */
export interface WaitLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** How much later than planned the observation was. */
  readonly lateMs: number;
  readonly backends: readonly WaitingBackend[];
}

export interface RunFacts {
  /**
   * the longest time between a provider's acceptance of a push and the commit of its outcome.
   */
  readonly windowMs: number;
  /** Messages requested, each with an idempotency key of its own. */
  readonly requested: number;
  readonly quotaUsed: number;
  readonly batchesClaimed: number;
  readonly batchesWaiting: number;
  /**
   * Deliveries with a push whose answer did not arrive in time, by the service's record. The
   * provider may have answered.
   */
  readonly timedOut: number;
}

export interface LineWriter<Line> {
  write(line: Line): Promise<void>;
  close(): Promise<void>;
}

/** Appends to one of a run's files, and waits for the disk when it is slow. */
export function writeLines<Line>(directory: string, name: string): LineWriter<Line> {
  const stream = createWriteStream(join(directory, name), { flags: 'a' });
  return {
    async write(line) {
      if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain');
    },
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}

/** Reads a file of lines; an absent file has no lines. */
export async function* readLines<Line>(directory: string, name: string): AsyncGenerator<Line> {
  const stream = createReadStream(join(directory, name));
  try {
    await once(stream, 'open');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line !== '') yield JSON.parse(line) as Line;
  }
}
