// The files that a run leaves for its checker: lines of JSON, written as things happen and read one by one, so that neither
// side holds a run in memory.
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const fileNames = {
  /** The sandbox's own; see `rig/sandbox-process.ts`. */
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

/** A device as the API names it, and its token as the provider does. */
export type DeviceLine = readonly [device: string, token: string];

/** What was asked for: a message's title, which every push shows, and the devices of its audience. */
export interface AudienceLine {
  readonly title: string;
  readonly id: string;
  readonly devices: readonly string[];
}

/** What the API says of a message when all is quiet. */
export interface MessageLine {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly report: Readonly<Record<'accepted' | 'sent' | 'failed' | 'skipped', number>>;
}

/** A delivery as it is stored; `doneAt`: when its outcome came, in milliseconds since the epoch. */
export type DeliveryLine = readonly [
  messageId: string,
  device: string,
  status: string,
  errorCode: string | null,
  doneAt: number,
];

/** What a webhook is to be told of a delivery; its endpoint is never called, so all of it is still there. */
export type OutboxLine = readonly [messageId: string, device: string, event: string];

/** Something that was done to a node, or to all of them: an outage is of their database. */
export interface EventLine {
  /** Milliseconds since the epoch, just before it was done. */
  readonly at: number;
  readonly node: string;
  readonly kind: 'kill' | 'stop' | 'outage';
  /** By hand, at which failpoint, or what kind of outage. */
  readonly by: string;
  /** Of a stop and an outage: when it went on. */
  readonly until?: number;
}

/** A batch whose lease ran out and that another process took. */
export interface ClaimLine {
  readonly batch: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly leaseEndedAt: number;
  readonly takenAt: number;
}

/** A connection of the service that waits: for a lock, or in a transaction for its own process. */
export interface WaitingBackend {
  readonly pid: number;
  /** The pool it belongs to. */
  readonly name: string;
  readonly state: string;
  readonly event: string;
  /** Since when. */
  readonly ms: number;
  readonly query: string;
  /** The connections that hold what it waits for. */
  readonly behind: readonly number[];
}

/** A look at who waits. */
export interface WaitLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** How much later it was than it should have been. */
  readonly lateMs: number;
  readonly backends: readonly WaitingBackend[];
}

export interface RunFacts {
  /** between a provider's taking a push and the commit of its outcome. */
  readonly windowMs: number;
  /** How long the sandbox takes to answer. */
  readonly providerMs: number;
  /** Messages asked for, each with a key of its own. */
  readonly requested: number;
  readonly quotaUsed: number;
  readonly batchesClaimed: number;
  readonly batchesWaiting: number;
  /** Deliveries with a push whose answer did not come in time, as the service has it: whether or not the provider gave one. */
  readonly timedOut: number;
}

export interface LineWriter<Line> {
  write(line: Line): Promise<void>;
  close(): Promise<void>;
}

/** Appends to one of a run's files, at the disk's pace. */
export function writeLines<Line>(directory: string, name: string): LineWriter<Line> {
  const stream = createWriteStream(join(directory, name), { flags: 'a' });
  return {
    async write(line) {
      if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain');
    },
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}

/** Reads a file of lines; an absent one has none. */
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
