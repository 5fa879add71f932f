// Turns a push service's answer into an outcome (contract 7.6). The reason decides before the
// status, because vendors give the same status for a dead subscription, a wrong key and a bad
// request. `answers.ts` has every reason. Pure.
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import { type PushVendor, vendorOf } from '../../../ground/outbound/push-hosts.ts';
import { codeOfStatus, findByReason, readBody, type VendorAnswer } from '../answer-table.ts';
import type { Outcome, ProviderAnswer } from '../channel.ts';
import { headerText, presentProviderAnswer, presentReason, refused, unanswered } from '../provider-answer.ts';
import { statusAnswers, vendorAnswers } from './answers.ts';

/**
 * The outcome of a push. `host` is the push service's; `nowMs` is the present, for a Retry-After
 * that is a date.
 */
export function readAnswer(host: string, result: OutboundResult, nowMs: number): Outcome {
  const provider = presentProviderAnswer('webpush', result);
  if ('transportError' in result) return unanswered(result, provider);
  const latencyMs = Math.round(result.latencyMs);
  const header = (name: string) => headerText(result.headers, name);
  const vendor = vendorOf(host);
  const { status } = result;
  const said = readSaid(provider);
  const isAccepted = status >= 200 && status < 300;
  // WNS alone reports a dropped push with a status of success.
  const rows = isAccepted && vendor !== 'microsoft' ? [] : rowsOf(vendor);
  const row = findByReason(rows, { status, ...said });
  if (isAccepted && row === undefined) {
    const messageId = header('apns-id') ?? header('x-wns-msg-id') ?? header('location');
    return { kind: 'sent', providerMessageId: presentReason(messageId), provider, latencyMs };
  }
  const retryAfter = header('retry-after') ?? (vendor === 'microsoft' ? header('x-wns-continue-after') : undefined);
  const errorCode = row?.code ?? codeOfStatus(status, statusRowsOf(vendor), statusAnswers);
  return refused({ status, errorCode, reason: presentReason(said.shown), retryAfter, latencyMs }, provider, nowMs);
}

/** The push service's reason in an answer that the timeline kept. */
export function reasonOf(provider: ProviderAnswer): string | null {
  return presentReason(readSaid(provider).shown);
}

/**
 * The tables of a vendor. A host of the operator's may be a gateway to any vendor, so all of their
 * reasons count there.
 */
function rowsOf(vendor: PushVendor): readonly VendorAnswer[] {
  return vendor === 'other' ? allRows : vendorAnswers[vendor];
}

const allRows = Object.values(vendorAnswers).flat();

function statusRowsOf(vendor: PushVendor): readonly VendorAnswer[] {
  return vendor === 'other' ? [] : vendorAnswers[vendor];
}

interface Said {
  readonly words: readonly string[];
  readonly text: string;
  /** The reason as people read it. */
  readonly shown: string;
}

function readSaid({ body, headers }: ProviderAnswer): Said {
  const { text, json, words } = readBody(body);
  const { reason, code, errno, message, error } = json;
  // Only an `errno` is a number. A text of digits says nothing about a subscription, and neither
  // does the errno of a gateway's own system. Mozilla's errno comes with the status as `code`.
  const isWord = (said: string) => !/^\s*\d+\s*$/.test(said);
  if (typeof reason === 'string') return { words: [reason].filter(isWord), text, shown: reason };
  const sentence = [message, error].find((candidate) => typeof candidate === 'string') ?? '';
  if (typeof errno === 'number' && typeof code === 'number') {
    return { words: [String(errno)], text, shown: `${errno} ${sentence}` };
  }
  const ofWns = ['x-wns-status', 'x-wns-notificationstatus'].flatMap((name) => headers[name] ?? []);
  return {
    words: [words, ...ofWns].filter(isWord),
    text,
    shown: headers['x-wns-error-description'] ?? ofWns[0] ?? (words || sentence),
  };
}
