// The proof that an app's own server gives of whose a device is: an HMAC under a secret that no page and no phone knows
// (contract 15). Pure. Says yes or no and never why.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface IdentityClaim {
  /** As the request spells it. */
  readonly deviceId: string;
  /** As decoded from JSON: not trimmed, not folded, not normalised. */
  readonly externalId: string;
  readonly userHash: string | null | undefined;
}

export interface ProofRules {
  readonly secrets: readonly string[];
  readonly isBoundRequired: boolean;
}

const simpleForm = /^[0-9a-f]{64}$/;
const boundForm = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/;
/** A bound proof is good for so long before and after its instant. */
const boundMsMax = 86_400_000;

/** Does one of the secrets prove the claim? */
export function isProven(claim: IdentityClaim, { secrets, isBoundRequired }: ProofRules, nowMs: number): boolean {
  const proof = readProof(claim, nowMs);
  if (!proof || (isBoundRequired && !proof.isBound)) return false;
  const given = Buffer.from(proof.mac, 'hex');
  let isEqual = false;
  for (const secret of secrets) {
    const wanted = createHmac('sha256', Buffer.from(secret, 'utf8')).update(proof.message, 'utf8').digest();
    // Every secret is tried, so that the time taken does not tell which one it was.
    if (timingSafeEqual(wanted, given)) isEqual = true;
  }
  return isEqual;
}

interface Proof {
  readonly isBound: boolean;
  /** 64 digits: what is compared is always of one length. */
  readonly mac: string;
  readonly message: string;
}

/** Undefined: neither form, or a bound one whose day is not this one. */
function readProof({ deviceId, externalId, userHash }: IdentityClaim, nowMs: number): Proof | undefined {
  if (typeof userHash !== 'string') return undefined;
  if (simpleForm.test(userHash)) return { isBound: false, mac: userHash, message: externalId };
  const [, at, mac] = boundForm.exec(userHash) ?? [];
  if (at === undefined || mac === undefined) return undefined;
  if (Math.abs(nowMs - Number(at) * 1000) > boundMsMax) return undefined;
  return { isBound: true, mac, message: `${at}.${deviceId}.${externalId}` };
}
