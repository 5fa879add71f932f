// The names that an app's events are tracked under: how many there may be, whoever holds a client key. A process remembers which are
// stored, so that only a name that is new to it is asked about. Never adds an event itself: the request that brings it does.
import { ApiError, type Issue, invalid } from '../platform/api-error.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { countClientNames, countStoredNames, listStoredNames, lockNames } from './name-queries.ts';

/** Client keys bring no further name to an app that has this many. */
export const namesWithClientsMax = 1_000;
/** Client keys bring at most half of them: strangers hold such keys, and an app keeps room for its own names (contract 10). */
export const namesByClientsMax = namesWithClientsMax / 2;
/** Server keys bring no further name to an app that has this many. */
export const namesMax = 10_000;

/** What reports know is never refused. */
const reservedNames: readonly string[] = ['purchase', 'install', 'session_start'];

/** Names that a process remembers; then it forgets them all and asks anew. */
const rememberedMax = 100_000;

export interface KnownNames {
  has(appId: Uuid, name: string): boolean;
  /** These are stored for good. */
  note(appId: Uuid, stored: readonly string[]): void;
  /** Forgets the app's names: one of them was deleted. */
  forget(appId: Uuid): void;
}

export function createKnownNames(): KnownNames {
  let apps = new Map<Uuid, Set<string>>();
  let remembered = 0;
  return {
    has: (appId, name) => reservedNames.includes(name) || (apps.get(appId)?.has(name) ?? false),
    note(appId, stored) {
      for (const name of stored) {
        if (remembered >= rememberedMax) {
          apps = new Map();
          remembered = 0;
        }
        const names = apps.get(appId) ?? new Set();
        apps.set(appId, names);
        if (!names.has(name)) remembered++;
        names.add(name);
      }
    },
    forget(appId) {
      remembered -= apps.get(appId)?.size ?? 0;
      apps.delete(appId);
    },
  };
}

export interface NamesAsked {
  readonly appId: Uuid;
  readonly isServer: boolean;
  /** A client key may bring names that the app does not have. */
  readonly takesNewNames: boolean;
  readonly names: readonly string[];
  /** Where the event at a place stands in the request. */
  pathOf(index: number): Issue['path'];
}

export interface AdmittedNames {
  /** Names that the process did not know; they may be noted once the transaction is committed. */
  readonly unknown: readonly string[];
  /** Unknown names that the app does not have yet. */
  readonly fresh: readonly string[];
}

/**
 * Throws the 400 for names that are too many, and the 403 where client keys may bring none. To be called before anything is locked:
 * new names are brought one request at a time.
 */
export async function admitNames(tx: Tx, known: KnownNames, asked: NamesAsked): Promise<AdmittedNames> {
  const { appId, isServer } = asked;
  const unknown = [...new Set(asked.names)].filter((name) => !known.has(appId, name));
  if (unknown.length === 0) return { unknown, fresh: [] };
  const judge = async (): Promise<Judged> => {
    const stored = new Set(await listStoredNames(tx, appId, unknown));
    const fresh = unknown.filter((name) => !stored.has(name));
    if (fresh.length === 0) return { fresh, refused: [], limit: 0 };
    if (!isServer && !asked.takesNewNames) throw newNameRefused(asked, fresh);
    const { room, limit } = await findRoom(tx, appId, isServer);
    return { fresh, refused: fresh.slice(room), limit };
  };
  // At first without the lock: what is stored needs none, and who is refused anyway shall keep nobody waiting.
  let judged = await judge();
  if (judged.fresh.length === 0) return { unknown, fresh: [] };
  if (judged.refused.length === 0) {
    await lockNames(tx, appId);
    judged = await judge();
  }
  const { fresh, refused, limit } = judged;
  if (refused.length === 0) return { unknown, fresh };
  const message = isServer
    ? `An app has at most ${limit} names of events.`
    : `This app has ${limit} names of events ${limit === namesByClientsMax ? 'from client keys' : 'in all'}: a further one needs a server key.`;
  throw invalid(
    asked.names.flatMap((name, i) =>
      refused.includes(name) ? [{ path: [...asked.pathOf(i), 'name'], code: 'too_big', message, limit }] : [],
    ),
  );
}

interface Judged {
  readonly fresh: readonly string[];
  readonly refused: readonly string[];
  readonly limit: number;
}

/** Counts the room for further names, and names the limit that is nearest. */
async function findRoom(tx: Tx, appId: Uuid, isServer: boolean): Promise<{ room: number; limit: number }> {
  const count = await countStoredNames(tx, appId);
  if (isServer) return { room: Math.max(0, namesMax - count), limit: namesMax };
  const inAll = Math.max(0, namesWithClientsMax - count);
  const ofClients = Math.max(0, namesByClientsMax - (await countClientNames(tx, appId)));
  return ofClients <= inAll
    ? { room: ofClients, limit: namesByClientsMax }
    : { room: inAll, limit: namesWithClientsMax };
}

function newNameRefused(asked: NamesAsked, fresh: readonly string[]): ApiError {
  const at = asked.names.findIndex((name) => fresh.includes(name));
  const message = `Client keys of this app bring no new names of events: track '${asked.names[at]}' with a server key first.`;
  return new ApiError('wrong_key_scope', { message, extra: { path: asked.pathOf(at) } });
}
