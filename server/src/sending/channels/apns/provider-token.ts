// The provider token that Apple asks for with every push, signed with ES256. One token serves all
// pushes of a team and key for 50 minutes, and is never renewed within 20. Apple rejects an old
// token and throttles a sender that renews too often
// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
import { sign } from 'node:crypto';
import type { ChannelClock } from '../channel.ts';
import type { ApnsCredential } from './credential.ts';

const lifetimeMs = 50 * 60_000;
const renewAfterMs = 20 * 60_000;
/** Milliseconds. A token whose time is further ahead was made before the clock was set back. */
const aheadMsMax = 60_000;
/**
 * Tokens that are kept. The limit is high, because a forgotten token would be renewed too soon and
 * a token takes only some hundred bytes.
 */
const tokensKeptMax = 10_000;

export interface ProviderTokens {
  tokenFor(credential: ApnsCredential): string;
  /**
   * The token to try after Apple called `refused` expired or invalid: a token made in the meantime,
   * or a new one. An expired token is renewed when it is older than 20 minutes; a younger one
   * cannot be expired, so one of the two clocks is wrong. A token whose time lies ahead is always
   * renewed, because it was made before the clock was set back.
   */
  renew(credential: ApnsCredential, refused: string, fault: 'expired' | 'invalid'): string | undefined;
}

interface Kept {
  readonly token: string;
  readonly issuedAtMs: number;
  ageMs: number;
  /** Both clocks when the age was counted last. */
  steadyMs: number;
  nowMs: number;
}

/**
 * A token's age is the time that passed on both clocks. Setting the host's clock forward moves the
 * steady clock, and setting the database's clock moves the other. So no single changed clock costs
 * a token that Apple still accepts.
 */
export function createProviderTokens(clock: Pick<ChannelClock, 'nowMs' | 'steadyMs' | 'isInDoubt'>): ProviderTokens {
  const kept = new Map<string, Kept>();

  const ageMsOf = (known: Kept): number => {
    const steadyMs = clock.steadyMs();
    // While the clock is in doubt, only one of the two has counted a sleep.
    if (clock.isInDoubt()) return known.ageMs;
    const nowMs = clock.nowMs();
    known.ageMs += Math.max(0, Math.min(steadyMs - known.steadyMs, nowMs - known.nowMs));
    known.steadyMs = steadyMs;
    known.nowMs = nowMs;
    return known.ageMs;
  };

  const mint = (credential: ApnsCredential): string => {
    const nowMs = clock.nowMs();
    const token = signProviderToken(credential, Math.floor(nowMs / 1_000));
    // While the clock is in doubt, the token's time may be hours old. Its push is not sent, and no
    // later push may use the token.
    if (clock.isInDoubt()) return token;
    const name = nameOf(credential);
    kept.delete(name);
    kept.set(name, { token, issuedAtMs: nowMs, ageMs: 0, steadyMs: clock.steadyMs(), nowMs });
    const oldest = kept.size > tokensKeptMax ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
    return token;
  };

  return {
    tokenFor(credential) {
      const known = kept.get(nameOf(credential));
      const isUsable = known !== undefined && ageMsOf(known) < lifetimeMs;
      return isUsable ? known.token : mint(credential);
    },
    renew(credential, refused, fault) {
      const known = kept.get(nameOf(credential));
      if (known === undefined) return mint(credential);
      if (known.token !== refused) return known.token;
      const isOld = ageMsOf(known) >= renewAfterMs;
      return (fault === 'expired' && isOld) || known.issuedAtMs > clock.nowMs() + aheadMsMax
        ? mint(credential)
        : undefined;
    },
  };
}

/** `iat` is in seconds since the epoch. The claims and their order are Apple's. */
export function signProviderToken({ keyId, teamId, privateKey }: ApnsCredential, iat: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part({ alg: 'ES256', kid: keyId })}.${part({ iss: teamId, iat })}`;
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

const names = new WeakMap<ApnsCredential, string>();

/**
 * Identifies the team and key of a token. Remembered per credential object, because every push asks
 * with the same object.
 */
function nameOf(credential: ApnsCredential): string {
  const known = names.get(credential);
  if (known !== undefined) return known;
  const { teamId, keyId, fingerprint } = credential;
  const name = `${teamId} ${keyId} ${fingerprint}`;
  names.set(credential, name);
  return name;
}
