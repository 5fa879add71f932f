// Makes, rotates and revokes API keys (contract 3). The text of a new key is returned once and stored nowhere; revocation and
// expiry hold on every process within two seconds, because no process remembers a key for longer than one.
import { invalid, notFound } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { KeyScope } from './caller.ts';
import { mintKey } from './key.ts';
import {
  countActiveKeys,
  revokeKey as endKey,
  expireKey,
  findKey,
  insertKey,
  type KeyRecord,
  lockApp,
} from './queries.ts';

/** Keys of one scope that work at the same time. */
export const activeKeysMax = 20;
/** How long a rotated key may go on. */
export const overlapHoursMax = 72;
export const overlapHoursDefault = 24;

export interface NewKey {
  readonly id: Uuid;
  /** The whole key: shown once. */
  readonly text: string;
}

interface KeyDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

interface KeyToMake {
  readonly appId: Uuid;
  readonly scope: KeyScope;
  readonly name: string;
  readonly createdBy: string;
}

/** Throws the 400 when the app has as many keys of the scope as it may have. */
export async function createKey({ sql, clock }: KeyDeps, key: KeyToMake): Promise<NewKey> {
  return transaction(sql, (tx) => addKey({ tx, clock }, key));
}

/** `createKey` inside a transaction of the caller's. */
export async function addKey({ tx, clock }: { tx: Tx; clock: Clock }, key: KeyToMake): Promise<NewKey> {
  // Racing requests count each other.
  await lockApp(tx, key.appId);
  if ((await countActiveKeys(tx, clock, key.appId, key.scope)) >= activeKeysMax) {
    const message = `An app has at most ${activeKeysMax} active ${key.scope} keys: revoke one first.`;
    throw invalid([{ path: ['scope'], code: 'too_big', message }]);
  }
  const id = mintUuid(clock.nowMs());
  const minted = mintKey(key.scope);
  await insertKey(tx, { ...key, id, minted });
  return { id, text: minted.text };
}

/**
 * A new key of the same app, scope and name; the old one ends after `overlapHours`, or sooner if it would have ended sooner.
 * Throws the 404 for an unknown key and the 400 for one that has ended already.
 */
export async function rotateKey(
  { sql, clock }: KeyDeps,
  { id, overlapHours, createdBy }: { id: Uuid; overlapHours: number; createdBy: string },
): Promise<{ readonly key: NewKey; readonly former: KeyRecord }> {
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    const message = `The overlap is a whole number of hours from 0 to ${overlapHoursMax}.`;
    throw invalid([{ path: ['overlap_hours'], code: 'invalid_value', message }]);
  }
  return transaction(sql, async (tx) => {
    const found = await getKey(tx, id);
    if (isEnded(found, clock)) {
      const message = 'This key has ended already: create a new one.';
      throw invalid([{ path: ['id'], code: 'invalid_value', message }]);
    }
    // The old key first: with an overlap of 0 it no longer counts among the active ones.
    await expireKey(tx, clock, found.appId, id, overlapHours);
    const { appId, scope, name } = found;
    const key = await addKey({ tx, clock }, { appId, scope, name, createdBy });
    return { key, former: await getKey(tx, id) };
  });
}

/** Ends a key now; again is no error and keeps the first instant. Throws the 404 for an unknown key. */
export async function revokeKey({ sql, clock }: KeyDeps, id: Uuid): Promise<KeyRecord> {
  return transaction(sql, async (tx) => {
    const { appId } = await getKey(tx, id);
    await endKey(tx, clock, appId, id);
    return getKey(tx, id);
  });
}

/** Whether a key no longer works, by the clock given. */
export function isEnded(key: KeyRecord, clock: Clock): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt.getTime() <= clock.nowMs());
}

async function getKey(tx: Tx, id: Uuid): Promise<KeyRecord> {
  const key = await findKey(tx, id);
  if (!key) throw notFound();
  return key;
}
