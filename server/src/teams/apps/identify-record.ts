// The proof that an app demands for an identify, as its row stores it (contract 15). Each secret has
// one form, so that a text signed for one purpose never serves another. Pure.

/** `token`: proves by JSON Web Tokens. `hash`: proves by hashes of external ids. */
export const secretForms = ['token', 'hash'] as const;
export type SecretForm = (typeof secretForms)[number];

const prefixes: Readonly<Record<SecretForm, string>> = { token: 'idjwt_', hash: 'idsec_' };

/** A secret of a form; `random`: 32 bytes as base64url. */
export const secretOf = (form: SecretForm, random: string): string => `${prefixes[form]}${random}`;

/** The form of an opened secret, by its first letters; undefined: it is no such secret. */
export function formOfSecret(secret: string): SecretForm | undefined {
  return secretForms.find((form) => secret.startsWith(prefixes[form]));
}

/** The secrets in their sealed form. */
export interface IdentifyRecord {
  /** The secret, during a rotation the former one; null: no proof is demanded. */
  readonly secret: string | null;
  /** Has no effect without a secret. */
  readonly form: SecretForm;
  /** Also valid until the rotation is finished. */
  readonly nextSecret: string | null;
  readonly nextForm: SecretForm;
  /** Only a token that names the device is accepted. */
  readonly isDeviceRequired: boolean;
}

/** The forms of the active secrets, the former one first. */
export function formsOf({ secret, form, nextSecret, nextForm }: IdentifyRecord): SecretForm[] {
  return [...(secret === null ? [] : [form]), ...(nextSecret === null ? [] : [nextForm])];
}

/**
 * True when no proof can be made: the device is required, and no secret makes tokens. This holds
 * for apps that required the bound form of earlier versions, until they have a token secret.
 */
export function isUnprovable(record: IdentifyRecord): boolean {
  return record.isDeviceRequired && !formsOf(record).includes('token');
}
