// Facts that a device reports about itself. They are stored only in its audience row, where filters
// read them.

export const factNames = ['locale', 'timezone', 'appVersion', 'sdk', 'os', 'osVersion', 'model'] as const;
export type FactName = (typeof factNames)[number];
export type DeviceFacts = Readonly<Record<FactName, string | null>>;
/** An absent fact keeps the stored value; null clears it. */
export type FactsGiven = Readonly<Partial<Record<FactName, string | null | undefined>>>;

const noFacts: DeviceFacts = {
  locale: null,
  timezone: null,
  appVersion: null,
  sdk: null,
  os: null,
  osVersion: null,
  model: null,
};

export function mergeFacts(stored: DeviceFacts | undefined, given: FactsGiven): DeviceFacts {
  const merged: Record<FactName, string | null> = { ...noFacts };
  for (const name of factNames) {
    const fact = given[name];
    merged[name] = fact === undefined ? (stored?.[name] ?? null) : fact;
  }
  return merged;
}
