// The limits of those without a key, by client address and by token (contract 4), and of new devices by client keys. Each API
// process counts for itself, in memory that is bounded. Never stands in the way of a request whose key is good.
import { ApiError } from '../platform/api-error.ts';
import { networkOf } from '../platform/client-address.ts';
import type { Clock } from '../platform/clock.ts';
import { createRecentUses } from './recent-uses.ts';

export interface AddressLimits {
  /** GET /v1/channels, and tokens that do not verify: 100 a second and address. Throws the 429. */
  admitAnonymous(address: string): void;
  /** Receipts and redirects of a token that verifies: 10 a second, whatever the address. Throws the 429. */
  admitToken(token: string): void;
  /** A permit for one new device, taken when it is about to be made. Null where the operator set no limit. */
  permitNewDevice(address: string): NewDevicePermit | null;
  /** Resolves when a 401 may be answered: at once, or after a second above 300 a minute and address. */
  delayUnauthorized(address: string): Promise<void>;
  /** Whether the next 401 of this address would be answered after a second. */
  isOverUnauthorized(address: string): boolean;
}

export interface NewDevicePermit {
  /** Counts the device; further calls count nothing. Throws the 429. */
  take(): void;
  /** The device was not made after all. */
  giveBack(): void;
}

export interface AddressLimitOptions {
  readonly clock: Clock;
  /** Null: no limit. */
  readonly newDevicesPerMinute: number | null;
  /** Hears of each new device that is refused, with the address or network that had made as many as it may. */
  onNewDeviceRefused?(network: string): void;
  /** How the answer that is held back waits; tests bring their own. */
  wait?(ms: number): Promise<void>;
}

const anonymousPerSecond = 100;
const tokenPerSecond = 10;
const unauthorizedPerMinute = 300;
const unauthorizedWaitMs = 1000;
/** More answers are not held back at once: each holds a connection. Those beyond are given at once, and are 401 as well. */
const unauthorizedWaitingMax = 1000;

const addressesMax = 5000;
const tokensMax = 10_000;

export function createAddressLimits(options: AddressLimitOptions): AddressLimits {
  const { clock, newDevicesPerMinute, wait = pause } = options;
  const { steadyMs } = clock;
  const perSecond = { withinMs: 1000, steadyMs };
  const perMinute = { withinMs: 60_000, steadyMs, subjectsMax: addressesMax };
  const anonymous = createRecentUses({ ...perSecond, usesMax: anonymousPerSecond, subjectsMax: addressesMax });
  const tokens = createRecentUses({ ...perSecond, usesMax: tokenPerSecond, subjectsMax: tokensMax });
  const unauthorized = createRecentUses({ ...perMinute, usesMax: unauthorizedPerMinute });
  const newDevices =
    newDevicesPerMinute === null ? null : createRecentUses({ ...perMinute, usesMax: newDevicesPerMinute });
  let waiting = 0;

  return {
    admitAnonymous(address) {
      refuseUnless(anonymous.tryCount(networkOf(address)), `${anonymousPerSecond} requests per second of an address`);
    },
    admitToken(token) {
      refuseUnless(tokens.tryCount(token), `${tokenPerSecond} requests per second of a token`);
    },
    permitNewDevice(address) {
      if (!newDevices) return null;
      const network = networkOf(address);
      let isTaken = false;
      return {
        take() {
          if (isTaken) return;
          const waitMs = newDevices.tryCount(network);
          if (waitMs > 0) options.onNewDeviceRefused?.(network);
          refuseUnless(waitMs, `${newDevicesPerMinute} new devices per minute of an address`);
          isTaken = true;
        },
        giveBack() {
          if (isTaken) newDevices.uncount(network);
          isTaken = false;
        },
      };
    },
    async delayUnauthorized(address) {
      if (!unauthorized.count(networkOf(address)) || waiting >= unauthorizedWaitingMax) return;
      waiting++;
      await wait(unauthorizedWaitMs);
      waiting--;
    },
    isOverUnauthorized: (address) => unauthorized.isFull(networkOf(address)),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function refuseUnless(waitMs: number, limit: string): void {
  if (waitMs === 0) return;
  throw new ApiError('rate_limited', {
    message: `The limit of ${limit} is exceeded.`,
    retryAfterMs: Math.ceil(waitMs),
  });
}
