// What a push came to, in the form it is recorded: the delivery's row, the counter it moves, and what it says of its device
// and credential. Writes nothing.
import type { ChannelId, Outcome } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { Clock } from '../platform/clock.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { AnswerForms, StoredSuccess } from './answer-forms.ts';
import type { ClaimedBatch } from './batch.ts';
import { type Attempt, channelNumber, errorNumber, skipNumber, statusNumber } from './delivery.ts';
import type { PushResult, Target } from './push-one.ts';
import type { DeliveryRow } from './queries.ts';
import type { Verdict } from './record-verdicts.ts';

/** One delivery's outcome on its way to the database. */
export interface OutcomeItem {
  readonly row: DeliveryRow;
  readonly channel: ChannelId;
  readonly final: 'sent' | 'failed' | 'skipped' | null;
  readonly code: string | null;
  readonly verdict: Verdict | null;
}

export interface OutcomeRowDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly forms: AnswerForms;
}

/** Never rejects: an outcome that a provider has given must reach the recorder. */
export async function toOutcomeItem(
  deps: OutcomeRowDeps,
  batch: ClaimedBatch,
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  result: Exclude<PushResult, { kind: 'deferred' }>,
): Promise<OutcomeItem> {
  const judged = {
    deviceId: target.deviceId,
    registeredAtMs: target.registeredAtMs,
    goneAtMs: null,
    environmentFound: null,
  };
  const row = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: deps.clock.nowMs(),
    channel: channelNumber(channel),
    latencyMs: null,
    credentialId: null,
    errorCode: null,
    attempts: before.length,
    providerStatus: null,
    form: null,
    providerRef: null,
    urls: null,
    timeline: before.length > 0 ? JSON.stringify(before) : null,
  };
  if (result.kind === 'skipped') {
    const { reason } = result;
    return {
      row: { ...row, status: statusNumber('skipped'), errorCode: skipNumber(reason) },
      channel,
      final: 'skipped',
      code: reason,
      verdict: null,
    };
  }
  if (result.kind === 'failed') {
    const { code, credentialId } = result;
    return {
      row: { ...row, status: statusNumber('failed'), errorCode: errorNumber(code), credentialId },
      channel,
      final: 'failed',
      code,
      // Keys that cannot be used are as good as a provider's word that the token is none (contract 7.6).
      verdict:
        code === 'invalid_token' && credentialId !== null
          ? { ...judged, credentialId, errorCode: code, reason: null, isLocal: true }
          : null,
    };
  }
  const { outcome, attempt, credentialId, urls } = result;
  const attempted = {
    ...row,
    doneAtMs: Date.parse(attempt.at) + attempt.latency_ms,
    latencyMs: attempt.latency_ms,
    credentialId,
    attempts: attempt.attempt,
    providerStatus: outcome.provider?.httpStatus ?? null,
    urls,
    timeline: JSON.stringify([...before, attempt]),
  };
  if (outcome.kind === 'sent') {
    const stored = await storeAnswer(deps, batch.appId, credentialId, outcome);
    // A first-attempt success of a known form needs no timeline: form and reference say all of it.
    const timeline = stored.form !== null && before.length === 0 ? null : attempted.timeline;
    return {
      row: { ...attempted, status: statusNumber('sent'), form: stored.form, providerRef: stored.ref, timeline },
      channel,
      final: 'sent',
      code: null,
      verdict: {
        ...judged,
        credentialId,
        errorCode: null,
        reason: null,
        isLocal: false,
        environmentFound: outcome.environmentFound ?? null,
      },
    };
  }
  const isRetry = attempt.outcome === 'retry';
  return {
    row: {
      ...attempted,
      status: statusNumber(isRetry ? 'retrying' : 'failed'),
      errorCode: errorNumber(outcome.errorCode as ErrorCode),
    },
    channel,
    final: isRetry ? null : 'failed',
    code: outcome.errorCode,
    verdict: {
      ...judged,
      credentialId,
      errorCode: outcome.errorCode,
      reason: outcome.reason,
      isLocal: false,
      goneAtMs: outcome.goneAtMs ?? null,
    },
  };
}

// An answer that cannot be given a number now is stored whole: an outcome is never lost for the sake of its size.
async function storeAnswer(
  { forms, log }: OutcomeRowDeps,
  appId: Uuid,
  credentialId: number,
  { provider, providerMessageId }: Extract<Outcome, { kind: 'sent' }>,
): Promise<StoredSuccess> {
  try {
    return await forms.store(appId, credentialId, provider, providerMessageId);
  } catch (error) {
    log.debug({ err: error }, 'answer form not stored');
    return { form: null, ref: providerMessageId };
  }
}
