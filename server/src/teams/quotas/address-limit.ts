// The limits of callers without a key, by client address and by token (contract 4), and of new
// devices that client keys register. Each API process counts for itself, in bounded memory. No
// request with a valid key is delayed.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { networkOf } from '../../ground/http/client-address.ts';
import { createRecentUses } from './recent-uses.ts';

export interface AddressLimits {
  /**
   * Counts a request to GET /v1/channels or one with a token that does not verify: 100 a second for
   * each address. Throws the 429.
   */
  admitAnonymous(address: string): void;
  /**
   * Counts a receipt or redirect of a token that verifies: 10 a second, from any address. Throws
   * the 429.
   */
  admitToken(token: string): void;
  /**
   * Returns a permit for one new device, to take just before the device is created. Null when the
   * operator set no limit.
   */
  permitNewDevice(address: string): NewDevicePermit | null;
  /**
   * Resolves when a 401 may be answered: at once, or after a second above 300 a minute for one
   * address.
   */
  delayUnauthorized(address: string): Promise<void>;
  /** Returns whether the next 401 for this address would be delayed. */
  isOverUnauthorized(address: string): boolean;
}

export interface NewDevicePermit {
  /** Counts the device; further calls count nothing. Throws the 429. */
  take(): void;
  /** Subtracts the device again, because it was not created after all. */
  giveBack(): void;
}

export interface AddressLimitOptions {
  readonly clock: Clock;
  /** Null: no limit. */
  readonly newDevicesPerMinute: number | null;
  /** Called for each refused new device, with the address or network that has reached its limit. */
  onNewDeviceRefused?(network: string): void;
  /** Waits before a delayed answer; tests pass their own. */
  wait?(ms: number): Promise<void>;
}

const anonymousPerSecond = 100;
const tokenPerSecond = 10;
const unauthorizedPerMinute = 300;
const unauthorizedWaitMs = 1000;
/**
 * Answers that are delayed at the same time, at most: each holds a connection. Further 401 answers
 * are sent at once.
 */
const unauthorizedWaitingMax = 1000;

const addressesMax = 5000;
const tokensMax = 10_000;

export function createAddressLimits(options: AddressLimitOptions): AddressLimits {
  const { clock, newDevicesPerMinute, wait = sleep } = options;
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

function refuseUnless(waitMs: number, limit: string): void {
  if (waitMs === 0) return;
  throw new ApiError('rate_limited', {
    message: `The limit of ${limit} is exceeded.`,
    retryAfterMs: Math.ceil(waitMs),
  });
}
