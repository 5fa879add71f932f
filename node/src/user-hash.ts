// Makes `user_hash` of POST /v1/identify on your server: the proof that a device may be linked to a
// user. The identify secret never leaves the server.
import { createHmac } from 'node:crypto';

/**
 * The simple form, valid for one user without time limit. `secret`: the whole `idsec_…`.
 * `externalId`: exactly as in the request; a text that looks the same but has other bytes is
 * another user.
 */
export function userHash(secret: string | undefined, externalId: string): string {
  return hmac(secret, externalId);
}

export interface BoundUser {
  readonly externalId: string;
  /** The device to link. The hash is valid for no other device. */
  readonly deviceId: string;
}

/** The bound form, valid for one user on one device, within a day of `nowMs` (default: now). */
export function boundUserHash(
  secret: string | undefined,
  { externalId, deviceId }: BoundUser,
  { nowMs = Date.now() }: { readonly nowMs?: number | undefined } = {},
): string {
  const t = Math.floor(nowMs / 1000);
  return `t=${t},v1=${hmac(secret, `${t}.${deviceId}.${externalId}`)}`;
}

function hmac(secret: string | undefined, text: string): string {
  if (!secret) {
    throw new TypeError('A user hash needs the identify secret of the app, idsec_…: is its variable set?');
  }
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(text, 'utf8').digest('hex');
}
