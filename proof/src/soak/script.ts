// The behaviour of a soak's providers as rules of the sandbox, and its scale. Everything but the
// order in which pushes arrive follows from the number of sends and the seed.

export interface SoakScale {
  /** Devices of one message: the sends divided by the number of messages. */
  readonly devices: number;
  readonly messages: number;
  /** A connection says goodbye with this push. */
  readonly pushesPerConnection: number;
  /** Every push of a provider with a multiple of this number cuts its connection. */
  readonly cutEvery: number;
}

/**
 * At full size GOAWAY comes after a thousand pushes, and one connection in five is cut, because one
 * in a hundred would be two in a run. A smaller soak has shorter connections, so that it still
 * meets every fault.
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

/** The token prefix of devices that their provider calls gone: one in a hundred. */
export const deadPrefix = 'dead';
export const deadShare = 0.01;

/** The share of all pushes that is refused with 503. */
const busyShare = 0.02;

/** The names in the history for each kind of rule. */
export const kinds = { dead: 'dead', busy: 'busy', cut: 'cut', goodbye: 'goodbye' } as const;

interface Provider {
  readonly vendor: 'generic' | 'apns' | 'fcm_v1';
  readonly dead: object;
  readonly busy: object;
}

/**
 * A 503 is retried after 10 s, doubling, with full jitter (contract 7.5). At APNs it is retried
 * after 15 minutes unless the answer names a time. So Apple's 503 names one second, for which its
 * whole lane pauses; the other providers name none.
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

/** The sandbox's rules. The first rule that matches a push decides. */
export function faultsOf({ messages, pushesPerConnection, cutEvery }: SoakScale, seed: number): object[] {
  return providers.flatMap(({ vendor, dead, busy }) => [
    { id: `${kinds.dead}-${vendor}`, match: { vendor, token_prefix: deadPrefix }, action: dead },
    // Each message disturbs other tokens: these at their first push, others at their second, and so
    // on. The same seed chooses the same tokens.
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
