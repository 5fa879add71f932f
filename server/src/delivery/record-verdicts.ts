// Writes the verdicts of outcomes on one credential and its devices. Dead devices are retired
// unless the breaker stops it, and the credential's health is stored (contract 7.6). Runs apart
// from flushes (`verdict-book`). The credential's row is locked over several statements only while
// the credential may be at fault.
import {
  addCredentialRefusals,
  getCredentialHour,
  hasEverSucceeded,
  markCredentialOk,
  markCredentialSuspect,
  updateCredentialError,
} from '../apps/credential-queries.ts';
import { actionOf, type ErrorCode } from '../channels/error-code.ts';
import type { Clock } from '../database/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../database/db.ts';
import { invalidateDevices, type RefusedDevice, restoreDevices } from '../devices/device-history.ts';
import {
  countMismatches,
  forgetMismatches,
  listMismatched,
  listRetiredByCredential,
  type ReadDevice,
  updateEnvironmentFound,
} from '../devices/history-queries.ts';
import { lockDevicesById } from '../devices/queries.ts';
import { markReached } from '../devices/reach-queries.ts';
import type { Uuid } from '../ground/ids.ts';
import { isSuspect } from './credential-health.ts';
import { retireUnresolved } from './retire-unresolved.ts';
import type { Hearing, JudgeDeps, Verdict } from './verdict.ts';

/** The parts of a hearing that are committed. A repeat skips them. */
export interface HearingProgress {
  areRefusalsCounted: boolean;
  areUnresolvedCounted: boolean;
  areDevicesJudged: boolean;
}

export function beginHearing(): HearingProgress {
  return { areRefusalsCounted: false, areUnresolvedCounted: false, areDevicesJudged: false };
}

const mismatchesMax = 3;
const hourMs = 3_600_000;

/**
 * Records a hearing. May be repeated with the same `progress`, which changes as parts are
 * committed.
 */
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

  // In the common case there are only successes. They cost one statement, which writes at most once
  // a minute.
  if (hearing.hasWorked || successes.length > 0) {
    const ended = await markCredentialOk(sql, clock, appId, credentialId);
    if (ended) log.info({ ...ids, former: ended }, 'credential works again');
  }
  if (!progress.areDevicesJudged) {
    const retiring = verdicts.filter(({ errorCode }) => errorCode !== null && actionOf[errorCode] !== 'keep');
    const mayBeAtFault = await countRefusals(deps, hearing, { refusals, retiring }, progress);
    if (successes.length > 0) await rememberSuccesses(sql, appId, successes);
    if (!progress.areUnresolvedCounted) await retireUnresolved(deps, appId, verdicts);
    progress.areUnresolvedCounted = true;
    if (mayBeAtFault) await repeatOnDeadlock(() => judgeSuspicious(deps, hearing, retiring, refusals.at(-1)));
    else if (retiring.length > 0) await repeatOnDeadlock(() => retireAll(deps, hearing, retiring));
    progress.areDevicesJudged = true;
  }
  // This comes last, because it may wait for the credential's row, and no device should wait for
  // that row.
  const latest = refusals.at(-1);
  if (latest?.errorCode) await keepError(deps, hearing, { code: latest.errorCode, reason: latest.reason });
}

/**
 * Removes doubtful refusals if the credential has ever had a success: then a refusal for a
 * stranger's device says nothing about the credential.
 */
async function believedOf(
  { sql }: JudgeDeps,
  { appId, credentialId, hasWorked }: Hearing,
  refusals: readonly Verdict[],
): Promise<readonly Verdict[]> {
  if (!refusals.some(({ isDoubtful }) => isDoubtful)) return refusals;
  const isProven = hasWorked || (await hasEverSucceeded(sql, appId, credentialId));
  return isProven ? refusals.filter(({ isDoubtful }) => !isDoubtful) : refusals;
}

/**
 * Adds the refusals to the credential's hour, once for a hearing. Returns whether the credential
 * may be at fault. Two conditions must hold: it is suspect or had no success for nearly an hour,
 * and refusals that it can be blamed for are in its hour or would retire a device. A repeated
 * hearing checks both again, because the credential may have become suspect in between.
 */
async function countRefusals(
  { sql, clock }: JudgeDeps,
  { appId, credentialId }: Hearing,
  { refusals, retiring }: { readonly refusals: readonly Verdict[]; readonly retiring: readonly Verdict[] },
  progress: HearingProgress,
): Promise<boolean> {
  const isProvisional = !retiring.every(isCertain);
  if (refusals.length === 0 && !isProvisional) return false;
  const added = progress.areRefusalsCounted ? [] : refusals;
  const counts = { credentialId, refused: added.length, suspicious: added.filter(isSuspicious).length };
  const hour = await addCredentialRefusals(sql, clock, appId, counts);
  progress.areRefusalsCounted = true;
  return (hour.suspicious > 0 || isProvisional) && !hour.isWell;
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

/** Retires devices of a credential that is not in doubt, without locking the credential. */
async function retireAll({ sql, clock }: JudgeDeps, hearing: Hearing, retiring: readonly Verdict[]): Promise<void> {
  await transaction(sql, async (tx) => {
    // Dead tokens are retired by one statement, which locks their devices in order. Mismatches take
    // more statements, which would break the order of locks.
    if (retiring.some(isMismatch)) await lockDevicesById(tx, hearing.appId, idsOf(retiring));
    await retireDead(tx, clock, hearing, { onlyCertain: false });
    await retireMismatched(tx, clock, hearing);
  });
}

/**
 * The breaker: retires devices. If the credential is at fault, it instead restores the devices that
 * were retired within the hour.
 */
async function judgeSuspicious(
  { sql, clock, log }: JudgeDeps,
  hearing: Hearing,
  retiring: readonly Verdict[],
  latest: Verdict | undefined,
): Promise<void> {
  const { appId, credentialId } = hearing;
  await transaction(sql, async (tx) => {
    // Locks the credential, so that no other process retires devices for it at the same time.
    const hour = await getCredentialHour(tx, clock, appId, credentialId);
    const suspect = isSuspect(hour);
    const since = new Date(clock.nowMs() - hourMs);
    await lockDevicesById(tx, appId, [
      ...idsOf(retiring),
      ...(suspect ? await listRetiredByCredential(tx, appId, credentialId, since) : []),
    ]);
    const isInDoubt = suspect || hour.state === 'suspect';
    await retireDead(tx, clock, hearing, { onlyCertain: isInDoubt });
    if (suspect) {
      const isNew = await markCredentialSuspect(tx, clock, appId, credentialId);
      const restored = await restoreDevices(tx, appId, credentialId, since, clock.date());
      // Logged only when it changes, not every second of a large send.
      if (isNew || restored > 0)
        log.error(
          {
            app_id: appId,
            credential_id: credentialId,
            restored,
            error_code: latest?.errorCode,
            reason: latest?.reason,
          },
          'credential is suspect: no device is invalidated for it',
        );
      return;
    }
    if (!isInDoubt && hour.succeededWithinHour) await retireMismatched(tx, clock, hearing);
  });
}

function isMismatch({ errorCode }: Verdict): boolean {
  return errorCode === 'credential_mismatch';
}

function isSuspicious(verdict: Verdict): boolean {
  return verdict.errorCode === 'invalid_token' || isMismatch(verdict);
}

/** A refusal that cannot be a credential's fault. */
function isCertain({ errorCode, isLocal }: Verdict): boolean {
  return errorCode === 'unregistered' || (errorCode === 'invalid_token' && isLocal);
}

/**
 * Retires the devices whose tokens are dead. The retirements that are not certain are undone if the
 * credential turns out to be at fault within the hour.
 */
async function retireDead(
  tx: Tx,
  clock: Clock,
  { appId, credentialId, verdicts }: Hearing,
  { onlyCertain }: { readonly onlyCertain: boolean },
): Promise<void> {
  const provisional = verdicts.filter((verdict) => verdict.errorCode === 'invalid_token' && !isCertain(verdict));
  const refused = [
    ...(onlyCertain ? [] : provisional.map((verdict) => refusedBy(verdict, 'invalid_token', credentialId))),
    ...verdicts.filter(isCertain).map((verdict) => {
      return refusedBy(verdict, verdict.errorCode === 'unregistered' ? 'unregistered' : 'invalid_token', null);
    }),
  ];
  await invalidateDevices(tx, { appId, at: clock.date(), items: newestOfEach(refused) });
}

/**
 * Keeps one refusal for each device, because two messages may have been refused: the refusal of the
 * newest token. For equal tokens it keeps the later entry of the list, where certain refusals stand
 * last.
 */
function newestOfEach(refused: readonly Refused[]): Refused[] {
  const newest = new Map<Uuid, Refused>();
  for (const one of refused) {
    const other = newest.get(one.deviceId);
    if (!other || one.storedAtMs >= other.storedAtMs) newest.set(one.deviceId, one);
  }
  return [...newest.values()];
}

/** Counts the mismatches of locked devices, and retires devices with too many in a row. */
async function retireMismatched(tx: Tx, clock: Clock, { appId, credentialId, verdicts }: Hearing): Promise<void> {
  // A device with mismatches of two messages counts twice. A statement changes a row only once, so
  // each round takes one verdict per device.
  for (let left = verdicts.filter(isMismatch); left.length > 0; ) {
    const once = new Map(left.map((verdict) => [verdict.deviceId, verdict]));
    const stale = await countMismatches(tx, appId, [...once.values()], mismatchesMax);
    const items = [...once.values()]
      .filter(({ deviceId }) => stale.has(deviceId))
      .map((verdict) => refusedBy(verdict, 'credential_mismatch', credentialId));
    await invalidateDevices(tx, { appId, at: clock.date(), items });
    left = left.filter((verdict) => once.get(verdict.deviceId) !== verdict);
  }
}

type Refused = RefusedDevice & ReadDevice;

function refusedBy(
  { deviceId, goneAtMs, storedAtMs }: Verdict,
  reason: RefusedDevice['reason'],
  credentialId: number | null,
): Refused {
  return { deviceId, reason, credentialId, goneAtMs, storedAtMs };
}

/**
 * A success ends a series of mismatches, and may have found the environment of an iOS token. Both
 * are rare.
 */
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
  const found = successes.flatMap(({ deviceId, storedAtMs, environmentFound }) =>
    environmentFound === null ? [] : [{ deviceId, storedAtMs, environmentFound }],
  );
  if (found.length > 0) await updateEnvironmentFound(sql, appId, found);
}

function idsOf(verdicts: readonly Verdict[]): Uuid[] {
  return verdicts.map((verdict) => verdict.deviceId);
}
