// Who sends: the token that Apple asks for with every push, signed with ES256. One serves everything of a team and key for
// 50 minutes, and none is renewed within 20: Apple punishes both an old token and a fresh one each time
// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
import { sign } from 'node:crypto';
import type { ApnsCredential } from './credential.ts';

const lifetimeMs = 50 * 60_000;
const renewAfterMs = 20 * 60_000;
/** A clock may be corrected by so much without a new token. */
const setBackMs = 60_000;
/** Each costs some hundred bytes; one that is forgotten would be renewed too soon. */
const tokensKeptMax = 10_000;

export interface ProviderTokens {
  tokenFor(credential: ApnsCredential): string;
  /**
   * What to try after Apple called `refused` expired: a token made meanwhile, or a new one where the last is old enough.
   * Undefined: it is too young to be expired, so one of the two clocks is wrong.
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
      // A token from the future is refused as well: a clock that went back makes the old one worthless.
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

/** Whose a token is. Asked with the same credential for every push. */
function nameOf(credential: ApnsCredential): string {
  const known = names.get(credential);
  if (known !== undefined) return known;
  const { teamId, keyId, fingerprint } = credential;
  const name = `${teamId} ${keyId} ${fingerprint}`;
  names.set(credential, name);
  return name;
}
