// Judges an APNs provider token: signature, key, team, age, and how many tokens one connection may
// use. It remembers each connection until it ends, and the signatures that it has verified.
import { verify } from 'node:crypto';
import type { ApnsReason } from './apns-answers.ts';
import type { CheckName } from './check.ts';
import type { ApnsEnvironment } from './phones.ts';
import type { ProviderKeys, TeamKey } from './provider-keys.ts';
import { type DecodedToken, decodeToken } from './vapid.ts';

/** "If the iat is more than one hour old, APNs rejects subsequent push messages." */
const tokenSecondsMax = 60 * 60;
/** Not documented by Apple; a guess above the error of honest clocks. */
const clockSeconds = 60;
/** "Refresh your token no more than once every 20 minutes." */
const updateMs = 20 * 60 * 1000;
const rememberedMax = 1000;

export interface TokenVerdict {
  readonly checks: readonly {
    readonly name: CheckName;
    /** Null: the check passed. */
    readonly reason: ApnsReason | null;
    readonly detail: string;
  }[];
  readonly decoded: DecodedToken | null;
  readonly key: TeamKey | null;
  /**
   * Whether this is the connection's first good token. After it the connection may open more than
   * one stream.
   */
  readonly isFirst: boolean;
}

interface Connection {
  readonly keyId: string;
  token: string;
  since: number;
  blockedUntil: number;
}

export class ProviderTokenJudge {
  readonly #keys: ProviderKeys;
  readonly #environment: ApnsEnvironment;
  readonly #verified = new Map<string, boolean>();
  readonly #connections = new Map<number, Connection>();

  constructor(keys: ProviderKeys, environment: ApnsEnvironment) {
    this.#keys = keys;
    this.#environment = environment;
  }

  /** Forgets a connection that has ended. */
  forget(connectionId: number): void {
    this.#connections.delete(connectionId);
  }

  /**
   * Judges a request's token and stops at the first fault, because later checks would depend on it.
   * `now` is in milliseconds since the epoch.
   */
  judge(authorization: string | undefined, connectionId: number, now: number): TokenVerdict {
    const checks: TokenVerdict['checks'][number][] = [];
    let decoded: DecodedToken | null = null;
    let key: TeamKey | null = null;
    const end = (name: CheckName, reason: ApnsReason, detail: string): TokenVerdict => {
      checks.push({ name, reason, detail });
      return { checks, decoded, key, isFirst: false };
    };
    const hold = (name: CheckName, detail: string): void => void checks.push({ name, reason: null, detail });

    const token = /^bearer (\S+)$/i.exec(authorization ?? '')?.[1];
    if (authorization === undefined) return end('authorization', 'MissingProviderToken', 'the header is missing');
    if (token === undefined) return end('authorization', 'InvalidProviderToken', 'the header is not “bearer TOKEN”');
    const read = decodeToken(token);
    if (typeof read === 'string') return end('authorization', 'InvalidProviderToken', read);
    decoded = read;
    hold('authorization', 'bearer with a JWT');

    const { kid, alg } = read.header;
    if (alg !== 'ES256') return end('team_key', 'InvalidProviderToken', `alg must be ES256, it is ${text(alg)}`);
    const found = typeof kid === 'string' ? this.#keys.teamKey(kid) : undefined;
    if (found === undefined) return end('team_key', 'InvalidProviderToken', `no key is registered as kid ${text(kid)}`);
    key = found;
    if (read.claims['iss'] !== found.teamId) {
      return end('team_key', 'InvalidProviderToken', `iss must be ${found.teamId}, it is ${text(read.claims['iss'])}`);
    }
    hold('team_key', `key ${found.keyId} of team ${found.teamId}`);

    // The cache key contains the public key too, because a key that is registered again under the
    // same id may be another key.
    const remembered = `${found.publicKey} ${token}`;
    let isSigned = this.#verified.get(remembered);
    if (isSigned === undefined) {
      isSigned =
        read.signature.length === 64 &&
        verify('sha256', Buffer.from(read.signingInput), { key: found.key, dsaEncoding: 'ieee-p1363' }, read.signature);
      if (this.#verified.size >= rememberedMax) this.#verified.clear();
      this.#verified.set(remembered, isSigned);
    }
    if (!isSigned) return end('token_signature', 'InvalidProviderToken', 'it was not made with the registered key');
    hold('token_signature', 'ES256, made with the registered key');

    if (found.environment !== null && found.environment !== this.#environment) {
      return end('team_key', 'BadEnvironmentKeyIdInToken', `the key is for ${found.environment} only`);
    }
    const issuedAt = read.claims['iat'];
    if (typeof issuedAt !== 'number') return end('token_age', 'InvalidProviderToken', 'iat is missing or not a number');
    const age = Math.floor(now / 1000 - issuedAt);
    if (age > tokenSecondsMax) return end('token_age', 'ExpiredProviderToken', `issued ${age} s ago, over an hour`);
    if (age < -clockSeconds) return end('token_age', 'InvalidProviderToken', `issued ${-age} s in the future`);
    hold('token_age', `issued ${Math.max(0, age)} s ago`);

    const isFirst = !this.#connections.has(connectionId);
    const fault = this.#bind(connectionId, token, found.keyId, now);
    if (fault !== null) return end('token_updates', fault.reason, fault.detail);
    hold('token_updates', 'within one update every 20 minutes on this connection');
    return { checks, decoded, key, isFirst };
  }

  /**
   * Binds a connection to the key of its first token. The connection accepts a new token of that
   * key every 20 minutes at most.
   */
  #bind(id: number, token: string, keyId: string, now: number): { reason: ApnsReason; detail: string } | null {
    const connection = this.#connections.get(id);
    if (connection === undefined) {
      this.#connections.set(id, { keyId, token, since: now, blockedUntil: 0 });
      return null;
    }
    if (connection.keyId !== keyId) {
      return { reason: 'UnrelatedKeyIdInToken', detail: `the connection is bound to the key ${connection.keyId}` };
    }
    const isTooSoon = connection.token !== token && now - connection.since < updateMs;
    if (isTooSoon) connection.blockedUntil = connection.since + updateMs;
    if (now < connection.blockedUntil) {
      const minutes = Math.ceil((connection.blockedUntil - now) / 60_000);
      return {
        reason: 'TooManyProviderTokenUpdates',
        detail: `a second token within 20 minutes; the connection is of use again in ${minutes} min`,
      };
    }
    if (connection.token !== token) Object.assign(connection, { token, since: now });
    return null;
  }
}

function text(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
