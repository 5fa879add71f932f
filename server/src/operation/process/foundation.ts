// The foundation of a process, opened before everything else: pools, clock, keys, plans, time
// zones, and the teller that wakes other processes.

import type { Config } from '../../config.ts';
import { createClock, type WatchedClock } from '../../ground/database/clock.ts';
import { checkDurability, loadInstance, noteClockStep } from '../../ground/database/instance.ts';
import { loadTimeZones } from '../../ground/database/load-time-zones.ts';
import { type PauseWatch, pauseWhereMoved, watchPause } from '../../ground/database/restore-guard.ts';
import { createTeller, type Teller } from '../../ground/database/teller.ts';
import type { HostClock } from '../../ground/host/host-clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { createSeal, type Seal } from '../../ground/secrets/seal.ts';
import type { TimeZones } from '../../ground/values/time-zones.ts';
import type { MessageLedger } from '../../sending/delivery/message-ledger.ts';
import { type ReceiptKeys, watchReceiptKeys } from '../../sending/delivery/receipt-keys.ts';
import { isStillSending } from '../../sending/messages/cancel-message.ts';
import { createLocalInstants, type LocalInstants } from '../../sending/messages/local-time.ts';
import { advanceMessage, findMessageToSend } from '../../sending/messages/queries.ts';
import { createOutboxTeller, type OutboxTeller } from '../../sending/webhooks/tell-outbox.ts';
import { listPlansInUse } from '../../teams/apps/queries.ts';
import { loadPlans, type Plans } from '../../teams/quotas/plan.ts';
import { type DatabaseLimits, type Databases, openDatabases, type ProcessRole } from './databases.ts';
import type { MasterKeys } from './master-key.ts';

export interface FoundationOptions {
  readonly config: Config;
  /** The database's address, found or started before. */
  readonly databaseUrl: string;
  readonly masterKeys: MasterKeys;
  readonly log: Log;
  /** The role decides the pools. Absent, as in tests: the process has the pools of both roles. */
  readonly role?: ProcessRole;
  /**
   * Limits of the database for tests, which cannot wait as long or load as much as the defaults.
   */
  readonly databaseLimits?: Partial<DatabaseLimits>;
  /** The clocks of the host, for tests, which set them. */
  readonly hostClock?: HostClock;
}

export interface Foundation {
  readonly config: Config;
  readonly log: Log;
  readonly databases: Databases;
  readonly clock: WatchedClock;
  readonly seal: Seal;
  readonly receiptKeys: ReceiptKeys;
  readonly plans: Plans;
  readonly timeZones: TimeZones;
  /** Finds the instant of a local time in every time zone. */
  readonly localInstants: LocalInstants;
  /** Tells other processes. */
  readonly teller: Teller;
  /** Tells webhooks. */
  readonly outbox: OutboxTeller;
  /** The statements by which deliveries read and count on their message. */
  readonly ledger: MessageLedger;
  readonly pause: PauseWatch;
  /** Sends the last words and closes the pools. */
  close(): Promise<void>;
}

const stepText = {
  host: "this host's clock was set; the database's clock is right",
  database: "the database's clock was set, and is believed",
  both: "this host slept, or its clock and the database's were set together",
};

/**
 * Opens the pools and reads the database's data about this installation. Rejects when the database
 * or the keys are not those of this installation. `onResume` runs when a pause has ended.
 */
export async function openFoundation(options: FoundationOptions, onResume: () => void): Promise<Foundation> {
  const { config, databaseUrl, masterKeys, log, role, databaseLimits } = options;
  const databases = openDatabases(databaseUrl, role, databaseLimits);
  const { promptSql, sql, txSql } = databases;
  await checkDurability(sql, config.allowUnsafePostgres);
  const clock = await createClock(promptSql, options.hostClock);
  clock.onStep((step) => {
    log.warn({ clock: step.clock, by_ms: Math.round(step.byMs) }, stepText[step.clock]);
    noteClockStep(promptSql, step).catch((error: unknown) => log.debug({ err: error }, 'step of a clock not stored'));
  });
  const watching = clock.watch();

  const seal = createSeal(masterKeys.key, masterKeys.previous);
  await loadInstance(sql, seal);
  const receiptKeys = await watchReceiptKeys({ sql, clock, seal });
  const plans = loadPlans(config.plansFile, [config.defaultPlan, ...(await listPlansInUse(sql))]);
  const timeZones = await loadTimeZones(sql);

  const teller = createTeller({ sql: promptSql, log });
  await pauseWhereMoved(sql);
  const pause = await watchPause({ sql: promptSql, log, onResume });

  return {
    config,
    log,
    databases,
    clock,
    seal,
    receiptKeys,
    plans,
    timeZones,
    localInstants: createLocalInstants(timeZones.names),
    teller,
    outbox: createOutboxTeller({ sql: txSql, clock, log, teller }),
    ledger: {
      find: findMessageToSend,
      isSending: (ofSql, appId, messageId) => isStillSending({ sql: ofSql, clock, teller }, appId, messageId),
      advance: (tx, appId, messageId, counts, endsBatch) =>
        advanceMessage(tx, clock, appId, messageId, counts, endsBatch),
    },
    pause,
    async close() {
      watching.stop();
      await teller.close();
      await databases.close();
    },
  };
}
