// Opens a connection to the first host of an address that can be used: TCP, TLS, the password and
// the settings, in limited time.
import { Client } from 'pg';
import type { Host } from './address.ts';
import { ConnectionLostError, Session, type SessionOptions } from './session.ts';
import { Wire } from './wire.ts';

/**
 * Connects to the first host that answers. If there are several hosts, a standby is skipped.
 * Rejects with the last host's loss, or with the first server's error when it refuses a setting.
 * The signal ends it; its reason is the loss.
 */
export async function openSession(options: SessionOptions, signal?: AbortSignal): Promise<Session> {
  const { hosts } = options.address;
  for (let tried = 1; ; tried++) {
    try {
      return await openAt(hosts[tried - 1] as Host, options, signal);
    } catch (error) {
      if (tried >= hosts.length || signal?.aborted || !(error instanceof ConnectionLostError)) throw error;
    }
  }
}

async function openAt(place: Host, options: SessionOptions, signal: AbortSignal | undefined): Promise<Session> {
  signal?.throwIfAborted();
  const { user, database, password, startOptions, hosts } = options.address;
  const wire = new Wire(place, options.address);
  const client = new Client({
    ...place,
    user,
    database,
    application_name: options.name,
    // A function keeps `pg` from trying other sources of a password. `pg` calls it when the server
    // asks.
    password() {
      if (password) return password;
      throw new ConnectionLostError('28P01', 'the server asks for a password, and none is given');
    },
    // The wire does TLS.
    ssl: false,
    sslnegotiation: 'postgres',
    ...(startOptions !== undefined && { options: startOptions }),
    stream: () => wire,
  });
  const session = new Session(client, wire, options);
  const end = (): void => session.destroy(signal?.reason);
  signal?.addEventListener('abort', end);
  try {
    const isStandby = await session.signIn();
    if (isStandby && hosts.length > 1) throw new ConnectionLostError('25006', `${place.host} is a standby`);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}
