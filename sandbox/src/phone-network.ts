// Everything about phones in one place: the phones, the keys of their senders, and their storage.
// It issues new keys as the vendors' consoles do.
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

  /** `tokenUri` returns the address where service accounts fetch their access tokens. */
  constructor(directory: string, tokenUri: () => string, now: () => number) {
    const kept: KeptPhones = loadPhones(directory);
    const save = (): void => savePhones(directory, { pools: this.phones.pools(), ...this.keys.kept() });
    this.phones = new Phones(kept.pools, save);
    this.keys = new ProviderKeys(kept, save);
    this.#tokenUri = tokenUri;
    this.#now = now;
  }

  /** Makes phones and returns their tokens: `{platform, count, …}`, as `POST /devices` takes it. */
  install(request: object): string[] {
    const { pool, count, from } = parseDevices(request);
    return [...this.phones.make(pool, count, from)];
  }

  uninstall(token: string): boolean {
    return this.phones.uninstall(token, this.#now());
  }

  /** Registers a key. `p8` is set when the key was made here; its owner must keep it. */
  registerTeamKey(request: unknown): { key: TeamKey; p8: string | null } {
    const registered = parseTeamKey(request);
    this.keys.addTeamKey(registered.key);
    return registered;
  }

  /** The JSON file of a new service account. Its private key is shown only now. */
  createServiceAccount(request: unknown): Record<string, string> {
    const { projectId, tokenSeconds } = parseServiceAccount(request);
    const { account, file } = makeServiceAccount(projectId, tokenSeconds, this.#tokenUri());
    this.keys.addServiceAccount(account);
    return file;
  }
}
