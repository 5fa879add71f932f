// The time step of an authenticator's code (RFC 6238: SHA-1, 30 seconds, six digits). Each step is
// accepted once, so that a code that somebody saw opens nothing a second time (RFC 6238, 5.2).
// Pure.
import { createHmac } from 'node:crypto';

const stepMs = 30_000;
/** Steps before and after the present one whose codes count, as better-auth accepts them. */
const stepsAside = 1;

/** Returns the step that a code belongs to; undefined: the code is of no step around now. */
export function findTotpStep(seed: string, code: string, nowMs: number): number | undefined {
  const present = Math.floor(nowMs / stepMs);
  for (let step = present + stepsAside; step >= present - stepsAside; step--) {
    if (codeOfStep(seed, step) === code) return step;
  }
  return undefined;
}

/** The code that an authenticator shows at this time. */
export function codeAt(seed: string, nowMs: number): string {
  return codeOfStep(seed, Math.floor(nowMs / stepMs));
}

function codeOfStep(seed: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', seed).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
