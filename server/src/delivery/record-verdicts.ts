// What outcomes say of devices and credentials: dead devices are retired, behind the breaker, and a credential's health is
// kept (contract 7.6). Everything here may be repeated: it runs after the outcomes are committed, in transactions of its own.
import {
  addCredentialRefusals,
  getCredentialHour,
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
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { isSuspect } from './credential-health.ts';

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
  /** When the device had registered the token that was pushed to; one registered anew meanwhile is left alone. */
  readonly registeredAtMs: number;
  /** Where a push found that the device's token belongs, to be remembered. */
  readonly environmentFound: Environment | null;
  /** Found here, without asking the provider: says nothing of the credential. */
  readonly isLocal: boolean;
}

const mismatchesMax = 3;
const hourMs = 3_600_000;
/** What may retire a device. */
const codesOfDevices: ReadonlySet<ErrorCode> = new Set(['unregistered', 'invalid_token', 'credential_mismatch']);

export async function recordVerdicts(
  deps: { sql: Sql; clock: Clock; log: Log },
  appId: Uuid,
  verdicts: readonly Verdict[],
  /** Credentials that worked beside them: their successes say nothing of a device. */
  succeeded: ReadonlySet<number> = new Set(),
): Promise<void> {
  const byCredential = new Map<number, Verdict[]>([...succeeded].map((id) => [id, []]));
  for (const verdict of verdicts) {
    const known = byCredential.get(verdict.credentialId);
    if (known) known.push(verdict);
    else byCredential.set(verdict.credentialId, [verdict]);
  }
  for (const [credentialId, ofCredential] of byCredential)
    await repeatOnDeadlock(() =>
      judgeCredential(deps, appId, { id: credentialId, hasWorked: succeeded.has(credentialId) }, ofCredential),
    );
}

async function judgeCredential(
  { sql, clock, log }: { sql: Sql; clock: Clock; log: Log },
  appId: Uuid,
  { id: credentialId, hasWorked }: { readonly id: number; readonly hasWorked: boolean },
  verdicts: readonly Verdict[],
): Promise<void> {
  const ids = { app_id: appId, credential_id: credentialId };
  const successes = verdicts.filter((verdict) => verdict.errorCode === null);
  const refusals = verdicts.filter((verdict) => verdict.errorCode !== null && !verdict.isLocal);
  const having = (code: ErrorCode): Verdict[] => verdicts.filter((verdict) => verdict.errorCode === code);
  const suspicious =
    having('invalid_token').filter((verdict) => !verdict.isLocal).length + having('credential_mismatch').length;

  // The common case, nothing but successes, costs a statement that writes at most once a minute.
  if (hasWorked || successes.length > 0) {
    const ended = await markCredentialOk(sql, clock, appId, credentialId);
    if (ended) log.info({ ...ids, former: ended }, 'credential works again');
  }
  if (successes.length > 0) await endMismatches(sql, appId, idsOf(successes));
  const found = successes.flatMap(({ deviceId, registeredAtMs, environmentFound }) =>
    environmentFound === null ? [] : [{ deviceId, registeredBy: new Date(registeredAtMs), environmentFound }],
  );
  if (found.length > 0) await updateEnvironmentFound(sql, appId, found);
  if (refusals.length === 0 && having('invalid_token').length === 0) return;

  await transaction(sql, async (tx) => {
    const at = clock.date();
    const invalidate = (of: readonly Verdict[], reason: 'unregistered' | 'invalid_token' | 'credential_mismatch') =>
      invalidateDevices(tx, {
        appId,
        // Only what the credential could be at fault for is undone with it.
        credentialId: reason === 'unregistered' ? null : credentialId,
        at,
        items: of.map(({ deviceId, goneAtMs, registeredAtMs }) => ({ deviceId, reason, goneAtMs, registeredAtMs })),
      });
    if (refusals.length > 0)
      await addCredentialRefusals(tx, clock, appId, { credentialId, refused: refusals.length, suspicious });
    // Holds the credential: nobody else retires devices for it until this is over.
    const hour = await getCredentialHour(tx, clock, appId, credentialId);
    const suspect = isSuspect(hour);
    const since = new Date(at.getTime() - hourMs);
    // All devices that may change below, at once: locked reason by reason they would not be in order.
    await lockDevicesById(tx, appId, [
      ...idsOf(verdicts.filter(({ errorCode }) => errorCode !== null && codesOfDevices.has(errorCode))),
      ...(suspect ? await listRetiredByCredential(tx, appId, credentialId, since) : []),
    ]);
    await invalidate(having('unregistered'), 'unregistered');
    await invalidate(
      having('invalid_token').filter((verdict) => verdict.isLocal),
      'invalid_token',
    );
    const latest = refusals.at(-1);
    if (latest?.errorCode)
      await updateCredentialError(tx, clock, appId, credentialId, { code: latest.errorCode, reason: latest.reason });

    if (latest?.errorCode === 'auth_failed' && hour.state === 'ok')
      log.error({ ...ids, reason: latest.reason }, 'credential is failing: the push service refuses it');

    if (suspect) {
      const isNew = await markCredentialSuspect(tx, clock, appId, credentialId);
      const restored = await restoreDevices(tx, appId, credentialId, since, at);
      // Once, and not with every flush of a large send.
      if (isNew || restored > 0)
        log.error(
          { ...ids, restored, error_code: latest?.errorCode, reason: latest?.reason },
          'credential is suspect: no device is invalidated for it',
        );
      return;
    }
    if (hour.state === 'suspect') return;
    await invalidate(
      having('invalid_token').filter((verdict) => !verdict.isLocal),
      'invalid_token',
    );
    if (hour.succeededWithinHour) {
      const mismatched = idsOf(having('credential_mismatch'));
      const stale = await countMismatches(tx, appId, mismatched, mismatchesMax);
      await invalidate(
        having('credential_mismatch').filter((verdict) => stale.has(verdict.deviceId)),
        'credential_mismatch',
      );
    }
  });
}

// A success ends a row of mismatches. Few devices have one, so most are only read.
async function endMismatches(sql: Sql, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  const mismatched = await listMismatched(sql, appId, deviceIds);
  if (mismatched.length === 0) return;
  await transaction(sql, async (tx) => {
    await lockDevicesById(tx, appId, mismatched);
    await forgetMismatches(tx, appId, mismatched);
  });
}

function idsOf(verdicts: readonly Verdict[]): Uuid[] {
  return verdicts.map((verdict) => verdict.deviceId);
}
