// The names that an app's events are tracked under: how many there may be, whoever holds a client key. A process remembers which are
// stored, so that only a name that is new to it is asked about. Never adds one itself: the event that brings it does.
import { type Issue, invalid } from '../platform/api-error.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { countStoredNames, listStoredNames, lockNames } from './name-queries.ts';

/** Client keys bring no further name to an app that has so many. */
export const namesByClientsMax = 1_000;
/** Nor do server keys to one that has so many. */
export const namesMax = 10_000;

/** What reports know is never refused. */
const reservedNames: readonly string[] = ['purchase', 'install', 'session_start'];

/** Names that a process remembers; then it forgets them all and asks anew. */
const rememberedMax = 100_000;

export interface KnownNames {
  has(appId: Uuid, name: string): boolean;
  /** These are stored for good. */
  note(appId: Uuid, stored: readonly string[]): void;
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
  };
}

export interface NamesAsked {
  readonly appId: Uuid;
  readonly isServer: boolean;
  readonly names: readonly string[];
  /** Where the name at a place stands in the request. */
  pathOf(index: number): Issue['path'];
}

/**
 * The names that the process did not know; they may be noted once the transaction is committed. Throws the 400 for those that are one
 * too many. To be called before anything is locked: new names are brought one request at a time.
 */
export async function admitNames(tx: Tx, known: KnownNames, asked: NamesAsked): Promise<readonly string[]> {
  const { appId, isServer } = asked;
  const unknown = [...new Set(asked.names)].filter((name) => !known.has(appId, name));
  if (unknown.length === 0) return unknown;
  const max = isServer ? namesMax : namesByClientsMax;
  const judge = async (): Promise<{ fresh: readonly string[]; refused: readonly string[] }> => {
    const stored = new Set(await listStoredNames(tx, appId, unknown));
    const fresh = unknown.filter((name) => !stored.has(name));
    const room = fresh.length === 0 ? 0 : Math.max(0, max - (await countStoredNames(tx, appId)));
    return { fresh, refused: fresh.slice(room) };
  };
  // At first without the lock: what is stored needs none, and who is refused anyway shall keep nobody waiting.
  const before = await judge();
  if (before.fresh.length === 0) return unknown;
  let { refused } = before;
  if (refused.length === 0) {
    await lockNames(tx, appId);
    refused = (await judge()).refused;
  }
  if (refused.length === 0) return unknown;
  const message = isServer
    ? `An app has at most ${namesMax} names of events.`
    : `This app has ${namesByClientsMax} names of events: a further one needs a server key.`;
  throw invalid(
    asked.names.flatMap((name, i) =>
      refused.includes(name) ? [{ path: asked.pathOf(i), code: 'too_big', message }] : [],
    ),
  );
}
