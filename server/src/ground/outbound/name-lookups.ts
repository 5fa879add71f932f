// Shares the system's name lookups, so that names that never resolve do not delay others. The
// system answers each lookup on a thread, there are few threads, and a hanging lookup cannot be
// cancelled. Every caller causes a new lookup, and the guard checks each answer. The last good
// answer is used only when the system fails or takes long.

interface Address {
  readonly address: string;
  readonly family: number;
}
type Addresses = readonly Address[];
type Lookup = (host: string) => Promise<Addresses>;

/**
 * The concurrent lookups of each kind. Together they are no more than the threads, so that no kind
 * uses the threads of another.
 */
export interface NameLookupsOptions {
  /**
   * Names of the services to which every push of a channel goes. They are few, and no caller can
   * add one.
   */
  readonly isProvider: (host: string) => boolean;
  readonly providersMax: number;
  /** Names under a push service's domain. Anybody may register a device with an invented one. */
  readonly isOfProvider: (host: string) => boolean;
  /** Names under a push service's domain that were never answered. */
  readonly ofProvidersMax: number;
  /** Names that were answered quickly the last time. */
  readonly knownMax: number;
  /** All other names that were never looked up. */
  readonly freshMax: number;
  /** Names that took long or failed the last time. */
  readonly slowMax: number;
}

/**
 * A lookup that did not begin, because others held all places of its kind. It says nothing about
 * the name.
 */
export class LookupNotBegunError extends Error {
  override readonly name = 'LookupNotBegunError';
  readonly code = 'EAI_AGAIN';
  readonly isUntried = true;

  constructor() {
    super('The name could not be asked for in time.');
  }
}

const quickMs = 1_000;
/**
 * Milliseconds. A request with five seconds in all keeps enough time for the lookup itself and the
 * rest.
 */
const waitMsMax = 2_000;
/** Milliseconds after which the last good answer is used (RFC 8767, section 5, advises 1.8 s). */
const overtakenMs = 1_800;
/**
 * Milliseconds for which the last good answer may be used, so that an outage of a resolver costs no
 * push and no webhook attempt. A guess.
 */
const goodForMs = 600_000;
/**
 * The same for the hosts of push services. A connection to one lives for hours, so its last lookup
 * may be that old when a resolver fails (RFC 8767, section 5, advises one to three days).
 */
const providerGoodForMs = 86_400_000;
const rememberedMax = 10_000;

/**
 * Returns the same lookup, with one lookup for all concurrent callers of a name, and few at a time
 * of each kind.
 */
export function createNameLookups(lookup: Lookup, options: NameLookupsOptions): Lookup {
  const underWay = new Map<string, Promise<Addresses>>();
  // Both are in the order of use: the first entry was unused for the longest time. Names that fail
  // do not displace answered ones.
  const answered = new Map<string, { readonly addresses: Addresses; readonly atMs: number; readonly tookMs: number }>();
  const failedAfterMs = new Map<string, number>();
  const providers = createPlaces(options.providersMax);
  const ofProviders = createPlaces(options.ofProvidersMax);
  const known = createPlaces(options.knownMax);
  const fresh = createPlaces(options.freshMax);
  const slow = createPlaces(options.slowMax);

  const lastMsOf = (host: string): number | undefined => failedAfterMs.get(host) ?? answered.get(host)?.tookMs;
  const placesFor = (host: string): Places => {
    if (options.isProvider(host)) return providers;
    if (failedAfterMs.has(host)) return slow;
    const last = answered.get(host);
    if (last !== undefined) return last.tookMs < quickMs ? known : slow;
    return options.isOfProvider(host) ? ofProviders : fresh;
  };

  const ask = async (host: string): Promise<Addresses> => {
    const places = placesFor(host);
    await places.take(lastMsOf(host) ?? 0);
    const startedAtMs = performance.now();
    try {
      const addresses = await lookup(host);
      const atMs = performance.now();
      failedAfterMs.delete(host);
      remember(answered, host, { addresses, atMs, tookMs: atMs - startedAtMs });
      return addresses;
    } catch (error) {
      remember(failedAfterMs, host, performance.now() - startedAtMs);
      throw error;
    } finally {
      places.passOn();
    }
  };

  return (host) => {
    let asked = underWay.get(host);
    if (asked === undefined) {
      asked = ask(host).finally(() => underWay.delete(host));
      underWay.set(host, asked);
    }
    const last = answered.get(host);
    const isOfProvider = options.isProvider(host) || options.isOfProvider(host);
    const forMs = isOfProvider ? providerGoodForMs : goodForMs;
    if (last === undefined || performance.now() - last.atMs > forMs) return asked;
    return orElse(asked, last.addresses);
  };
}

function remember<Value>(map: Map<string, Value>, host: string, value: Value): void {
  map.delete(host);
  map.set(host, value);
  const [oldest] = map.keys();
  if (map.size > rememberedMax && oldest !== undefined) map.delete(oldest);
}

/** The new answer, or the last good one when the lookup fails or takes long. */
async function orElse(asked: Promise<Addresses>, last: Addresses): Promise<Addresses> {
  let timer: NodeJS.Timeout | undefined;
  const overtaken = new Promise<Addresses>((resolve) => {
    timer = setTimeout(() => resolve(last), overtakenMs);
  });
  try {
    return await Promise.race([asked, overtaken]);
  } catch {
    return last;
  } finally {
    clearTimeout(timer);
  }
}

interface Places {
  /**
   * Waits for a place; names with the shortest last lookup come first. Rejects when none becomes
   * free in time.
   */
  take(lastMs: number): Promise<void>;
  passOn(): void;
}

function createPlaces(max: number): Places {
  const waiting = new Set<{ readonly lastMs: number; readonly begin: () => void }>();
  let taken = 0;
  return {
    take(lastMs) {
      if (taken < max) {
        taken++;
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(waiter);
          reject(new LookupNotBegunError());
        }, waitMsMax);
        const begin = () => {
          clearTimeout(timer);
          resolve();
        };
        const waiter = { lastMs, begin };
        waiting.add(waiter);
      });
    },
    passOn() {
      let [next] = waiting;
      for (const waiter of waiting) if (next && waiter.lastMs < next.lastMs) next = waiter;
      if (!next) {
        taken--;
        return;
      }
      waiting.delete(next);
      next.begin();
    },
  };
}
