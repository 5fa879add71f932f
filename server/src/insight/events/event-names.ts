// Limits the names of an app's events, so that strangers with a client key cannot add any number. A
// process remembers stored names, so it asks the database only about names that are new to it. The
// request that brings an event stores it, not this module.

import type { Tx } from '@carillon/postgres';
import { ApiError, invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { countClientNames, countStoredNames, listStoredNames, lockNames } from './name-queries.ts';

/** Client keys may not add a name to an app with this many. */
export const namesWithClientsMax = 1_000;
/**
 * Names that client keys add at most. Strangers hold client keys, and the app keeps room for its
 * own names (contract 10).
 */
export const namesByClientsMax = namesWithClientsMax / 2;
/** Server keys may not add a name to an app with this many. */
export const namesMax = 10_000;

/** Names that reports use are never refused. */
const reservedNames: readonly string[] = ['purchase', 'install', 'session_start'];

/**
 * Names that a process remembers. Above this number it forgets all of them and asks the database
 * again.
 */
const rememberedMax = 100_000;

export interface KnownNames {
  has(appId: Uuid, name: string): boolean;
  /** Remembers names that are stored and committed. */
  note(appId: Uuid, stored: readonly string[]): void;
  /** Forgets the app's names, because one of them was deleted. */
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
  /** Whether the app accepts new names from client keys. */
  readonly takesNewNames: boolean;
  readonly names: readonly string[];
  /** The path in the request of the event at an index. */
  pathOf(index: number): Issue['path'];
}

export interface AdmittedNames {
  /** Names that this process did not know. The caller notes them after the commit. */
  readonly unknown: readonly string[];
  /** Unknown names that the app does not have yet. */
  readonly fresh: readonly string[];
}

/**
 * Throws the 400 for too many names, and the 403 when client keys may add none. Call it before any
 * lock is taken: requests with new names run one after the other.
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
  // The first check needs no lock: stored names need none, and a refused request should not make
  // others wait.
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

/** Counts the room for further names and returns the limit that is reached first. */
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
