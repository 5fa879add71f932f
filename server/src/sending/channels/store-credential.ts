// Splits an operator's credential into the part that may be shown and the part that is
// sealed, judged as the channel will judge it. Pure. Says nothing of a private key.
import type { Issue } from '../../ground/values/issue.ts';
import { parseApnsCredential } from './apns/credential.ts';
import { parseServiceAccount } from './fcm/credential.ts';
import { parseVapidKeys } from './webpush/vapid.ts';

/** A credential as it is stored: `public` may be shown, `secret` is sealed. */
export interface StorableCredential {
  readonly public: Record<string, string>;
  readonly secret: string;
}

/** The fields of an issue's path are those of the given value. */
export type Storable = StorableCredential | { readonly issues: readonly Issue[] };

export function storableVapid(given: {
  readonly publicKey: string;
  readonly privateKey: string;
  readonly subject: string;
}): Storable {
  const parsed = parseVapidKeys({ ...given, id: given.publicKey });
  if ('issues' in parsed) return parsed;
  return { public: { publicKey: parsed.credential.publicKey, subject: given.subject }, secret: given.privateKey };
}

export function storableApns(given: {
  readonly p8: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly bundleId: string;
  readonly environment: string;
}): Storable {
  const parsed = parseApnsCredential(given);
  if ('issues' in parsed) return parsed;
  const { p8, ...shown } = given;
  return { public: shown, secret: p8 };
}

/**
 * `tokenUrl` is the operator's address for access tokens, which the file may name beside Google's.
 */
export function storableServiceAccount(text: string, tokenUrl: string): Storable {
  const parsed = parseServiceAccount(text, tokenUrl);
  if ('issues' in parsed) return parsed;
  const { projectId, clientEmail, privateKeyId } = parsed.credential;
  return { public: { projectId, clientEmail, privateKeyId }, secret: text };
}
