// Turns the result of a push into its record: the delivery's row, the counter that it moves, and
// the verdict on its device and credential. Writes nothing.

import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import type { PushVendor } from '../../ground/outbound/push-hosts.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId, Outcome } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { AnswerForms, StoredSuccess } from './answer-forms.ts';
import type { ClaimedBatch } from './batch.ts';
import { type Attempt, channelNumber, errorNumber, presentAttempt, skipNumber, statusNumber } from './delivery.ts';
import type { DeliveryRow } from './delivery-row.ts';
import type { Target } from './plan-push.ts';
import type { PushResult } from './push-under-way.ts';
import { vendorOfToken } from './push-vendor.ts';
import type { Verdict } from './verdict.ts';

/** One delivery's outcome on its way to the database. */
export interface OutcomeItem {
  readonly row: DeliveryRow;
  /** True when the delivery has no row yet, because there was no earlier attempt. */
  readonly isNew: boolean;
  readonly channel: ChannelId;
  /** The vendor of the push service that the delivery's token belongs to. */
  readonly vendor: PushVendor;
  readonly final: 'sent' | 'failed' | 'skipped' | null;
  readonly code: string | null;
  /** The outcome's verdict on its device; null when it says nothing. */
  readonly verdict: Verdict | null;
  /**
   * Facts for webhooks beside the row: the user's external id at the time of the send, and the
   * provider's reason.
   */
  readonly externalId: string | null;
  readonly providerReason: string | null;
}

export interface OutcomeRowDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly forms: AnswerForms;
}

/**
 * Answers without a promise, except for a success whose form needs a number. Never rejects, because
 * every outcome that a provider has given must reach the recorder.
 */
export function toOutcomeItem(
  deps: OutcomeRowDeps,
  batch: ClaimedBatch,
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  result: Exclude<PushResult, { kind: 'deferred' }>,
): OutcomeItem | Promise<OutcomeItem> {
  if (result.kind !== 'attempted') return unattemptedItem(deps, target, channel, before, result);
  const { outcome, credentialId } = result;
  if (outcome.kind !== 'sent') return attemptedItem(target, channel, before, result, undefined);
  const stored = storeAnswer(deps, batch.appId, credentialId, outcome);
  if (!(stored instanceof Promise)) return attemptedItem(target, channel, before, result, stored);
  return stored.then((later) => attemptedItem(target, channel, before, result, later));
}

function unattemptedItem(
  { clock }: OutcomeRowDeps,
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  result: Exclude<PushResult, { kind: 'deferred' | 'attempted' }>,
): OutcomeItem {
  const isSkip = result.kind === 'skipped';
  const code = isSkip ? result.reason : result.code;
  const credentialId = isSkip ? null : result.credentialId;
  const row: DeliveryRow = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: clock.nowMs(),
    latencyMs: null,
    credentialId,
    channel: channelNumber(channel),
    status: statusNumber(result.kind),
    errorCode: isSkip ? skipNumber(result.reason) : errorNumber(result.code),
    attempts: before.length,
    providerStatus: null,
    form: null,
    providerRef: null,
    urls: null,
    timeline: before.length > 0 ? JSON.stringify(before) : null,
  };
  // Keys that cannot be used count like a provider's `invalid_token` (contract 7.6).
  const verdict =
    code === 'invalid_token' && credentialId !== null
      ? { ...verdictOf(target, credentialId, code), isLocal: true }
      : null;
  const externalId = target.person.externalId;
  return {
    row,
    isNew: before.length === 0,
    channel,
    vendor: vendorOfToken(channel, target.token),
    final: result.kind,
    code,
    verdict,
    externalId,
    providerReason: null,
  };
}

// Runs for every push, so it builds one literal, and a timeline only if the timeline is stored.
function attemptedItem(
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  result: Extract<PushResult, { kind: 'attempted' }>,
  stored: StoredSuccess | undefined,
): OutcomeItem {
  const { outcome, atMs, retryAtMs, credentialId, urls } = result;
  const final = outcome.kind === 'sent' ? 'sent' : retryAtMs === null ? 'failed' : null;
  const errorCode = outcome.kind === 'sent' ? null : outcome.errorCode;
  const attempts = before.length + 1;
  // A success at the first attempt and of a known form needs no timeline: form and reference say
  // everything.
  const isTold = stored !== undefined && stored.form !== null && before.length === 0;
  const latencyMs = Math.round(outcome.latencyMs);
  const row: DeliveryRow = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: Math.trunc(atMs) + latencyMs,
    latencyMs,
    credentialId,
    channel: channelNumber(channel),
    status: statusNumber(final ?? 'retrying'),
    errorCode: errorCode === null ? null : errorNumber(errorCode),
    attempts,
    providerStatus: outcome.provider?.httpStatus ?? null,
    form: stored?.form ?? null,
    providerRef: stored?.ref ?? null,
    urls,
    timeline: isTold ? null : JSON.stringify([...before, presentAttempt(attempts, result)]),
  };
  const isNew = before.length === 0;
  const vendor = vendorOfToken(channel, target.token);
  const { externalId } = target.person;
  if (outcome.kind === 'sent') {
    const environmentFound = outcome.environmentFound ?? null;
    const reaches = !target.isReached;
    const saysMore = target.hasMismatches || environmentFound !== null || reaches;
    const verdict = saysMore ? { ...verdictOf(target, credentialId, null), environmentFound, reaches } : null;
    return { row, isNew, channel, vendor, final, code: null, verdict, externalId, providerReason: null };
  }
  const { reason, goneAtMs = null, provider } = outcome;
  const verdict = outcome.isExcused
    ? null
    : {
        ...verdictOf(target, credentialId, errorCode),
        reason,
        goneAtMs,
        isDoubtful: target.isStranger && (provider?.httpStatus === 401 || provider?.httpStatus === 403),
        isUnresolved:
          final === 'failed' && !target.isReached && provider?.transportError === 'dns_error' && !outcome.isUntried,
      };
  return { row, isNew, channel, vendor, final, code: errorCode, verdict, externalId, providerReason: reason };
}

function verdictOf({ deviceId, storedAtMs }: Target, credentialId: number, errorCode: ErrorCode | null): Verdict {
  return {
    deviceId,
    storedAtMs,
    credentialId,
    errorCode,
    reason: null,
    goneAtMs: null,
    environmentFound: null,
    isLocal: false,
    reaches: false,
    isDoubtful: false,
    isUnresolved: false,
  };
}

// An answer whose form gets no number now is stored whole, so that a failing form never costs an
// outcome.
function storeAnswer(
  { forms, log }: OutcomeRowDeps,
  appId: Uuid,
  credentialId: number,
  { provider, providerMessageId }: Extract<Outcome, { kind: 'sent' }>,
): StoredSuccess | Promise<StoredSuccess> {
  const stored = forms.store(appId, credentialId, provider, providerMessageId);
  if (!(stored instanceof Promise)) return stored;
  return stored.catch((error: unknown) => {
    log.debug({ err: error }, 'answer form not stored');
    return { form: null, ref: providerMessageId };
  });
}
