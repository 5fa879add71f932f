// Turns the Authorization header into a Caller, or answers 401 or 403 (contract 3). Runs before a
// byte of the body is read. A known key is cached for one second, so that revocation and suspension
// take effect on every process within two seconds. An unknown key is never cached.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { hashToken } from '../../ground/secrets/checked-token.ts';
import type { Caller } from './caller.ts';
import { scopeOfKey } from './key.ts';
import type { KeyLookups } from './key-lookups.ts';
import { findKeyByHash, type KeyWithApp, updateKeyLastUsed } from './key-queries.ts';

/** Milliseconds for which the answer of a key's look-up is used. */
const freshMs = 1000;
/**
 * Milliseconds after which a key in constant use is looked up again, so that no request waits for
 * the answer.
 */
const askedAgainAfterMs = 750;
const rememberedMax = 10_000;
const lastUsedEveryMs = 60_000;

type KeyAccess = 'server' | 'client-or-server';

export interface Authentication {
  /** Returns who calls. Throws the 401 or 403. `address` limits look-ups of unknown keys. */
  authenticate(authorization: readonly string[], access: KeyAccess, address: () => string): Promise<Caller>;
  /**
   * Returns the caller if `authenticate` would return it without asking the database and without an
   * error; otherwise undefined.
   */
  recognize(authorization: readonly string[], access: KeyAccess): Caller | undefined;
}

export interface AuthenticateDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** Limits look-ups of keys that are not cached, because anybody can invent such keys. */
  readonly lookups: KeyLookups;
}

interface Remembered {
  readonly key: KeyWithApp;
  /** `clock.steadyMs` when the database was asked. */
  readonly askedAtMs: number;
}

interface Flight {
  readonly askedAtMs: number;
  readonly answer: Promise<KeyWithApp | undefined>;
}

export function createAuthenticate({ sql, clock, log, lookups }: AuthenticateDeps): Authentication {
  // Known keys, the oldest look-up first. An expired entry is looked up again before it is used.
  const remembered = new Map<string, Remembered>();
  const flights = new Map<string, Flight>();
  const lastUsedNotedAt = new Map<string, number>();

  const ask = async (id: string, hash: Buffer, askedAtMs: number): Promise<KeyWithApp | undefined> => {
    const key = await findKeyByHash(sql, clock, hash);
    remembered.delete(id);
    if (!key) return undefined;
    remembered.set(id, { key, askedAtMs });
    const [oldest] = remembered.keys();
    if (remembered.size > rememberedMax && oldest !== undefined) remembered.delete(oldest);
    return key;
  };

  /**
   * Returns a running look-up of the key, so that all requests share its answer. A look-up that
   * takes too long is not shared.
   */
  const flightOf = (id: string): Promise<KeyWithApp | undefined> | undefined => {
    const flight = flights.get(id);
    return flight && clock.steadyMs() - flight.askedAtMs < freshMs ? flight.answer : undefined;
  };

  const askOnce = (id: string, hash: Buffer): Promise<KeyWithApp | undefined> => {
    const before = flightOf(id);
    if (before) return before;
    const askedAtMs = clock.steadyMs();
    const flight: Flight = {
      askedAtMs,
      answer: ask(id, hash, askedAtMs).finally(() => {
        if (flights.get(id) === flight) flights.delete(id);
      }),
    };
    flights.set(id, flight);
    return flight.answer;
  };

  const find = (text: string, address: () => string): KeyWithApp | undefined | Promise<KeyWithApp | undefined> => {
    const hash = hashToken(text);
    const id = hash.toString('latin1');
    const known = remembered.get(id);
    // A request does not wait in line if the answer is on its way or arrived meanwhile.
    if (!known) return flightOf(id) ?? lookups.run(address(), async () => freshKeyOf(id) ?? askOnce(id, hash));
    const ageMs = clock.steadyMs() - known.askedAtMs;
    const believed = ageMs < freshMs ? unexpired(known.key) : undefined;
    if (believed && ageMs < askedAgainAfterMs) return believed;
    const answer = askOnce(id, hash);
    if (!believed) return answer;
    answer.catch((error: unknown) => log.debug({ err: error }, 'a key is not asked for ahead'));
    return believed;
  };

  const unexpired = (key: KeyWithApp): KeyWithApp | undefined =>
    key.expiresAt === null || key.expiresAt.getTime() > clock.nowMs() ? key : undefined;

  const freshKeyOf = (id: string): KeyWithApp | undefined => {
    const known = remembered.get(id);
    return known && clock.steadyMs() - known.askedAtMs < freshMs ? unexpired(known.key) : undefined;
  };

  const noteUse = (key: KeyWithApp): void => {
    const nowMs = clock.nowMs();
    if (nowMs - (lastUsedNotedAt.get(key.id) ?? 0) < lastUsedEveryMs) return;
    if (lastUsedNotedAt.size >= rememberedMax) lastUsedNotedAt.clear();
    lastUsedNotedAt.set(key.id, nowMs);
    // No request waits for this write and nothing depends on it. The next request makes up for a
    // lost one.
    updateKeyLastUsed(sql, clock, key.appId, key.id).catch((error: unknown) =>
      log.warn({ err: error }, 'key use not noted'),
    );
  };

  return {
    async authenticate(authorization, access, address) {
      const text = readBearer(authorization);
      if (!text) throw new ApiError('missing_key');
      if (!scopeOfKey(text)) throw new ApiError('invalid_key');
      const key = await find(text, address);
      if (!key) throw new ApiError('invalid_key');
      noteUse(key);
      const caller = callerOf(key);
      if (key.isSuspended) throw new ApiError('app_suspended', { caller });
      if (!isAllowed(key, access)) throw new ApiError('wrong_key_scope', { caller });
      return caller;
    },
    recognize(authorization, access) {
      const text = readBearer(authorization);
      const known = text ? remembered.get(hashToken(text).toString('latin1')) : undefined;
      if (!known || clock.steadyMs() - known.askedAtMs >= askedAgainAfterMs) return undefined;
      const key = unexpired(known.key);
      return key && !key.isSuspended && isAllowed(key, access) ? callerOf(key) : undefined;
    },
  };
}

function callerOf({ appId, id: keyId, name: keyName, scope, plan, ...of }: KeyWithApp): Caller {
  const { newNames, purchases, deletedNames } = of;
  return { appId, keyId, keyName, scope, plan, clientEvents: { newNames, purchases, deletedNames } };
}

function isAllowed({ scope }: KeyWithApp, access: KeyAccess): boolean {
  return access !== 'server' || scope === 'server';
}

// The form is `Bearer` in any case, one space and the key, in exactly one header.
function readBearer([header, ...more]: readonly string[]): string | undefined {
  const match = more.length === 0 && header !== undefined ? /^bearer (\S+)$/i.exec(header) : null;
  return match?.[1];
}
