// Pools of simulated browsers as JSON: the body of `POST /subscriptions`, and the file on disk.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fields, InputError } from './json-input.ts';
import { indexMax, type PoolOptions, randomSeed } from './subscriptions.ts';
import { readPublicKey } from './vapid.ts';
import { vendorNames } from './vendors/vendors.ts';

export interface SubscribeRequest {
  readonly pool: PoolOptions;
  readonly count: number;
  /** Index of the first browser. */
  readonly from: number;
}

const countMax = 10_000_000;

/** The requested browsers, with defaults. Throws InputError. */
export function parseSubscribe(value: unknown): SubscribeRequest {
  const fields = new Fields(value, '');
  const count = fields.optional('count', (name) => fields.integer(name, 1, countMax)) ?? 1;
  const from = fields.optional('from', (name) => fields.integer(name, 0, indexMax - count)) ?? 0;
  const pool = parsePool(fields);
  fields.end();
  return { pool, count, from };
}

function parsePool(fields: Fields): PoolOptions {
  const vapidKey = fields.optional('vapid_key', (name) => fields.text(name));
  const fault = vapidKey === null ? null : readPublicKey(vapidKey);
  if (typeof fault === 'string') throw new InputError('vapid_key', fault);
  const tokenPrefix = fields.optional('token_prefix', (name) => fields.text(name)) ?? '';
  if (!/^[A-Za-z0-9_-]{0,40}$/.test(tokenPrefix)) {
    throw new InputError('token_prefix', 'must be at most 40 characters of the URL-safe base64 alphabet');
  }
  return {
    vendor: fields.optional('vendor', (name) => fields.oneOf(name, vendorNames)) ?? 'generic',
    vapidKey,
    seed: fields.optional('seed', (name) => fields.text(name)) ?? randomSeed(),
    keys: fields.optional('keys', (name) => fields.oneOf(name, ['derived', 'shared'] as const)) ?? 'derived',
    tokenPrefix,
    hosts: fields.optional('hosts', (name) => fields.oneOf(name, ['sandbox', 'vendor'] as const)) ?? 'sandbox',
  };
}

export function presentPool(pool: PoolOptions): Record<string, string | null> {
  return {
    vendor: pool.vendor,
    vapid_key: pool.vapidKey,
    seed: pool.seed,
    keys: pool.keys,
    token_prefix: pool.tokenPrefix,
    hosts: pool.hosts,
  };
}

const file = 'sandbox-pools.json';

/** Loads the pools that an earlier run stored in `directory`, so that its browsers stay known. */
export function loadPools(directory: string): PoolOptions[] {
  let list: unknown;
  try {
    list = JSON.parse(readFileSync(join(directory, file), 'utf8'));
  } catch {
    // The first run, or a damaged file: the browsers are lost, and nothing else is.
    return [];
  }
  return Array.isArray(list) ? list.map((each) => parsePool(new Fields(each, file))) : [];
}

/**
 * Stores the pools. Only the owner may read the file, because a seed gives the private keys of its
 * browsers.
 */
export function savePools(directory: string, pools: readonly PoolOptions[]): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, file), `${JSON.stringify(pools.map(presentPool), null, 2)}\n`, { mode: 0o600 });
}
