// An app's credential for Apple: a token signing key, its team and the app's bundle id. Saving
// checks the credential in words and by a signature, so that a wrong file is found before the first
// push.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Issue } from '../../../ground/values/issue.ts';
import { type Environment, environments } from '../channel.ts';
import { publicHalfOf } from '../public-half.ts';

/** A signing key ready for use. */
export interface ApnsCredential {
  readonly teamId: string;
  readonly keyId: string;
  /** The app's bundle id: the `apns-topic`. */
  readonly bundleId: string;
  /** The environment to ask first for a device that does not say its own. */
  readonly environment: Environment;
  readonly privateKey: KeyObject;
  /** Tells two keys of one id apart: a token that one key signed must not serve the other. */
  readonly fingerprint: string;
}

/**
 * A credential as it was configured: the text of the `.p8` file and the values that Apple's
 * developer pages show for it.
 */
export interface GivenApnsCredential {
  readonly p8: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly bundleId: string;
  readonly environment: string;
}

const identifierForm = /^[A-Z0-9]{10}$/;
const bundleIdForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,153}[A-Za-z0-9])?$/;

/**
 * Makes a credential of what was configured, or says what is wrong with it. No issue shows any part
 * of the key.
 */
export function parseApnsCredential(
  given: GivenApnsCredential,
): { readonly credential: ApnsCredential } | { readonly issues: readonly Issue[] } {
  const issues: Issue[] = [];
  const refuse = (field: keyof GivenApnsCredential, message: string) =>
    issues.push({ path: [field], code: 'invalid_format', message });
  const key = readSigningKey(given.p8);
  if ('problem' in key) refuse('p8', key.problem);
  if (!identifierForm.test(given.keyId)) refuse('keyId', 'A key id is 10 capital letters and digits.');
  if (!identifierForm.test(given.teamId)) refuse('teamId', 'A team id is 10 capital letters and digits.');
  if (!bundleIdForm.test(given.bundleId)) refuse('bundleId', 'A bundle id is like com.example.shop.');
  const environment = environments.find((each) => each === given.environment);
  if (environment === undefined) refuse('environment', `It is one of ${environments.join(', ')}.`);
  if ('problem' in key || environment === undefined || issues.length > 0) return { issues };
  const { teamId, keyId, bundleId } = given;
  return { credential: { teamId, keyId, bundleId, environment, ...key } };
}

function readSigningKey(text: string): Pick<ApnsCredential, 'privateKey' | 'fingerprint'> | { problem: string } {
  // A service account's JSON holds a PEM as well, but belongs to Google.
  const label = text.trimStart().startsWith('{') ? undefined : /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text)?.[1];
  if (label === undefined) {
    return { problem: 'It is no PEM file: an APNs key begins with -----BEGIN PRIVATE KEY-----.' };
  }
  if (label.includes('CERTIFICATE'))
    return { problem: 'It is a certificate; the key of token authentication is needed.' };
  if (label.includes('PUBLIC KEY')) return { problem: 'It is a public key; the private one is needed.' };
  if (label.includes('ENCRYPTED')) return { problem: 'It is encrypted; the key as Apple gave it is needed.' };
  if (!label.includes('PRIVATE KEY')) return { problem: `It holds a ${label.toLowerCase()}, not a private key.` };
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(text);
  } catch {
    return { problem: 'It is damaged: the private key cannot be read.' };
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
  if (type !== 'ec') return { problem: `It is a key of the kind ${type}; APNs keys are EC keys on the curve P-256.` };
  if (details?.namedCurve !== 'prime256v1') {
    return { problem: `It is a key on the curve ${details?.namedCurve}; APNs keys are on P-256.` };
  }
  const publicKey = publicHalfOf(privateKey);
  if (publicKey === undefined) return { problem: 'It cannot sign: the private key is damaged.' };
  const point = publicKey.export({ format: 'jwk' });
  return { privateKey, fingerprint: `${point.x}` };
}
