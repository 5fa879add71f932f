// All that belongs to phones, put together: the phones, the keys of those who may send to them, and what of it is
// kept. Hands out new ones as the vendors' consoles do.
import {
  type KeptPhones,
  loadPhones,
  parseDevices,
  parseServiceAccount,
  parseTeamKey,
  savePhones,
} from './phone-json.ts';
import { Phones } from './phones.ts';
import { makeServiceAccount, ProviderKeys, type TeamKey } from './provider-keys.ts';

export class PhoneNetwork {
  readonly phones: Phones;
  readonly keys: ProviderKeys;
  readonly #tokenUri: () => string;
  readonly #now: () => number;

  /** `tokenUri`: where service accounts are told to fetch their access tokens. */
  constructor(directory: string, tokenUri: () => string, now: () => number) {
    const kept: KeptPhones = loadPhones(directory);
    const save = (): void => savePhones(directory, { pools: this.phones.pools(), ...this.keys.kept() });
    this.phones = new Phones(kept.pools, save);
    this.keys = new ProviderKeys(kept, save);
    this.#tokenUri = tokenUri;
    this.#now = now;
  }

  /** Tokens of new phones: `{platform, count, …}`, as `POST /devices` takes it. */
  install(request: object): string[] {
    const { pool, count, from } = parseDevices(request);
    return [...this.phones.make(pool, count, from)];
  }

  uninstall(token: string): boolean {
    return this.phones.uninstall(token, this.#now());
  }

  /** Registers a key; with `p8` when it was made here, for its owner to keep. */
  registerTeamKey(request: unknown): { key: TeamKey; p8: string | null } {
    const registered = parseTeamKey(request);
    this.keys.addTeamKey(registered.key);
    return registered;
  }

  /** A new service account's JSON file; this is the only time that its private key is seen. */
  createServiceAccount(request: unknown): Record<string, string> {
    const { projectId, tokenSeconds } = parseServiceAccount(request);
    const { account, file } = makeServiceAccount(projectId, tokenSeconds, this.#tokenUri());
    this.keys.addServiceAccount(account);
    return file;
  }
}
