// The signature of a request: `t=<unix seconds>,v1=<lowercase hex>` over `<t>.<raw body>`, keyed
// with the UTF-8 bytes of the whole secret (contract 13.3). Pure, except `makeSecret`.
import { randomBytes } from 'node:crypto';
import { sign, signingKey } from '../../ground/secrets/signed-text.ts';

/** Makes a secret of 32 random bytes, which is shown once. */
export function makeSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}

/** `secrets` holds one, or during a dual rotation the new secret and then the old one. */
export function signatureOf(secrets: readonly string[], unixSeconds: number, body: Buffer): string {
  const pairs = secrets.map((secret) => `v1=${sign(signingKey('webhook', secret), `${unixSeconds}`, body)}`);
  return [`t=${unixSeconds}`, ...pairs].join(',');
}

export interface StoredSecrets {
  readonly secret: string;
  readonly pending: string | null;
  readonly finishAt: Date | null;
  readonly isDual: boolean;
}

/** Whether only the new secret signs, even if the row does not say so yet. */
export function isRotationOver({ finishAt }: Pick<StoredSecrets, 'finishAt'>, nowMs: number): boolean {
  return finishAt !== null && finishAt.getTime() <= nowMs;
}

/**
 * The secrets that sign at an instant. Until the rotation is over, the old one signs alone, or both
 * do in a dual rotation.
 */
export function signingSecrets(secrets: StoredSecrets, nowMs: number): string[] {
  const { secret, pending } = secrets;
  if (pending === null) return [secret];
  if (isRotationOver(secrets, nowMs)) return [pending];
  return secrets.isDual ? [pending, secret] : [secret];
}
