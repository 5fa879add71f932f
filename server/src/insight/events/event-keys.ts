// Limits the property keys that client keys add to the catalog for events of a name: at most half
// of all, because strangers hold client keys (contract 10).

import type { Tx } from '@carillon/postgres';
import { invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { listKeysOfNames, propertiesByClientsMax } from './catalog-queries.ts';
import type { EventGiven } from './event.ts';
import { lockNames } from './name-queries.ts';

export interface KeysAsked {
  readonly appId: Uuid;
  readonly events: readonly Pick<EventGiven, 'name' | 'properties'>[];
  /** The path in the request of the event at an index. */
  pathOf(index: number): Issue['path'];
}

/**
 * Throws the 400 that names each key above the limit, for a request by client key. Call it before
 * any lock except that of the names: requests with new keys run one after the other.
 */
export async function admitKeys(tx: Tx, asked: KeysAsked): Promise<void> {
  // The first check needs no lock: stored keys need none, and a refused request should not make
  // others wait.
  let judged = await judge(tx, asked);
  if (judged.hasFresh && judged.issues.length === 0) {
    await lockNames(tx, asked.appId);
    judged = await judge(tx, asked);
  }
  if (judged.issues.length > 0) throw invalid(judged.issues);
}

interface Judged {
  readonly hasFresh: boolean;
  readonly issues: readonly Issue[];
}

async function judge(tx: Tx, { appId, events, pathOf }: KeysAsked): Promise<Judged> {
  const rows = await listKeysOfNames(tx, appId, [...new Set(events.map(({ name }) => name))]);
  const known = new Map<string, { readonly keys: Set<string>; byClients: number }>(
    rows.map(({ name, keys, byClients }) => [name, { keys: new Set(keys), byClients }] as const),
  );
  const limit = propertiesByClientsMax;
  const message = `Events of this name have ${limit} properties from client keys: a further one needs a server key.`;
  let hasFresh = false;
  const issues = events.flatMap(({ name, properties }, i): Issue[] => {
    const ofName = known.get(name) ?? { keys: new Set<string>(), byClients: 0 };
    known.set(name, ofName);
    return Object.keys(properties).flatMap((key): Issue[] => {
      if (ofName.keys.has(key)) return [];
      hasFresh = true;
      if (ofName.byClients >= limit) {
        return [{ path: [...pathOf(i), 'properties', key], code: 'too_big', message, limit }];
      }
      ofName.keys.add(key);
      ofName.byClients++;
      return [];
    });
  });
  return { hasFresh, issues };
}
