// The keys of those who may send to phones: signing keys of Apple teams and service accounts of
// Firebase projects. It stores only public parts. A new private key is shown once, as the vendors'
// consoles do.
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { ApnsEnvironment } from './phones.ts';

/** An APNs key of a team. */
export interface TeamKey {
  readonly teamId: string;
  readonly keyId: string;
  /** SPKI in PEM. */
  readonly publicKey: string;
  /** The environment that the key is bound to; null: both. */
  readonly environment: ApnsEnvironment | null;
  /** Bundle ids that the key may send for; null: all of the team. */
  readonly bundleIds: readonly string[] | null;
}

export interface ServiceAccount {
  readonly clientEmail: string;
  readonly projectId: string;
  readonly privateKeyId: string;
  /** SPKI in PEM. */
  readonly publicKey: string;
  /** The `expires_in` of the account's access tokens, in seconds. */
  readonly tokenSeconds: number;
}

/** The keys that survive a restart. */
export interface KeptKeys {
  readonly teamKeys: readonly TeamKey[];
  readonly serviceAccounts: readonly ServiceAccount[];
}

export class ProviderKeys {
  readonly #teamKeys = new Map<string, TeamKey & { readonly key: KeyObject }>();
  readonly #accounts = new Map<string, ServiceAccount & { readonly key: KeyObject }>();
  readonly #onChange: (keys: KeptKeys) => void;

  constructor(kept: KeptKeys, onChange: (keys: KeptKeys) => void) {
    for (const each of kept.teamKeys) this.#teamKeys.set(each.keyId, withKey(each));
    for (const each of kept.serviceAccounts) this.#accounts.set(each.clientEmail, withKey(each));
    this.#onChange = onChange;
  }

  /** Adds a key, or replaces the key with the same id. Throws when the PEM is invalid. */
  addTeamKey(key: TeamKey): void {
    this.#teamKeys.set(key.keyId, withKey(key));
    this.#onChange(this.kept());
  }

  removeTeamKey(keyId: string): boolean {
    const isRemoved = this.#teamKeys.delete(keyId);
    this.#onChange(this.kept());
    return isRemoved;
  }

  teamKey(keyId: string): (TeamKey & { readonly key: KeyObject }) | undefined {
    return this.#teamKeys.get(keyId);
  }

  addServiceAccount(account: ServiceAccount): void {
    this.#accounts.set(account.clientEmail, withKey(account));
    this.#onChange(this.kept());
  }

  removeServiceAccount(clientEmail: string): boolean {
    const isRemoved = this.#accounts.delete(clientEmail);
    this.#onChange(this.kept());
    return isRemoved;
  }

  serviceAccount(clientEmail: string): (ServiceAccount & { readonly key: KeyObject }) | undefined {
    return this.#accounts.get(clientEmail);
  }

  hasProject(projectId: string): boolean {
    return [...this.#accounts.values()].some((account) => account.projectId === projectId);
  }

  kept(): KeptKeys {
    const bare = <T extends { key: KeyObject }>({ key: _key, ...rest }: T): Omit<T, 'key'> => rest;
    return {
      teamKeys: [...this.#teamKeys.values()].map(bare),
      serviceAccounts: [...this.#accounts.values()].map(bare),
    };
  }
}

function withKey<T extends { readonly publicKey: string }>(value: T): T & { readonly key: KeyObject } {
  return { ...value, key: createPublicKey(value.publicKey) };
}

/** Ten characters, as Apple's ids of teams and keys have. */
export function makeAppleId(): string {
  const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  return [...randomBytes(10)].map((octet) => alphabet[octet % alphabet.length]).join('');
}

/**
 * A new key pair for APNs: the public key in PEM, and the private key as the .p8 that Apple lets
 * you download once.
 */
export function makeTeamKeyPair(): { publicKey: string; p8: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    p8: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** A new service account of a project, and the JSON file that its owner downloads once. */
export function makeServiceAccount(
  projectId: string,
  tokenSeconds: number,
  tokenUri: string,
): { account: ServiceAccount; file: Record<string, string> } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const clientEmail = `firebase-adminsdk-${randomBytes(3).toString('hex')}@${projectId}.iam.gserviceaccount.com`;
  const privateKeyId = createHash('sha1').update(pem).digest('hex');
  return {
    account: { clientEmail, projectId, privateKeyId, publicKey: pem, tokenSeconds },
    file: {
      type: 'service_account',
      project_id: projectId,
      private_key_id: privateKeyId,
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      client_email: clientEmail,
      client_id: BigInt(`0x${randomBytes(8).toString('hex')}`)
        .toString()
        .padStart(21, '1'),
      auth_uri: 'https://accounts.google.com/o/oauth2/auth',
      token_uri: tokenUri,
      auth_provider_x509_cert_url: 'https://www.googleapis.com/oauth2/v1/certs',
      client_x509_cert_url: `https://www.googleapis.com/robot/v1/metadata/x509/${encodeURIComponent(clientEmail)}`,
      universe_domain: 'googleapis.com',
    },
  };
}
