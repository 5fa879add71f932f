// Authorization header → Caller, or 401, or 403 (contract 3). Runs before a byte of the body is read. A key is remembered
// for one second, so that revocation and suspension hold on every process within two; a miss is never remembered.
import { ApiError } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { Caller } from './caller.ts';
import { hashKey, scopeOfKey } from './key.ts';
import type { KeyLookups } from './key-lookups.ts';
import { findKeyByHash, type KeyWithApp, updateKeyLastUsed } from './queries.ts';

/** What a key was is believed for so long after it was asked. */
const freshMs = 1000;
/** A key in constant use is asked for again before that is over, so that no request waits for the answer. */
const askedAgainAfterMs = 750;
const rememberedMax = 10_000;
const lastUsedEveryMs = 60_000;

export type Authenticate = (
  authorization: readonly string[],
  access: 'server' | 'client-or-server',
  address: () => string,
) => Promise<Caller>;

export interface AuthenticateDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** For keys that are not remembered: anybody can make those up. */
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

export function createAuthenticate({ sql, clock, log, lookups }: AuthenticateDeps): Authenticate {
  // Keys that were good, the one asked for longest ago first. A stale one is asked for again before it is believed.
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

  /** A key that is being asked for: whoever wants it then shares the answer, unless the database is long about it. */
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
    const hash = hashKey(text);
    const id = hash.toString('latin1');
    const known = remembered.get(id);
    // Nobody waits in line for what is being asked already, or was answered while they stood there.
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
    // Nobody waits for it and nothing depends on it: a lost note is made up for by the next request.
    updateKeyLastUsed(sql, clock, key.appId, key.id).catch((error: unknown) =>
      log.warn({ err: error }, 'key use not noted'),
    );
  };

  return async (authorization, access, address) => {
    const text = readBearer(authorization);
    const scope = scopeOfKey(text);
    if (!scope) throw new ApiError('invalid_key');
    const key = await find(text, address);
    if (!key) throw new ApiError('invalid_key');
    noteUse(key);
    if (key.isSuspended) throw new ApiError('app_suspended');
    if (access === 'server' && key.scope !== 'server') throw new ApiError('wrong_key_scope');
    const { appId, id: keyId, name: keyName, plan, newNames, purchases, deletedNames } = key;
    return { appId, keyId, keyName, scope: key.scope, plan, clientEvents: { newNames, purchases, deletedNames } };
  };
}

// `Bearer`, in any case, one space, the key; exactly one header.
function readBearer(authorization: readonly string[]): string {
  const [header, ...more] = authorization;
  const match = more.length === 0 && header !== undefined ? /^bearer (\S+)$/i.exec(header) : null;
  if (!match?.[1]) throw new ApiError('missing_key');
  return match[1];
}
