// Writes the verdicts of outcomes on one credential and its devices. Dead devices are retired
// unless the breaker stops it, and the credential's health is stored (contract 7.6). Runs apart
// from flushes (`verdict-book`). The credential's row is locked over several statements only while
// the credential may be at fault.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { invalidateDevices, type RefusedDevice, restoreDevices } from '../../people/devices/device-history.ts';
import {
  countMismatches,
  forgetMismatches,
  listMismatched,
  listRetiredByCredential,
  type ReadDevice,
  updateEnvironmentFound,
} from '../../people/devices/history-queries.ts';
import { lockDevicesById } from '../../people/devices/queries.ts';
import { markReached } from '../../people/devices/reach-queries.ts';
import {
  addCredentialRefusals,
  getCredentialHour,
  hasEverSucceeded,
  insertHearing,
  markCredentialOk,
  markCredentialSuspect,
  updateCredentialError,
} from '../../teams/apps/credential-queries.ts';
import { actionOf, type ErrorCode } from '../channels/error-code.ts';
import { isSuspect } from './credential-health.ts';
import { retireUnresolved } from './retire-unresolved.ts';
import { type Hearing, type JudgeDeps, roundsOf, type Verdict } from './verdict.ts';

const mismatchesMax = 3;
const hourMs = 3_600_000;

/**
 * Records a hearing. May be repeated. One transaction counts and retires, and notes the hearing's
 * id. A repetition gives everything else the same values.
 */
export async function recordVerdicts(deps: JudgeDeps, hearing: Hearing): Promise<void> {
  const { sql, clock, log } = deps;
  const { appId, credentialId, verdicts } = hearing;
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
    if (ended) log.info({ ...credentialOf(hearing), former: ended }, 'credential works again');
  }
  if (successes.length > 0) await rememberSuccesses(sql, appId, successes);
  const charges: Charges = {
    refusals,
    retiring: verdicts.filter(({ errorCode }) => errorCode !== null && actionOf[errorCode] !== 'keep'),
    unresolved: verdicts.filter(({ isUnresolved }) => isUnresolved),
  };
  if (Object.values(charges).some((list) => list.length > 0))
    await repeatOnDeadlock(() => transaction(sql, (tx) => judge(tx, deps, hearing, charges)));
  // Last, because it may wait for the credential's row, and no device should wait for that.
  const latest = refusals.at(-1);
  if (latest?.errorCode) await keepError(deps, hearing, { code: latest.errorCode, reason: latest.reason });
}

/** The refusals that a hearing counts, and the devices that it may retire. */
interface Charges {
  readonly refusals: readonly Verdict[];
  readonly retiring: readonly Verdict[];
  readonly unresolved: readonly Verdict[];
}

/**
 * Counts and retires, unless the hearing was judged before. Locks the credential's row only if the
 * credential may be at fault, and before any device.
 */
async function judge(tx: Tx, deps: JudgeDeps, hearing: Hearing, charges: Charges): Promise<void> {
  const { appId, credentialId } = hearing;
  const { clock } = deps;
  if (!(await insertHearing(tx, clock, appId, hearing.id))) return;
  const { refusals, retiring, unresolved } = charges;
  const mayBeAtFault = await countRefusals(tx, clock, hearing, charges);
  // The lock keeps other processes from retiring devices for this credential meanwhile.
  const hour = mayBeAtFault ? await getCredentialHour(tx, clock, appId, credentialId) : undefined;
  const since = hour && isSuspect(hour) ? new Date(clock.nowMs() - hourMs) : undefined;
  // Dead tokens alone are retired by one statement, which locks their devices in order.
  if (hour || unresolved.length > 0 || retiring.some(isMismatch))
    await lockDevicesById(tx, appId, [
      ...idsOf([...retiring, ...unresolved]),
      ...(since ? await listRetiredByCredential(tx, appId, credentialId, since) : []),
    ]);
  const isInDoubt = since !== undefined || hour?.state === 'suspect';
  await retireDead(tx, clock, hearing, { onlyCertain: isInDoubt });
  if (since) await restore(tx, deps, hearing, { since, latest: refusals.at(-1) });
  else if (!hour || (!isInDoubt && hour.succeededWithinHour)) await retireMismatched(tx, clock, hearing);
  if (unresolved.length > 0) await retireUnresolved(tx, clock, appId, unresolved);
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
 * Adds the refusals to the credential's hour. Returns whether the credential may be at fault. Two
 * conditions must hold: it is suspect or had no success for nearly an hour, and refusals that it can
 * be blamed for are in its hour or would retire a device.
 */
async function countRefusals(
  tx: Tx,
  clock: Clock,
  { appId, credentialId }: Hearing,
  { refusals, retiring }: Charges,
): Promise<boolean> {
  const isProvisional = !retiring.every(isCertain);
  if (refusals.length === 0 && !isProvisional) return false;
  const counts = { credentialId, refused: refusals.length, suspicious: refusals.filter(isSuspicious).length };
  const hour = await addCredentialRefusals(tx, clock, appId, counts);
  return (hour.suspicious > 0 || isProvisional) && !hour.isWell;
}

async function keepError(
  { sql, clock, log }: JudgeDeps,
  hearing: Hearing,
  error: { readonly code: ErrorCode; readonly reason: string | null },
): Promise<void> {
  if (await updateCredentialError(sql, clock, hearing.appId, hearing.credentialId, error))
    log.error({ ...credentialOf(hearing), reason: error.reason }, 'credential is failing: the push service refuses it');
}

/** The breaker for a credential at fault: restores the devices that it retired within the hour. */
async function restore(
  tx: Tx,
  { clock, log }: JudgeDeps,
  hearing: Hearing,
  { since, latest }: { readonly since: Date; readonly latest: Verdict | undefined },
): Promise<void> {
  const { appId, credentialId } = hearing;
  const isNew = await markCredentialSuspect(tx, clock, appId, credentialId);
  const restored = await restoreDevices(tx, appId, credentialId, since, clock.date());
  // Logged only when it changes, not every second of a large send.
  if (!isNew && restored === 0) return;
  const fields = { ...credentialOf(hearing), restored, error_code: latest?.errorCode, reason: latest?.reason };
  log.error(fields, 'credential is suspect: no device is invalidated for it');
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
  for (const round of roundsOf(verdicts.filter(isMismatch))) {
    const stale = await countMismatches(tx, appId, round, mismatchesMax);
    const items = round
      .filter(({ deviceId }) => stale.has(deviceId))
      .map((verdict) => refusedBy(verdict, 'credential_mismatch', credentialId));
    await invalidateDevices(tx, { appId, at: clock.date(), items });
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

const credentialOf = ({ appId, credentialId }: Hearing) => ({ app_id: appId, credential_id: credentialId });

function idsOf(verdicts: readonly Verdict[]): Uuid[] {
  return verdicts.map((verdict) => verdict.deviceId);
}
