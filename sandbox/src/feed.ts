// The live feed of the inbox page, as server-sent events. Events are gathered, so that a send to a
// hundred thousand devices updates the page four times a second and does not flood it.
import type { ServerResponse } from 'node:http';
import { presentFaults } from './fault-json.ts';
import type { Faults } from './faults.ts';
import type { Inbox, InboxEntry } from './inbox.ts';
import { presentCounters, presentEntry, presentState } from './present.ts';
import type { PushLog, PushRecord } from './push-log.ts';

const gatherMs = 250;
const heartbeatMs = 15_000;
/** The page gets only the last entries of a burst and can page back to the rest. */
const entriesMax = 50;

/** All open inbox pages. */
export class Feed {
  readonly #log: PushLog;
  readonly #inbox: Inbox;
  readonly #faults: Faults;
  readonly #viewers = new Set<ServerResponse>();
  #arrived: PushRecord[] = [];
  #hasSkipped = false;
  readonly #changed = new Map<number, InboxEntry>();
  #timer: NodeJS.Timeout | undefined;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(log: PushLog, inbox: Inbox, faults: Faults) {
    this.#log = log;
    this.#inbox = inbox;
    this.#faults = faults;
    log.subscribe(
      (record) => {
        if (this.#viewers.size === 0) return;
        this.#arrived.push(record);
        if (this.#arrived.length > entriesMax) {
          this.#arrived.shift();
          this.#hasSkipped = true;
        }
        this.#soon();
      },
      () => this.tell('clear', {}),
    );
    inbox.onChange((entry) => {
      if (this.#viewers.size === 0) return;
      this.#changed.set(entry.record.id, entry);
      this.#soon();
    });
    this.#heartbeat = setInterval(() => this.#write(': still here\n\n'), heartbeatMs);
    this.#heartbeat.unref();
  }

  /** Keeps the response open and writes events to it from now on. */
  add(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.write(`retry: 1000\n${message('hello', { counters: presentCounters(this.#log.counters()) })}`);
    this.#viewers.add(response);
    response.on('close', () => this.#viewers.delete(response));
    response.on('error', () => this.#viewers.delete(response));
  }

  tell(event: string, data: unknown): void {
    this.#write(message(event, data));
  }

  close(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
    for (const viewer of this.#viewers) viewer.destroy();
    this.#viewers.clear();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => this.#flush(), gatherMs);
    this.#timer.unref();
  }

  #flush(): void {
    this.#timer = undefined;
    const arrived = this.#arrived;
    const hasSkipped = this.#hasSkipped;
    this.#arrived = [];
    this.#hasSkipped = false;
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    const entries = arrived.flatMap(({ id }) => this.#inbox.find(id) ?? []);
    this.tell('pushes', {
      counters: presentCounters(this.#log.counters()),
      entries: entries.reverse().map(presentEntry),
      // When earlier arrivals were skipped, the page restarts its list, which would otherwise have
      // a gap.
      skipped: hasSkipped,
      changes: changed.slice(-entriesMax).map(presentState),
      // Null without rules: such a page needs no counts.
      faults: this.#faults.isEmpty ? null : presentFaults(this.#faults.list()),
    });
  }

  #write(text: string): void {
    for (const viewer of this.#viewers) viewer.write(text);
  }
}

function message(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
