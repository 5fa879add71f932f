// Checks the proof of a device's user by the app's own server: an HMAC under a secret that no page
// and no phone knows (contract 15). Pure. The answer is yes or no and never gives a reason.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface IdentityClaim {
  /** As the request spells it. */
  readonly deviceId: string;
  /** As decoded from JSON: not trimmed, not case-folded, not normalised. */
  readonly externalId: string;
  readonly userHash: string | null | undefined;
}

export interface ProofRules {
  readonly secrets: readonly string[];
  readonly isBoundRequired: boolean;
}

const simpleForm = /^[0-9a-f]{64}$/;
const boundForm = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/;
/** Milliseconds before and after its instant during which a bound proof is valid. */
const boundMsMax = 86_400_000;

/** Returns whether one of the secrets proves the claim. */
export function isProven(claim: IdentityClaim, { secrets, isBoundRequired }: ProofRules, nowMs: number): boolean {
  const proof = readProof(claim, nowMs);
  if (!proof || (isBoundRequired && !proof.isBound)) return false;
  const given = Buffer.from(proof.mac, 'hex');
  let isEqual = false;
  for (const secret of secrets) {
    const wanted = createHmac('sha256', Buffer.from(secret, 'utf8')).update(proof.message, 'utf8').digest();
    // Every secret is tried, so that the time taken does not tell which secret matched.
    if (timingSafeEqual(wanted, given)) isEqual = true;
  }
  return isEqual;
}

interface Proof {
  readonly isBound: boolean;
  /** 64 hexadecimal digits, so that both compared values have the same length. */
  readonly mac: string;
  readonly message: string;
}

/**
 * Returns undefined when the proof has neither form, or is a bound proof that is not valid at this
 * time.
 */
function readProof({ deviceId, externalId, userHash }: IdentityClaim, nowMs: number): Proof | undefined {
  if (typeof userHash !== 'string') return undefined;
  if (simpleForm.test(userHash)) return { isBound: false, mac: userHash, message: externalId };
  const [, at, mac] = boundForm.exec(userHash) ?? [];
  if (at === undefined || mac === undefined) return undefined;
  if (Math.abs(nowMs - Number(at) * 1000) > boundMsMax) return undefined;
  return { isBound: true, mac, message: `${at}.${deviceId}.${externalId}` };
}
