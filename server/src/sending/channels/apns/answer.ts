// Turns Apple's answer into an outcome (contract 7.6). The reason decides before the status,
// because 400 and 403 each stand for faults of the token, of our credential and of the content.
// `answers.ts` has every reason. Pure.
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import { codeOfStatus, findByReason, readBody } from '../answer-table.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';
import { apnsAnswers } from './answers.ts';

/**
 * Apple: "Too many requests were made consecutively to the same device token" (page above). Apple
 * still accepts pushes to other tokens.
 */
const throttledTokenReason = 'TooManyRequests';

/** The outcome of a push. `nowMs` is the present, for a Retry-After that is a date. */
export function readAnswer(result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('apns', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const { status, headers } = result;
  if (status >= 200 && status < 300) {
    const providerMessageId = presentReason(headerText(headers, 'apns-id'));
    return { kind: 'sent', providerMessageId, provider, latencyMs };
  }
  const { reason, timestamp } = readReason(provider.body);
  const row = rowOf(status, reason);
  const errorCode = row?.code ?? codeOfStatus(status, apnsAnswers);
  const retryAfter = headerText(headers, 'retry-after');
  // The channel compares the reason with Apple's spelling.
  const refusal = { status, errorCode, reason: presentReason(row?.word ?? reason), retryAfter, latencyMs };
  const isGone = errorCode === 'unregistered' && timestamp !== undefined;
  return {
    ...refused(refusal, provider, nowMs),
    ...(isGone && { goneAtMs: timestamp }),
    ...(row?.word === throttledTokenReason && { isOfToken: true }),
  };
}

/** Apple's reason in an answer that the timeline kept. */
export function reasonOf(provider: ProviderAnswer): string | null {
  const { reason } = readReason(provider.body);
  return presentReason(rowOf(provider.httpStatus ?? 0, reason)?.word ?? reason);
}

function rowOf(status: number, reason: string) {
  return findByReason(apnsAnswers, { status, words: [reason], text: '' });
}

/** The years 2000 to 2100, in milliseconds. A number outside this range is not a time. */
const [timestampMin, timestampMax] = [946_684_800_000, 4_102_444_800_000];

function readReason(body: string | null): { reason: string; timestamp?: number } {
  const { json, words } = readBody(body);
  const { reason, timestamp } = json;
  const isInstant = typeof timestamp === 'number' && timestamp >= timestampMin && timestamp <= timestampMax;
  return { reason: typeof reason === 'string' ? reason : words, ...(isInstant && { timestamp }) };
}
