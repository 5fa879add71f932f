// The signature of a request: `t=<unix seconds>,v1=<lowercase hex>` over `<t>.<raw body>`, keyed with the UTF-8 bytes of the
// whole secret (contract 13.3). Pure but for the making of secrets.
import { createHmac, randomBytes } from 'node:crypto';

/** 32 random bytes, shown once. */
export function makeSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}

/** `secrets`: one, or during a dual rotation the new one first and the old one second. */
export function signatureOf(secrets: readonly string[], unixSeconds: number, body: Buffer): string {
  const pairs = secrets.map((secret) => {
    const mac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${unixSeconds}.`).update(body).digest('hex');
    return `v1=${mac}`;
  });
  return [`t=${unixSeconds}`, ...pairs].join(',');
}

export interface StoredSecrets {
  readonly secret: string;
  readonly pending: string | null;
  readonly finishAt: Date | null;
  readonly isDual: boolean;
}

/** Whether the new secret alone signs, also where the row does not say so yet. */
export function isRotationOver({ finishAt }: Pick<StoredSecrets, 'finishAt'>, nowMs: number): boolean {
  return finishAt !== null && finishAt.getTime() <= nowMs;
}

/** Which secrets sign at an instant: the old one alone until the rotation is finished, unless both do meanwhile. */
export function signingSecrets(secrets: StoredSecrets, nowMs: number): string[] {
  const { secret, pending } = secrets;
  if (pending === null) return [secret];
  if (isRotationOver(secrets, nowMs)) return [pending];
  return secrets.isDual ? [pending, secret] : [secret];
}
