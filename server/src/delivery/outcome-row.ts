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
import type { DeliveryRow } from './outcome-queries.ts';
import type { Target } from './plan-push.ts';
import type { PushResult } from './push-one.ts';
import type { Verdict } from './record-verdicts.ts';

/** One delivery's outcome on its way to the database. */
export interface OutcomeItem {
  readonly row: DeliveryRow;
  readonly channel: ChannelId;
  readonly final: 'sent' | 'failed' | 'skipped' | null;
  readonly code: string | null;
  readonly verdict: Verdict | null;
  /** What a webhook is told beside the row: the user as the send saw them, and the provider's own word. */
  readonly externalId: string | null;
  readonly providerReason: string | null;
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
  if (result.kind === 'attempted') return attemptedItem(deps, batch, target, channel, before, result);
  const isSkip = result.kind === 'skipped';
  const code = isSkip ? result.reason : result.code;
  const credentialId = isSkip ? null : result.credentialId;
  const row: DeliveryRow = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: deps.clock.nowMs(),
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
  // Keys that cannot be used are as good as a provider's word that the token is none (contract 7.6).
  const verdict =
    code === 'invalid_token' && credentialId !== null
      ? { ...verdictOf(target, credentialId, code), isLocal: true }
      : null;
  const externalId = target.person.externalId;
  return { row, channel, final: result.kind, code, verdict, externalId, providerReason: null };
}

// This runs for every push: one literal, and a timeline only where it is kept.
async function attemptedItem(
  deps: OutcomeRowDeps,
  batch: ClaimedBatch,
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  { outcome, attempt, credentialId, urls }: Extract<PushResult, { kind: 'attempted' }>,
): Promise<OutcomeItem> {
  const stored = outcome.kind === 'sent' ? await storeAnswer(deps, batch.appId, credentialId, outcome) : undefined;
  const isRetry = attempt.outcome === 'retry';
  const final = outcome.kind === 'sent' ? 'sent' : isRetry ? null : 'failed';
  const errorCode = outcome.kind === 'sent' ? null : outcome.errorCode;
  // A first-attempt success of a known form needs no timeline: form and reference say all of it.
  const isTold = stored !== undefined && stored.form !== null && before.length === 0;
  const row: DeliveryRow = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: Date.parse(attempt.at) + attempt.latency_ms,
    latencyMs: attempt.latency_ms,
    credentialId,
    channel: channelNumber(channel),
    status: statusNumber(final ?? 'retrying'),
    errorCode: errorCode === null ? null : errorNumber(errorCode),
    attempts: attempt.attempt,
    providerStatus: outcome.provider?.httpStatus ?? null,
    form: stored?.form ?? null,
    providerRef: stored?.ref ?? null,
    urls,
    timeline: isTold ? null : JSON.stringify([...before, attempt]),
  };
  const about =
    outcome.kind === 'sent'
      ? { environmentFound: outcome.environmentFound ?? null }
      : { reason: outcome.reason, goneAtMs: outcome.goneAtMs ?? null };
  const verdict = { ...verdictOf(target, credentialId, errorCode), ...about };
  const providerReason = outcome.kind === 'sent' ? null : outcome.reason;
  return { row, channel, final, code: errorCode, verdict, externalId: target.person.externalId, providerReason };
}

function verdictOf({ deviceId, registeredAtMs }: Target, credentialId: number, errorCode: ErrorCode | null): Verdict {
  return {
    deviceId,
    registeredAtMs,
    credentialId,
    errorCode,
    reason: null,
    goneAtMs: null,
    environmentFound: null,
    isLocal: false,
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
