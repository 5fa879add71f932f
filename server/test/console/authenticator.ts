// An authenticator of a person, as its app computes codes.
import { createHmac } from 'node:crypto';

/**
 * The code that an authenticator shows (RFC 6238: SHA-1, 30 s, six digits). Its clock is right, as
 * the service's is. The host's may be wrong.
 */
export function codeOf(uri: string, clock: { nowMs(): number }, stepsAhead = 0): string {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(clock.nowMs() / 30_000) + stepsAhead));
  const mac = createHmac('sha1', key).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
