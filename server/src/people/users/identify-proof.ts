// Checks the proof of a device's user by the app's own server: a token or a hash under a secret that
// no page and no phone knows (contract 15). Pure. The answer is yes or no and never gives a reason.

import { isSignedBy, signingKey } from '../../ground/secrets/signed-text.ts';
import type { SecretForm } from '../../teams/apps/identify-record.ts';
import type { IdentifyRules } from '../../teams/apps/identify-secrets.ts';
import { readUserToken } from './user-token.ts';

export interface IdentityClaim {
  /** As callers know it: `app_…`. */
  readonly appId: string;
  /** As the request spells it. */
  readonly deviceId: string;
  /** As decoded from JSON: not trimmed, not case-folded, not normalised. */
  readonly externalId: string;
  readonly userToken: string | null | undefined;
  readonly userHash: string | null | undefined;
}

const aheadSecondsMax = 86_400;
/** Seconds by which the clock of a caller's server may differ from ours. */
const leewaySeconds = 60;

/** Returns whether one of the secrets proves the claim, each in its own form. */
export function isProven(claim: IdentityClaim, { secrets, isDeviceRequired }: IdentifyRules, nowMs: number): boolean {
  const of = (form: SecretForm) => secrets.filter((each) => each.form === form).map(({ secret }) => secret);
  if (typeof claim.userToken === 'string') {
    const claims = readUserToken(claim.userToken, of('token'));
    return claims !== undefined && isAbout(claim, claims, isDeviceRequired) && isValidAt(claims, nowMs / 1000);
  }
  return !isDeviceRequired && isHashOf(claim, of('hash'));
}

type Claims = Readonly<Record<string, unknown>>;

function isAbout({ appId, deviceId, externalId }: IdentityClaim, claims: Claims, isDeviceRequired: boolean): boolean {
  const { sub, aud = appId, device_id: device = isDeviceRequired ? undefined : deviceId } = claims;
  const isForApp = Array.isArray(aud) ? aud.includes(appId) : aud === appId;
  return sub === externalId && isForApp && device === deviceId;
}

function isValidAt({ exp, nbf = -Infinity }: Claims, now: number): boolean {
  if (typeof exp !== 'number' || typeof nbf !== 'number') return false;
  const isExpired = exp + leewaySeconds <= now;
  const isTooFarAhead = exp - leewaySeconds > now + aheadSecondsMax;
  return !isExpired && !isTooFarAhead && nbf - leewaySeconds <= now;
}

function isHashOf({ externalId, userHash }: IdentityClaim, secrets: readonly string[]): boolean {
  const keys = secrets.map((secret) => signingKey('userHash', secret));
  return typeof userHash === 'string' && isSignedBy(keys, userHash, externalId);
}
