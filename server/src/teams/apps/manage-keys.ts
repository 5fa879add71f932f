// Creates, rotates and revokes API keys (contract 3). The text of a new key is returned once and
// stored nowhere. Revocation and expiry take effect on every process within two seconds, because a
// process caches a key for one second. The audit log names every key that was created, rotated or
// revoked.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, noSuch } from '../../ground/http/api-error.ts';
import type { MintedToken } from '../../ground/secrets/checked-token.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { describeActor } from '../audit/actor.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { KeyScope } from './caller.ts';
import { mintKey } from './key.ts';
import {
  countActiveKeys,
  revokeKey as endKey,
  expireKey,
  findKey,
  insertKey,
  insertSessionKey,
  type KeyRecord,
} from './key-queries.ts';
import { lockApp } from './queries.ts';

/** Active keys of one scope at most. */
export const activeKeysMax = 20;
/** Hours that a rotated key may stay valid. */
export const overlapHoursMax = 72;
export const overlapHoursDefault = 24;

export interface NewKey {
  readonly id: Uuid;
  /** The complete key, shown once. */
  readonly text: string;
}

interface KeyDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

interface KeyToMake {
  readonly appId: Uuid;
  readonly scope: KeyScope;
  readonly name: string;
}

/** Creates a key. Throws the 400 when the app has the maximum of active keys of the scope. */
export async function createKey(deps: KeyDeps, key: KeyToMake): Promise<NewKey> {
  return transaction(deps.sql, (tx) => addKey({ ...deps, tx }, key));
}

const sessionKeyHours = 1;

/**
 * Creates a client key for a person's own browser in a session. It ends with the session, after an
 * hour at the latest, and is not among the active keys of its scope. A session has one such key of
 * an app: a new key ends the former one.
 */
export async function createSessionKey(
  deps: KeyDeps,
  { appId, sessionId, sessionEndsAt }: { readonly appId: Uuid; readonly sessionId: Uuid; readonly sessionEndsAt: Date },
): Promise<NewKey & { readonly expiresAt: Date }> {
  const { sql, clock, by } = deps;
  const [id, minted] = [mintUuid(clock.nowMs()), mintKey('client')];
  return transaction(sql, async (tx) => {
    // Runs under the lock, so that racing requests of one session leave one key.
    await lockApp(tx, appId);
    const key = { appId, id, minted, createdBy: describeActor(by), sessionId, sessionEndsAt, hours: sessionKeyHours };
    const expiresAt = await insertSessionKey(tx, clock, key);
    const after = { start: minted.start, last4: minted.last4, expires_at: expiresAt };
    await recordAudit({ ...deps, tx }, { appId, action: 'key.session', target: encodeId('key', id), after });
    return { id, text: minted.text, expiresAt };
  });
}

/** Does what `createKey` does, in the caller's transaction. */
export async function addKey(deps: KeyTransaction, key: KeyToMake): Promise<NewKey> {
  const { made, minted } = await makeKey(deps, key);
  const { appId, scope, name } = key;
  const after = { scope, name, start: minted.start, last4: minted.last4 };
  await recordAudit(deps, { appId, action: 'key.create', target: encodeId('key', made.id), after });
  return made;
}

interface KeyTransaction extends Audited {
  readonly tx: Tx;
  readonly clock: Clock;
}

async function makeKey(
  { tx, clock, by }: KeyTransaction,
  key: KeyToMake,
): Promise<{ readonly made: NewKey; readonly minted: MintedToken }> {
  // Runs under the lock, so that racing requests count each other's keys.
  await lockApp(tx, key.appId);
  if ((await countActiveKeys(tx, clock, key.appId, key.scope)) >= activeKeysMax) {
    const message = `An app has at most ${activeKeysMax} active ${key.scope} keys: revoke one first.`;
    throw invalid([{ path: ['scope'], code: 'too_big', message }]);
  }
  const id = mintUuid(clock.nowMs());
  const minted = mintKey(key.scope);
  await insertKey(tx, { ...key, id, minted, createdBy: describeActor(by) });
  return { made: { id, text: minted.text }, minted };
}

/**
 * Creates a key of the same app, scope and name. The old key ends after `overlapHours`, or earlier
 * if it would have ended earlier. Throws the 404 for an unknown key and the 400 for one that has
 * ended.
 */
export async function rotateKey(
  deps: KeyDeps,
  { id, overlapHours }: { id: Uuid; overlapHours: number },
): Promise<{ readonly key: NewKey; readonly former: KeyRecord }> {
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    const message = `The overlap is a whole number of hours from 0 to ${overlapHoursMax}.`;
    throw invalid([{ path: ['overlap_hours'], code: 'invalid_value', message }]);
  }
  const { sql, clock } = deps;
  return transaction(sql, async (tx) => {
    const found = await getKey(tx, id);
    if (isEnded(found, clock)) {
      const message = 'This key has ended already: create a new one.';
      throw invalid([{ path: ['id'], code: 'invalid_value', message }]);
    }
    // The old key expires first: with an overlap of 0 it no longer counts as active.
    await expireKey(tx, clock, found.appId, id, overlapHours);
    const { appId, scope, name } = found;
    const { made: key, minted } = await makeKey({ ...deps, tx }, { appId, scope, name });
    const former = await getKey(tx, id);
    const after = {
      expires_at: former.expiresAt,
      replaced_by: encodeId('key', key.id),
      start: minted.start,
      last4: minted.last4,
    };
    const [target, before] = [encodeId('key', id), { expires_at: found.expiresAt }];
    await recordAudit({ ...deps, tx }, { appId, action: 'key.rotate', target, before, after });
    return { key, former };
  });
}

/**
 * Revokes a key now. A second call is no error and keeps the first instant. Throws the 404 for an
 * unknown key.
 */
export async function revokeKey(deps: KeyDeps, id: Uuid): Promise<KeyRecord> {
  const { sql, clock } = deps;
  return transaction(sql, async (tx) => {
    const { appId } = await getKey(tx, id);
    // The second of two concurrent calls finds the key revoked.
    await lockApp(tx, appId);
    const found = await getKey(tx, id);
    if (found.revokedAt !== null) return found;
    await endKey(tx, clock, appId, id);
    await recordAudit({ ...deps, tx }, { appId, action: 'key.revoke', target: encodeId('key', id) });
    return getKey(tx, id);
  });
}

/** Returns whether a key no longer works, by the given clock. */
export function isEnded(key: KeyRecord, clock: Clock): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt.getTime() <= clock.nowMs());
}

async function getKey(tx: Tx, id: Uuid): Promise<KeyRecord> {
  const key = await findKey(tx, id);
  if (!key) throw noSuch('key', encodeId('key', id));
  return key;
}
