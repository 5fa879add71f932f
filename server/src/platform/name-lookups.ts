// Lookups of names by the system, so that names which are never resolved stand in nobody's way: the system answers each on a thread,
// and there are few. Caches no address: who asks after an answer asks again, and each answer is judged.

interface Address {
  readonly address: string;
  readonly family: number;
}
type Lookup = (host: string) => Promise<readonly Address[]>;

export interface NameLookupsOptions {
  /** How many lookups of names that are not known to be quick may be under way. Fewer than there are threads for all. */
  readonly strangersMax: number;
  /** By `performance.now()`; tests have their own. */
  readonly nowMs?: () => number;
}

/** Whoever took longer is a stranger the next time. */
const quickMs = 1_000;
/** Nobody who asked waits longer, so a lookup that could not be begun by then is not. */
const waitMsMax = 5_000;
const knownMax = 10_000;

/** The same lookup: one for all who ask for a name at once, and few at a time for names that were not answered quickly before. */
export function createNameLookups(
  lookup: Lookup,
  { strangersMax, nowMs = () => performance.now() }: NameLookupsOptions,
): Lookup {
  const underWay = new Map<string, Promise<readonly Address[]>>();
  // In the order of use: the first has rested longest.
  const known = new Set<string>();
  const waiting: { readonly sinceMs: number; readonly begin: (mayBegin: boolean) => void }[] = [];
  let strangers = 0;

  const placeForStranger = async (): Promise<void> => {
    if (strangers < strangersMax) {
      strangers++;
      return;
    }
    const mayBegin = await new Promise<boolean>((begin) => waiting.push({ sinceMs: nowMs(), begin }));
    if (!mayBegin) throw Object.assign(new Error('The name could not be asked for in time.'), { code: 'EAI_AGAIN' });
  };
  const passOn = (): void => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const mayBegin = nowMs() - next.sinceMs < waitMsMax;
      next.begin(mayBegin);
      if (mayBegin) return;
    }
    strangers--;
  };

  const ask = async (host: string): Promise<readonly Address[]> => {
    const isKnown = known.delete(host);
    if (!isKnown) await placeForStranger();
    const startedAtMs = nowMs();
    try {
      const found = await lookup(host);
      if (nowMs() - startedAtMs < quickMs) {
        known.add(host);
        const [oldest] = known;
        if (known.size > knownMax && oldest !== undefined) known.delete(oldest);
      }
      return found;
    } finally {
      if (!isKnown) passOn();
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
