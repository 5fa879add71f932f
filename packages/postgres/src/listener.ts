// Listens for NOTIFY on its own connection, and notices when that connection has gone deaf. A
// half-open connection looks alive, so in silence a heartbeat is sent through another connection
// and must arrive. Notifications only save latency.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reserved, Sql } from './db.ts';
import type { Log } from './log.ts';
import { isServerFull } from './pool.ts';

export interface ListenerOptions {
  /** Opens the connection that listens; called again after a loss. */
  readonly open: () => Promise<Reserved>;
  /** Another pool, which sends the heartbeats. */
  readonly sql: Sql;
  /** NOTIFY channel → function that takes its payload. */
  readonly hear: Readonly<Record<string, (payload: string) => void>>;
  /** Called when notifications may have been missed, so that every listener looks for itself. */
  readonly onGap: () => void;
  readonly log: Log;
  readonly heartbeatEveryMs?: number;
}

export interface Listener {
  stop(): Promise<void>;
}

const heartbeatChannel = 'listener_heartbeat';

/** Milliseconds after which a server without a free connection is asked again, as the pools do. */
const fullAgainMs = 250;
const fullTriesMax = 20;

/** Resolves when it listens for the first time; rejects when it cannot. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { open, sql, hear, onGap, log, heartbeatEveryMs = 5000 } = options;
  const id = randomUUID();
  let connection: Reserved | undefined;
  let unheard = 0;
  let hasHeard = false;
  let isReconnecting = false;
  let isStopped = false;

  /** Replaces the connection. Notifications between the old one and the new one are lost. */
  const listen = async (): Promise<void> => {
    const former = connection;
    connection = undefined;
    former?.release();
    // A connection counts until it is closed.
    await former?.whenLost;
    const next = await open();
    try {
      await next.listen(heartbeatChannel, (payload) => {
        hasHeard = true;
        if (payload === id) unheard = 0;
      });
      for (const [channel, onPayload] of Object.entries(hear)) {
        await next.listen(channel, (payload) => {
          hasHeard = true;
          try {
            onPayload(payload);
          } catch (error) {
            log.error({ err: error, channel }, 'a notification was not handled');
          }
        });
      }
    } catch (error) {
      next.release();
      throw error;
    }
    if (isStopped) return next.release();
    connection = next;
    void next.whenLost.then(() => {
      if (connection === next) void reconnect();
    });
  };

  const listenFirst = async (): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        return await listen();
      } catch (error) {
        if (!isServerFull(error) || tries === fullTriesMax) throw error;
        await sleep(fullAgainMs);
      }
    }
  };

  const reconnect = async (): Promise<void> => {
    if (isReconnecting || isStopped) return;
    isReconnecting = true;
    try {
      await listen();
      unheard = 0;
      log.warn('listening for notifications again');
    } catch (error) {
      log.debug({ err: error }, 'cannot listen for notifications yet, polling');
    } finally {
      isReconnecting = false;
      onGap();
    }
  };

  const beat = async (): Promise<void> => {
    // Any notification is as good as a heartbeat.
    const isHearing = hasHeard;
    hasHeard = false;
    if (isHearing) {
      unheard = 0;
      return;
    }
    if (!connection || unheard >= 2) return reconnect();
    unheard++;
    await sql`SELECT pg_notify(${heartbeatChannel}, ${id})`;
  };

  await listenFirst();
  const timer = setInterval(() => {
    beat().catch((error: unknown) => log.debug({ err: error }, 'no heartbeat'));
  }, heartbeatEveryMs);
  timer.unref();
  return {
    async stop() {
      isStopped = true;
      clearInterval(timer);
      const last = connection;
      connection = undefined;
      last?.release();
      await last?.whenLost;
    },
  };
}
