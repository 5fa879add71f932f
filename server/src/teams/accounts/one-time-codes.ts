// The codes of a second factor: an authenticator's (RFC 6238: SHA-1, 30 seconds, six digits), and
// recovery codes. Pure, but for chance.
import { randomBytes, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

const stepMs = 30_000;
/** Steps before and after the present one whose codes count, for clocks that are a little wrong. */
const stepsAside = 1;
/** As long as the hash of its algorithm (RFC 4226, section 4). */
const seedBytes = 20;
const recoveryCodesCount = 10;
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

export function mintSeed(): Buffer {
  return randomBytes(seedBytes);
}

/** The address that an authenticator reads, with the seed. */
export function uriOf(seed: Buffer, email: string): string {
  return totpOf(seed, email).toString();
}

/**
 * Returns the time step of a code; undefined: the code belongs to no step around the present one.
 */
export function findTotpStep(seed: Buffer, code: string, nowMs: number): number | undefined {
  const aside = totpOf(seed, '').validate({ token: code, timestamp: nowMs, window: stepsAside });
  return aside === null ? undefined : Math.floor(nowMs / stepMs) + aside;
}

/** Mints recovery codes of 59 bits each, such as `aB3dE-fG7hI`. */
export function mintRecoveryCodes(): string[] {
  const part = (): string => Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('');
  return Array.from({ length: recoveryCodesCount }, () => `${part()}-${part()}`);
}

function totpOf(seed: Buffer, label: string): TOTP {
  // The bytes are copied, because the library reads the whole ArrayBuffer, which small Buffers
  // share.
  const secret = new Secret({ buffer: Uint8Array.from(seed).buffer });
  return new TOTP({ issuer: 'Carillon', label, secret });
}
