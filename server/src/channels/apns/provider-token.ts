// The provider token that Apple asks for with every push, signed with ES256. One token serves all
// pushes of a team and key for 50 minutes, and is never renewed within 20. Apple rejects an old
// token and throttles a sender that renews too often
// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
import { sign } from 'node:crypto';
import type { ApnsCredential } from './credential.ts';

const lifetimeMs = 50 * 60_000;
const renewAfterMs = 20 * 60_000;
/** The system's clock may be set back by up to this much without a new token. */
const setBackMs = 60_000;
/**
 * A token costs some hundred bytes of memory. A forgotten token would be renewed too soon, so the
 * limit is high.
 */
const tokensKeptMax = 10_000;

export interface ProviderTokens {
  tokenFor(credential: ApnsCredential): string;
  /**
   * The token to try after Apple called `refused` expired: a token made in the meantime, or a new
   * one when the last is older than 20 minutes. Undefined when the last is younger: then it cannot
   * be expired, and one of the two clocks is wrong.
   */
  renew(credential: ApnsCredential, refused: string): string | undefined;
}

export function createProviderTokens(clock: { nowMs(): number }): ProviderTokens {
  const kept = new Map<string, { token: string; mintedAtMs: number }>();

  const mint = (credential: ApnsCredential, nowMs: number): string => {
    const token = signProviderToken(credential, Math.floor(nowMs / 1_000));
    const name = nameOf(credential);
    kept.delete(name);
    kept.set(name, { token, mintedAtMs: nowMs });
    const oldest = kept.size > tokensKeptMax ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
    return token;
  };

  return {
    tokenFor(credential) {
      const nowMs = clock.nowMs();
      const known = kept.get(nameOf(credential));
      const ageMs = known === undefined ? Number.POSITIVE_INFINITY : nowMs - known.mintedAtMs;
      // Apple rejects a token from the future as well. So a clock that was set back makes the old
      // token worthless.
      return known !== undefined && ageMs < lifetimeMs && ageMs > -setBackMs ? known.token : mint(credential, nowMs);
    },
    renew(credential, refused) {
      const nowMs = clock.nowMs();
      const known = kept.get(nameOf(credential));
      if (known === undefined) return mint(credential, nowMs);
      if (known.token !== refused) return known.token;
      return nowMs - known.mintedAtMs >= renewAfterMs ? mint(credential, nowMs) : undefined;
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
