// Makes `user_token` and `user_hash` of POST /v1/identify on your server: the proof that a device may
// be linked to a user. The identify secret never leaves the server, and each secret makes one of the
// two alone: a hash under the secret of tokens could be read as a token.
import { createHmac } from 'node:crypto';

export interface ProvenUser {
  /** Exactly as in the request: a text that looks the same but has other bytes is another user. */
  readonly externalId: string;
  /** The device to link. The token is then valid for no other device. */
  readonly deviceId?: string | undefined;
  /** How long the token is valid: 1 to 86,400. Default: 3,600. */
  readonly expiresInSeconds?: number | undefined;
}

const expiresInSecondsMax = 86_400;
const header = base64url({ alg: 'HS256', typ: 'JWT' });

/** A JSON Web Token for one user, until it expires. `secret`: the whole `idjwt_…`. */
export function userToken(
  secret: string | undefined,
  { externalId, deviceId, expiresInSeconds = 3600 }: ProvenUser,
): string {
  const key = keyOf(secret, 'idjwt_');
  if (!isName(externalId)) throw new TypeError('A user token needs an externalId.');
  if (deviceId !== undefined && !isName(deviceId)) throw new TypeError('deviceId is the id of a device, dev_….');
  if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > expiresInSecondsMax) {
    throw new TypeError(`expiresInSeconds is a whole number from 1 to ${expiresInSecondsMax}.`);
  }
  const exp = Math.floor(Date.now() / 1000) + expiresInSeconds;
  const signed = `${header}.${base64url({ sub: externalId, device_id: deviceId, exp })}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

/** A hash for one user that never expires. `secret`: the whole `idsec_…`. */
export function userHash(secret: string | undefined, externalId: string): string {
  return createHmac('sha256', keyOf(secret, 'idsec_')).update(externalId, 'utf8').digest('hex');
}

function keyOf(secret: string | undefined, prefix: string): Buffer {
  if (secret?.startsWith(prefix)) return Buffer.from(secret, 'utf8');
  throw new TypeError(`This needs an identify secret of the app that begins with ${prefix}: is its variable set?`);
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
}
