// Phones and sender keys as JSON: the bodies of `POST /devices`, `/apns/keys` and
// `/fcm/service-accounts`, and the file on disk. No private key is ever written.
import { createPublicKey } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fields, InputError } from './json-input.ts';
import type { PhonePoolOptions } from './phones.ts';
import { type KeptKeys, makeAppleId, makeTeamKeyPair, type ServiceAccount, type TeamKey } from './provider-keys.ts';
import { indexMax, randomSeed } from './subscriptions.ts';

export interface DevicesRequest {
  readonly pool: PhonePoolOptions;
  readonly count: number;
  /** Index of the first phone. */
  readonly from: number;
}

export const defaultBundleId = 'com.example.shop';
export const defaultProjectId = 'sandbox-shop';
const environments = ['production', 'sandbox'] as const;
const countMax = 10_000_000;
const tokenSecondsUsual = 3599;

/** The requested phones, with defaults. Throws InputError. */
export function parseDevices(value: unknown): DevicesRequest {
  const fields = new Fields(value, '');
  const count = fields.optional('count', (name) => fields.integer(name, 1, countMax)) ?? 1;
  const from = fields.optional('from', (name) => fields.integer(name, 0, indexMax - count)) ?? 0;
  const pool = parsePool(fields);
  fields.end();
  return { pool, count, from };
}

function parsePool(fields: Fields): PhonePoolOptions {
  const platform = fields.oneOf('platform', ['ios', 'android'] as const);
  const isIos = platform === 'ios';
  const seed = fields.optional('seed', (name) => fields.text(name)) ?? randomSeed();
  const tokenPrefix = fields.optional('token_prefix', (name) => fields.text(name)) ?? '';
  if (isIos ? !/^([0-9a-f]{2}){0,20}$/.test(tokenPrefix) : !/^[A-Za-z0-9_-]{0,40}$/.test(tokenPrefix)) {
    const letters = isIos ? 'hexadecimal digits in lower case, in pairs' : 'of the URL-safe base64 alphabet';
    throw new InputError('token_prefix', `must be at most 40 characters, ${letters}`);
  }
  const app = isIos
    ? (fields.optional('bundle_id', (name) => fields.text(name)) ?? defaultBundleId)
    : (fields.optional('project_id', (name) => fields.text(name)) ?? defaultProjectId);
  const environment = isIos
    ? (fields.optional('environment', (name) => fields.oneOf(name, environments)) ?? 'production')
    : null;
  return { platform, app, environment, seed, tokenPrefix };
}

export function presentPhonePool(pool: PhonePoolOptions): Record<string, string> {
  const common = { platform: pool.platform, seed: pool.seed, token_prefix: pool.tokenPrefix };
  return pool.environment === null
    ? { ...common, project_id: pool.app }
    : { ...common, bundle_id: pool.app, environment: pool.environment };
}

/**
 * A team's key to register: the given public key, or a new pair whose .p8 is in the answer. Throws
 * InputError.
 */
export function parseTeamKey(value: unknown): { key: TeamKey; p8: string | null } {
  const fields = new Fields(value, '');
  const publicKey = fields.optional('public_key', (name) => readPublicPem(fields.text(name), name));
  const made = publicKey === null ? makeTeamKeyPair() : null;
  const key = {
    teamId: fields.optional('team_id', (name) => readAppleId(fields.text(name), name)) ?? makeAppleId(),
    keyId: fields.optional('key_id', (name) => readAppleId(fields.text(name), name)) ?? makeAppleId(),
    publicKey: publicKey ?? made?.publicKey ?? '',
    environment: fields.optional('environment', (name) => fields.oneOf(name, environments)),
    bundleIds: fields.optional('bundle_ids', (name) => fields.list(name).map(String)),
  };
  fields.end();
  return { key, p8: made?.p8 ?? null };
}

function readAppleId(text: string, name: string): string {
  if (!/^[A-Z0-9]{10}$/.test(text)) throw new InputError(name, 'must be ten upper-case letters and digits');
  return text;
}

/** A public P-256 key in PEM. A private key is refused, because the sandbox has no use for it. */
function readPublicPem(text: string, name: string): string {
  if (text.includes('PRIVATE KEY')) throw new InputError(name, 'must be the public part; keep the .p8 to yourself');
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
      return key.export({ type: 'spki', format: 'pem' }).toString();
    }
  } catch {
    // Text that is not PEM gets the same error.
  }
  throw new InputError(name, 'must be a P-256 public key in PEM');
}

export function presentTeamKey(key: TeamKey): Record<string, unknown> {
  return {
    team_id: key.teamId,
    key_id: key.keyId,
    environment: key.environment,
    bundle_ids: key.bundleIds,
    public_key: key.publicKey,
  };
}

export function parseServiceAccount(value: unknown): { projectId: string; tokenSeconds: number } {
  const fields = new Fields(value, '');
  const projectId = fields.optional('project_id', (name) => fields.text(name)) ?? defaultProjectId;
  if (!/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(projectId)) {
    throw new InputError('project_id', 'must be 6 to 30 lower-case letters, digits and hyphens');
  }
  const tokenSeconds = fields.optional('token_seconds', (name) => fields.integer(name, 1, 3600)) ?? tokenSecondsUsual;
  fields.end();
  return { projectId, tokenSeconds };
}

export function presentServiceAccount(account: ServiceAccount): Record<string, unknown> {
  return {
    client_email: account.clientEmail,
    project_id: account.projectId,
    private_key_id: account.privateKeyId,
    token_seconds: account.tokenSeconds,
  };
}

/** Phones and keys that survive a restart. */
export interface KeptPhones extends KeptKeys {
  readonly pools: readonly PhonePoolOptions[];
}

const file = 'sandbox-phones.json';

/** Loads what an earlier run stored in `directory`, so that its phones stay known. */
export function loadPhones(directory: string): KeptPhones {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(join(directory, file), 'utf8'));
  } catch {
    // The first run, or a damaged file: phones and keys are lost, and nothing else is.
    return { pools: [], teamKeys: [], serviceAccounts: [] };
  }
  const fields = new Fields(document, file);
  return {
    pools: fields.list('pools').map((each) => parsePool(new Fields(each, file))),
    teamKeys: fields.list('team_keys').map((each) => parseTeamKey(each).key),
    serviceAccounts: fields.list('service_accounts').map(parseKeptAccount),
  };
}

function parseKeptAccount(value: unknown): ServiceAccount {
  const fields = new Fields(value, file);
  return {
    clientEmail: fields.text('client_email'),
    projectId: fields.text('project_id'),
    privateKeyId: fields.text('private_key_id'),
    publicKey: fields.text('public_key'),
    tokenSeconds: fields.integer('token_seconds', 1, 3600),
  };
}

/** Only the owner may read the file, because a pool's seed gives all of its tokens. */
export function savePhones(directory: string, kept: KeptPhones): void {
  mkdirSync(directory, { recursive: true });
  const document = {
    pools: kept.pools.map(presentPhonePool),
    team_keys: kept.teamKeys.map(presentTeamKey),
    service_accounts: kept.serviceAccounts.map((each) => ({
      ...presentServiceAccount(each),
      public_key: each.publicKey,
    })),
  };
  writeFileSync(join(directory, file), `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
}
