// Lookups of names by the system, so that names which are never resolved stand in nobody's way: the system answers each on a thread,
// there are few, and nothing takes one back from a name that hangs. Caches no address: who asks after an answer asks again, and
// each answer is judged.

interface Address {
  readonly address: string;
  readonly family: number;
}
type Lookup = (host: string) => Promise<readonly Address[]>;

/** How many lookups of each kind may be under way. Together no more than there are threads: then no kind takes another's. */
export interface NameLookupsOptions {
  /** Names of the services that pushes go to: nobody else can make them hang. */
  readonly isProvider: (host: string) => boolean;
  readonly providersMax: number;
  /** Names that were answered quickly the last time. */
  readonly knownMax: number;
  /** Names never asked for, and those that failed, but quickly. */
  readonly freshMax: number;
  /** Names that took long the last time, whatever came of it. */
  readonly slowMax: number;
}

/** A lookup that was not begun, as others held all places of its kind: it says nothing about the name. */
export class LookupNotBegunError extends Error {
  override readonly name = 'LookupNotBegunError';
  readonly code = 'EAI_AGAIN';

  constructor() {
    super('The name could not be asked for in time.');
  }
}

const quickMs = 1_000;
/** Leaves a request that has five seconds in all time enough for the lookup itself and what follows. */
const waitMsMax = 2_000;
const rememberedMax = 10_000;

/** The same lookup: one for all who ask for a name at once, and few at a time of each kind. */
export function createNameLookups(lookup: Lookup, options: NameLookupsOptions): Lookup {
  const underWay = new Map<string, Promise<readonly Address[]>>();
  // How long each took the last time: names that failed quickly are not in it. In the order of use: the first has rested longest.
  const tookMs = new Map<string, number>();
  const providers = createPlaces(options.providersMax);
  const known = createPlaces(options.knownMax);
  const fresh = createPlaces(options.freshMax);
  const slow = createPlaces(options.slowMax);

  const placesFor = (host: string): Places => {
    if (options.isProvider(host)) return providers;
    const lastMs = tookMs.get(host);
    if (lastMs === undefined) return fresh;
    return lastMs < quickMs ? known : slow;
  };
  const remember = (host: string, ms: number, isFound: boolean): void => {
    tookMs.delete(host);
    if (ms < quickMs && !isFound) return;
    tookMs.set(host, ms);
    const [oldest] = tookMs.keys();
    if (tookMs.size > rememberedMax && oldest !== undefined) tookMs.delete(oldest);
  };

  const ask = async (host: string): Promise<readonly Address[]> => {
    const places = placesFor(host);
    await places.take(tookMs.get(host) ?? 0);
    const startedAtMs = performance.now();
    let isFound = false;
    try {
      const found = await lookup(host);
      isFound = true;
      return found;
    } finally {
      remember(host, performance.now() - startedAtMs, isFound);
      places.passOn();
    }
  };

  return (host) => {
    const before = underWay.get(host);
    if (before) return before;
    const asked = ask(host).finally(() => underWay.delete(host));
    underWay.set(host, asked);
    return asked;
  };
}

interface Places {
  /** Waits for a place, those that took least the last time first. Rejects when none became free in time. */
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
