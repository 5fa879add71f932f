// Writes what outcomes said of one credential and its devices: dead devices are retired, behind the breaker, and the credential's
// health is kept (contract 7.6). Runs apart from flushes (`verdict-book`). The credential's row is locked over more than one
// statement only while the credential may be at fault.
import {
  addCredentialRefusals,
  getCredentialHour,
  hasEverSucceeded,
  markCredentialOk,
  markCredentialSuspect,
  updateCredentialError,
} from '../apps/queries.ts';
import type { Environment } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import { invalidateDevices, restoreDevices } from '../devices/device-history.ts';
import {
  countMismatches,
  forgetMismatches,
  listMismatched,
  listRetiredByCredential,
  updateEnvironmentFound,
} from '../devices/history-queries.ts';
import { lockDevicesById } from '../devices/queries.ts';
import { markReached } from '../devices/reach-queries.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { isSuspect } from './credential-health.ts';
import { retireUnresolved } from './retire-unresolved.ts';

/**
 * What one attempt showed of its device and credential; `errorCode` null: a success, which has a verdict only where it changes
 * something of its device.
 */
export interface Verdict {
  readonly deviceId: Uuid;
  readonly credentialId: number;
  readonly errorCode: ErrorCode | null;
  readonly reason: string | null;
  /** When the provider says that the token ended; a device registered since is left alone. */
  readonly goneAtMs: number | null;
  /** When the device had registered the token that was pushed to; one that has registered since is left alone. */
  readonly registeredAtMs: number;
  /** Where a push found that the device's token belongs, to be remembered. */
  readonly environmentFound: Environment | null;
  /** Found here, without asking the provider: says nothing of the credential. */
  readonly isLocal: boolean;
  /** The first push that reached the device. */
  readonly reaches: boolean;
  /** Refused as our credential's fault, for a device that a stranger may have made up: the push service may mean the device. */
  readonly isDoubtful: boolean;
  /** Failed for good because the host has no address; the device was never reached. */
  readonly isUnresolved: boolean;
}

/** What one process heard of one credential within some time. */
export interface Hearing {
  readonly appId: Uuid;
  readonly credentialId: number;
  /** The credential had a success, whatever else it had. */
  readonly hasWorked: boolean;
  readonly verdicts: readonly Verdict[];
}

/** Which parts of a hearing are committed: a further try leaves them out. */
export interface HearingProgress {
  areRefusalsCounted: boolean;
  areDevicesJudged: boolean;
  /** Whether the hour before looks as if the credential were at fault. */
  mayBeAtFault: boolean;
}

export function beginHearing(): HearingProgress {
  return { areRefusalsCounted: false, areDevicesJudged: false, mayBeAtFault: false };
}

export interface JudgeDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

const mismatchesMax = 3;
const hourMs = 3_600_000;
/** What may retire a device. */
const codesOfDevices: ReadonlySet<ErrorCode> = new Set(['unregistered', 'invalid_token', 'credential_mismatch']);

/** May be repeated with the same progress, which it changes as its parts are committed. */
export async function recordVerdicts(
  deps: JudgeDeps,
  hearing: Hearing,
  progress: HearingProgress = beginHearing(),
): Promise<void> {
  const { sql, clock, log } = deps;
  const { appId, credentialId, verdicts } = hearing;
  const ids = { app_id: appId, credential_id: credentialId };
  const successes = verdicts.filter((verdict) => verdict.errorCode === null);
  const refusals = await believedOf(
    deps,
    hearing,
    verdicts.filter((verdict) => verdict.errorCode !== null && !verdict.isLocal),
  );

  // The common case, nothing but successes, costs a statement that writes at most once a minute.
  if (hearing.hasWorked || successes.length > 0) {
    const ended = await markCredentialOk(sql, clock, appId, credentialId);
    if (ended) log.info({ ...ids, former: ended }, 'credential works again');
  }
  if (refusals.length > 0 && !progress.areRefusalsCounted) {
    const counts = { credentialId, refused: refusals.length, suspicious: refusals.filter(isSuspicious).length };
    const hour = await addCredentialRefusals(sql, clock, appId, counts);
    progress.areRefusalsCounted = true;
    progress.mayBeAtFault = hour.suspicious > 0 && !hour.isWell;
  }
  if (!progress.areDevicesJudged) {
    if (successes.length > 0) await rememberSuccesses(sql, appId, successes);
    await retireUnresolved(deps, appId, verdicts);
    const retiring = verdicts.filter(({ errorCode }) => errorCode !== null && codesOfDevices.has(errorCode));
    if (progress.mayBeAtFault) await repeatOnDeadlock(() => judgeSuspicious(deps, hearing, retiring, refusals.at(-1)));
    else if (retiring.length > 0) await repeatOnDeadlock(() => retireAll(deps, hearing, retiring));
    progress.areDevicesJudged = true;
  }
  // Last, since it may wait for the credential's row, and no device should.
  const latest = refusals.at(-1);
  if (latest?.errorCode) await keepError(deps, hearing, { code: latest.errorCode, reason: latest.reason });
}

/** What a stranger's device was refused says nothing of a credential that has ever had a success. */
async function believedOf(
  { sql }: JudgeDeps,
  { appId, credentialId, hasWorked }: Hearing,
  refusals: readonly Verdict[],
): Promise<readonly Verdict[]> {
  if (!refusals.some(({ isDoubtful }) => isDoubtful)) return refusals;
  const isProven = hasWorked || (await hasEverSucceeded(sql, appId, credentialId));
  return isProven ? refusals.filter(({ isDoubtful }) => !isDoubtful) : refusals;
}

async function keepError(
  { sql, clock, log }: JudgeDeps,
  { appId, credentialId }: Hearing,
  error: { readonly code: ErrorCode; readonly reason: string | null },
): Promise<void> {
  const isFailing = await updateCredentialError(sql, clock, appId, credentialId, error);
  if (!isFailing) return;
  const fields = { app_id: appId, credential_id: credentialId, reason: error.reason };
  log.error(fields, 'credential is failing: the push service refuses it');
}

/** Retires the devices of a credential that is beyond doubt, without holding the credential. */
async function retireAll({ sql, clock }: JudgeDeps, hearing: Hearing, retiring: readonly Verdict[]): Promise<void> {
  await transaction(sql, async (tx) => {
    // All devices that may change below, at once: locked reason by reason they would not be in order.
    await lockDevicesById(tx, hearing.appId, idsOf(retiring));
    await retireCertain(tx, clock, hearing);
    await retireDoubtful(tx, clock, hearing, { countsMismatches: true });
  });
}

/** The breaker: retires devices, or brings back those that were retired within the hour by a credential that is at fault. */
async function judgeSuspicious(
  { sql, clock, log }: JudgeDeps,
  hearing: Hearing,
  retiring: readonly Verdict[],
  latest: Verdict | undefined,
): Promise<void> {
  const { appId, credentialId } = hearing;
  await transaction(sql, async (tx) => {
    const at = clock.date();
    // Holds the credential: nobody else retires devices for it until this is over.
    const hour = await getCredentialHour(tx, clock, appId, credentialId);
    const suspect = isSuspect(hour);
    const since = new Date(at.getTime() - hourMs);
    await lockDevicesById(tx, appId, [
      ...idsOf(retiring),
      ...(suspect ? await listRetiredByCredential(tx, appId, credentialId, since) : []),
    ]);
    await retireCertain(tx, clock, hearing);
    if (suspect) {
      const isNew = await markCredentialSuspect(tx, clock, appId, credentialId);
      const restored = await restoreDevices(tx, appId, credentialId, since, at);
      // Once, and not every second of a large send.
      if (isNew || restored > 0)
        log.error(
          {
            ...{ app_id: appId, credential_id: credentialId, restored },
            ...{ error_code: latest?.errorCode, reason: latest?.reason },
          },
          'credential is suspect: no device is invalidated for it',
        );
      return;
    }
    if (hour.state === 'suspect') return;
    await retireDoubtful(tx, clock, hearing, { countsMismatches: hour.succeededWithinHour });
  });
}

function isSuspicious({ errorCode }: Verdict): boolean {
  return errorCode === 'invalid_token' || errorCode === 'credential_mismatch';
}

/** Retires what no credential can be at fault for. */
async function retireCertain(tx: Tx, clock: Clock, { appId, verdicts }: Hearing): Promise<void> {
  const retire = (reason: 'unregistered' | 'invalid_token', of: readonly Verdict[]) =>
    invalidateDevices(tx, { appId, credentialId: null, at: clock.date(), items: refusedBy(reason, of) });
  await retire(
    'unregistered',
    verdicts.filter(({ errorCode }) => errorCode === 'unregistered'),
  );
  await retire(
    'invalid_token',
    verdicts.filter(({ errorCode, isLocal }) => errorCode === 'invalid_token' && isLocal),
  );
}

/** Retires what is undone with the credential, should it turn out to be at fault within the hour. */
async function retireDoubtful(
  tx: Tx,
  clock: Clock,
  { appId, credentialId, verdicts }: Hearing,
  { countsMismatches }: { readonly countsMismatches: boolean },
): Promise<void> {
  const retire = (reason: 'invalid_token' | 'credential_mismatch', of: readonly Verdict[]) =>
    invalidateDevices(tx, { appId, credentialId, at: clock.date(), items: refusedBy(reason, of) });
  await retire(
    'invalid_token',
    verdicts.filter(({ errorCode, isLocal }) => errorCode === 'invalid_token' && !isLocal),
  );
  let mismatched = countsMismatches ? verdicts.filter(({ errorCode }) => errorCode === 'credential_mismatch') : [];
  // A device that two messages reached meanwhile counts twice: one statement changes a row once.
  while (mismatched.length > 0) {
    const once = new Map(mismatched.map((verdict) => [verdict.deviceId, verdict]));
    const stale = await countMismatches(tx, appId, [...once.keys()], mismatchesMax);
    await retire(
      'credential_mismatch',
      [...once.values()].filter(({ deviceId }) => stale.has(deviceId)),
    );
    mismatched = mismatched.filter((verdict) => once.get(verdict.deviceId) !== verdict);
  }
}

function refusedBy<Reason extends string>(reason: Reason, verdicts: readonly Verdict[]) {
  // One that two messages reached meanwhile is refused once, by the last word.
  const byDevice = new Map(verdicts.map((verdict) => [verdict.deviceId, verdict]));
  return [...byDevice.values()].map(({ deviceId, goneAtMs, registeredAtMs }) => {
    return { deviceId, reason, goneAtMs, registeredAtMs };
  });
}

/** A success ends a row of mismatches, and may have found where an iOS token belongs. Few devices have either. */
async function rememberSuccesses(sql: Sql, appId: Uuid, successes: readonly Verdict[]): Promise<void> {
  const reached = successes.filter(({ reaches }) => reaches);
  if (reached.length > 0) await markReached(sql, appId, idsOf(reached));
  const mismatched = await listMismatched(sql, appId, idsOf(successes));
  if (mismatched.length > 0) {
    await repeatOnDeadlock(() =>
      transaction(sql, async (tx) => {
        await lockDevicesById(tx, appId, mismatched);
        await forgetMismatches(tx, appId, mismatched);
      }),
    );
  }
  const found = successes.flatMap(({ deviceId, registeredAtMs, environmentFound }) =>
    environmentFound === null ? [] : [{ deviceId, registeredBy: new Date(registeredAtMs), environmentFound }],
  );
  if (found.length > 0) await updateEnvironmentFound(sql, appId, found);
}

function idsOf(verdicts: readonly Verdict[]): Uuid[] {
  return verdicts.map((verdict) => verdict.deviceId);
}
