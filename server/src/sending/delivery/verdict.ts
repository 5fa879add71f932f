// Verdicts: what attempts say about one credential and its devices, before the breaker accepts it.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Environment } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';

/**
 * The meaning of one attempt for its device and credential. A null `errorCode` is a success, which
 * has a verdict only if it changes the device.
 */
export interface Verdict {
  readonly deviceId: Uuid;
  readonly credentialId: number;
  readonly errorCode: ErrorCode | null;
  readonly reason: string | null;
  /**
   * The time when the token ended, as the provider says. A device that registered later is not
   * retired.
   */
  readonly goneAtMs: number | null;
  /**
   * The time when the device had registered the token of this push, or when its environment or
   * another stored value last changed before the push. A device that registered or changed since
   * then waits for its next push, because this push may have used another token or environment.
   */
  readonly storedAtMs: number;
  /** The environment in which a push found the device's token, to be remembered. */
  readonly environmentFound: Environment | null;
  /**
   * Found by a local check, without the provider, so the verdict does not concern the credential.
   */
  readonly isLocal: boolean;
  /** The first push that reached the device. */
  readonly reaches: boolean;
  /**
   * Refused as a fault of our credential, but for a device that a stranger may have made up. The
   * push service may mean the device.
   */
  readonly isDoubtful: boolean;
  /** Failed for good because the host has no address, and nothing ever reached the device. */
  readonly isUnresolved: boolean;
}

/** The verdicts of one process on one credential, which are written together. */
export interface Hearing {
  /** Stored when the hearing is judged. */
  readonly id: Uuid;
  readonly appId: Uuid;
  readonly credentialId: number;
  /** The credential had a success, beside any refusals. */
  readonly hasWorked: boolean;
  readonly verdicts: readonly Verdict[];
}

export interface JudgeDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Splits verdicts into rounds that each have a device once. The verdicts of two messages on one
 * device count twice, and a statement changes a row only once.
 */
export function* roundsOf(verdicts: readonly Verdict[]): Generator<readonly Verdict[]> {
  for (let left = verdicts; left.length > 0; ) {
    const once = new Map(left.map((verdict) => [verdict.deviceId, verdict]));
    yield [...once.values()];
    left = left.filter((verdict) => once.get(verdict.deviceId) !== verdict);
  }
}
