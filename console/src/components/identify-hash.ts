// Checks the hash by which a server vouches for a person (contract 15). Both forms; pure but for
// the digest, which the browser makes.

export type HashFault = 'no_device' | 'malformed' | 'stale' | 'differs';

interface Claim {
  readonly secret: string;
  readonly externalId: string;
  /** Needed for the bound form alone. */
  readonly deviceId: string;
  readonly hash: string;
}

/** Seconds by which the time of a bound hash may differ from now. */
const boundForSeconds = 86_400;
const simple = /^[0-9a-f]{64}$/;
const bound = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/;

/** Null: the hash is right. Otherwise the fault, and the right hash where it can be told. */
export async function checkHash(
  { secret, externalId, deviceId, hash }: Claim,
  nowMs: number,
): Promise<{ readonly fault: HashFault; readonly expected?: string } | null> {
  const [, time, signature] = bound.exec(hash) ?? [];
  if (time === undefined) {
    const expected = await sign(secret, externalId);
    if (!simple.test(hash)) return { fault: 'malformed', expected };
    return hash === expected ? null : { fault: 'differs', expected };
  }
  if (deviceId === '') return { fault: 'no_device' };
  const expected = await sign(secret, `${time}.${deviceId}.${externalId}`);
  if (signature !== expected) return { fault: 'differs', expected: `t=${time},v1=${expected}` };
  return Math.abs(nowMs / 1000 - Number(time)) > boundForSeconds ? { fault: 'stale' } : null;
}

async function sign(secret: string, text: string): Promise<string> {
  const bytes = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), algorithm, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, bytes.encode(text));
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
