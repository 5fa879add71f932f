// An app's credential for Google: the service account of its Firebase project. Saving checks the
// file in words, so that a wrong one of Google's many JSON files is found before the first push.
import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Issue } from '../../../ground/values/issue.ts';
import { publicHalfOf } from '../public-half.ts';

/** A service account ready for use. */
export interface FcmCredential {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKeyId: string;
  /** The audience of the assertions. Requests do not use it: they go to the operator's address. */
  readonly tokenUri: string;
  readonly privateKey: KeyObject;
  /**
   * Tells apart keys of the same names. Names are public, because Google publishes the ids of an
   * account's keys. A key must neither get nor spoil the tokens of another key.
   */
  readonly fingerprint: string;
}

/** Google's address for access tokens. */
export const googleTokenUrl = 'https://oauth2.googleapis.com/token';

const fileSchema = z.object({
  project_id: z.string().regex(/^[a-z0-9][a-z0-9.:-]{0,99}$/),
  client_email: z.string().regex(/^[^\s@]{1,200}@[^\s@]{1,200}$/),
  private_key_id: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  private_key: z.string(),
  token_uri: z.string(),
});

/**
 * Makes a credential of a service account's JSON, or says what is wrong with it. The file may name
 * Google's address for access tokens, or the operator's (`tokenUrl`), and no other. No issue shows
 * any part of the key.
 */
export function parseServiceAccount(
  text: string,
  tokenUrl: string,
): { readonly credential: FcmCredential } | { readonly issues: readonly Issue[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refuse([], 'It is not JSON: a service account is a JSON file.');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return refuse([], 'It is not a JSON object.');
  if ('project_info' in json) {
    return refuse([], "It is the app's google-services.json; the service account's private key is needed.");
  }
  const type = 'type' in json ? json.type : undefined;
  if (type !== 'service_account') return refuse(['type'], 'It must be "service_account".');
  const parsed = fileSchema.safeParse(json);
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => String(path[0]));
    return { issues: [...new Set(fields)].map((field) => issue([field], 'It is missing or malformed.')) };
  }
  const file = parsed.data;
  if (file.token_uri !== googleTokenUrl && file.token_uri !== tokenUrl) {
    return refuse(['token_uri'], `It must be ${googleTokenUrl}.`);
  }
  const key = readKey(file.private_key);
  if ('problem' in key) return refuse(['private_key'], key.problem);
  return {
    credential: {
      projectId: file.project_id,
      clientEmail: file.client_email,
      privateKeyId: file.private_key_id,
      tokenUri: file.token_uri,
      ...key,
    },
  };
}

function readKey(pem: string): { privateKey: KeyObject; fingerprint: string } | { problem: string } {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(pem);
  } catch {
    return { problem: 'The private key cannot be read: it is damaged, or its line breaks were lost.' };
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
  if (type !== 'rsa') return { problem: `It is a key of the kind ${type}; Google's are RSA keys.` };
  if ((details?.modulusLength ?? 0) < 2_048) return { problem: 'The RSA key is shorter than 2,048 bits.' };
  const publicKey = publicHalfOf(privateKey);
  if (publicKey === undefined) return { problem: 'It cannot sign: the private key is damaged.' };
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { privateKey, fingerprint: createHash('sha256').update(spki).digest('base64url') };
}

function refuse(path: readonly string[], message: string): { issues: readonly Issue[] } {
  return { issues: [issue(path, message)] };
}

function issue(path: readonly string[], message: string): Issue {
  return { path: [...path], code: 'invalid_format', message };
}
