// Authorization header → Caller, or 401, or 403 (contract 3). Runs before a byte of the body is read. A key is remembered
// for one second, so that revocation and suspension hold on every process within two; a miss is never remembered.
import { ApiError } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { Caller } from './caller.ts';
import { hashKey, scopeOfKey } from './key.ts';
import { findKeyByHash, type KeyWithApp, updateKeyLastUsed } from './queries.ts';

const rememberedMs = 1000;
const rememberedMax = 10_000;
const lastUsedEveryMs = 60_000;

export type Authenticate = (authorization: readonly string[], access: 'server' | 'client-or-server') => Promise<Caller>;

export function createAuthenticate({ sql, clock, log }: { sql: Sql; clock: Clock; log: Log }): Authenticate {
  const remembered = new Map<string, { key: KeyWithApp; until: number }>();
  const lastUsedNotedAt = new Map<string, number>();

  const find = async (text: string): Promise<KeyWithApp | undefined> => {
    const hash = hashKey(text);
    const id = hash.toString('latin1');
    const known = remembered.get(id);
    // A database's clock can be set back: that must not lengthen what is remembered.
    const leftMs = known ? known.until - clock.nowMs() : 0;
    if (known && leftMs > 0 && leftMs <= rememberedMs) return known.key;
    remembered.delete(id);
    const key = await findKeyByHash(sql, clock, hash);
    if (key) {
      if (remembered.size >= rememberedMax) remembered.clear();
      const expiresMs = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
      remembered.set(id, { key, until: Math.min(clock.nowMs() + rememberedMs, expiresMs) });
    }
    return key;
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

  return async (authorization, access) => {
    const text = readBearer(authorization);
    const scope = scopeOfKey(text);
    if (!scope) throw new ApiError('invalid_key');
    const key = await find(text);
    if (!key) throw new ApiError('invalid_key');
    noteUse(key);
    if (key.isSuspended) throw new ApiError('app_suspended');
    if (access === 'server' && key.scope !== 'server') throw new ApiError('wrong_key_scope');
    return { appId: key.appId, keyId: key.id, keyName: key.name, scope: key.scope, plan: key.plan };
  };
}

// `Bearer`, in any case, one space, the key; exactly one header.
function readBearer(authorization: readonly string[]): string {
  const [header, ...more] = authorization;
  const match = more.length === 0 && header !== undefined ? /^bearer (\S+)$/i.exec(header) : null;
  if (!match?.[1]) throw new ApiError('missing_key');
  return match[1];
}
