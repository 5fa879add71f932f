// What the providers of a soak do, as rules of the sandbox, and how much of it. Everything follows from the number of sends and
// the seed but for the order in which pushes arrive.

export interface SoakScale {
  /** Of one message; what is left of the sends by the number of messages. */
  readonly devices: number;
  readonly messages: number;
  /** A connection says goodbye with this push. */
  readonly pushesPerConnection: number;
  /** With every so manieth push of a provider its connection is cut. */
  readonly cutEvery: number;
}

/**
 * At full size GOAWAY comes after a thousand pushes, and one connection in five is cut: one in a hundred would be two in a run.
 * A smaller soak has shorter connections, so that it still sees all of it.
 */
export function scaleOf(sends: number): SoakScale {
  const messages = sends >= 20_000 ? 10 : 5;
  const isSmall = sends < 20_000;
  return {
    messages,
    devices: Math.ceil(sends / messages),
    pushesPerConnection: isSmall ? 100 : 1_000,
    cutEvery: isSmall ? 300 : 5_000,
  };
}

/** What tokens of devices begin with whose provider calls them gone: one in a hundred. */
export const deadPrefix = 'dead';
export const deadShare = 0.01;

/** The part of all pushes that is turned away with 503. */
const busyShare = 0.02;

/** What stands in the history where a rule of this kind interfered. */
export const kinds = { dead: 'dead', busy: 'busy', cut: 'cut', goodbye: 'goodbye' } as const;

interface Provider {
  readonly vendor: 'generic' | 'apns' | 'fcm_v1';
  readonly dead: object;
  readonly busy: object;
}

/**
 * A 503 waits 10 s doubling with full jitter (contract 7.5), and one of APNs 15 minutes unless it says when to come back: so
 * Apple's says it, after a second, for which its whole lane rests; the others say nothing.
 */
const providers: readonly Provider[] = [
  { vendor: 'generic', dead: { type: 'status', status: 410 }, busy: { type: 'status', status: 503 } },
  {
    vendor: 'apns',
    dead: { type: 'error', reason: 'Unregistered' },
    busy: { type: 'error', reason: 'ServiceUnavailable', retry_after: 1 },
  },
  {
    vendor: 'fcm_v1',
    dead: { type: 'error', reason: 'UNREGISTERED' },
    busy: { type: 'error', reason: 'UNAVAILABLE' },
  },
];

/** The first rule that acts on a push decides. */
export function faultsOf({ messages, pushesPerConnection, cutEvery }: SoakScale, seed: number): object[] {
  return providers.flatMap(({ vendor, dead, busy }) => [
    { id: `${kinds.dead}-${vendor}`, match: { vendor, token_prefix: deadPrefix }, action: dead },
    // Other tokens at their first push than at their second, and so on: spread over all messages, and the same for one seed.
    ...Array.from({ length: messages }, (_, i) => ({
      id: `${kinds.busy}-${vendor}-${i + 1}`,
      match: { vendor, share: busyShare, seed: `soak ${seed} ${i}`, count: 'token', nth: i + 1 },
      action: busy,
    })),
    { id: `${kinds.cut}-${vendor}`, match: { vendor, every: cutEvery }, action: { type: 'close' } },
    {
      id: `${kinds.goodbye}-${vendor}`,
      match: { vendor, count: 'connection', nth: pushesPerConnection },
      action: { type: 'goaway', code: 'NO_ERROR' },
    },
  ]);
}
