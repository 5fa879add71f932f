// The summary of an explanation: one or two sentences for people, which name who, what and why.
// Pure.
import { meaningOf } from '../../sending/delivery/code-meaning.ts';
import type { DetailOf, Step, TurnReason } from './step.ts';
import type { Verdict } from './verdict.ts';

/** The subject of the question: `u-42`, or `Device dev_…`. */
export interface Named {
  readonly name: string;
  readonly isDevice: boolean;
}

/** Writes the summary of the steps up to the first that is not ok. */
export function summarize(who: Named, verdict: Verdict, steps: readonly Step[]): string {
  const last = steps.at(-1);
  if (!last) return `${who.name}: nothing is known.`;
  switch (last.step) {
    case 'message':
      return ofMessage(who, verdict, last.detail);
    case 'user':
      return `There is no user ${who.name} in this app.`;
    case 'devices':
      return ofDevices(who, last.detail);
    case 'audience':
      return `${who.name} is not in the audience: ${ofSelection(last.detail, true)}.${now(last.detail)}`;
    case 'excluded':
      return `${who.name} is excluded: ${ofSelection(last.detail, false)}.${now(last.detail)}`;
    case 'channel':
      return ofChannel(who, verdict, last.detail);
    case 'turn':
      return ofTurn(who, last.detail);
    case 'attempts':
      return ofAttempts(who, last.detail);
    case 'receipt':
      return ofReceipt(who, steps, last.detail);
  }
}

function ofMessage({ name }: Named, verdict: Verdict, detail: DetailOf<'message'>): string {
  if (verdict === 'scheduled') return `The message has not run yet: it runs at ${text(detail.run_at)}.`;
  if (verdict === 'canceled') return `The message was canceled at ${text(detail.finished_at)}, before ${name} had it.`;
  const reasons: Readonly<Record<string, string>> = {
    quota_exceeded: 'it did not fit the monthly quota',
    segment_invalid: 'its segment or filter no longer fits the catalog of properties',
    app_suspended: 'the app was suspended',
    expired: 'its send window ended before it could start',
    internal_error: 'of a fault of the service',
  };
  const reason = reasons[detail.status_reason ?? ''] ?? 'of a reason that is not stored';
  return `The message did not run, because ${reason}.`;
}

function ofDevices({ name, isDevice }: Named, detail: DetailOf<'devices'>): string {
  if (detail.error_code) return `${name} was skipped: the device opted out or was retired before its turn.`;
  if (isDevice) {
    const why = detail.status_reason ? `: ${reasonOf(detail.status_reason)}` : '';
    return `${name} is ${detail.status ?? 'deleted'}${why}. It gets no message.`;
  }
  const { invalid = 0, unsubscribed = 0 } = detail;
  if (invalid + unsubscribed === 0) return `${name} has no device.`;
  return `${name} has no active device: ${invalid} invalid, ${unsubscribed} unsubscribed.`;
}

type StatusReason = NonNullable<DetailOf<'devices'>['status_reason']>;

function reasonOf(reason: StatusReason): string {
  return reason === 'replaced' ? 'another device registered with its token' : meaningOf(reason).meaning;
}

function now({ as_of }: DetailOf<'audience'>): string {
  return as_of ? ' The values are those of now, and may have changed since the message.' : '';
}

function ofSelection(detail: DetailOf<'audience'>, isWanted: boolean): string {
  switch (detail.reason) {
    case 'not_listed':
      return `the message names others by ${detail.path?.at(-1)}`;
    case 'segment_gone':
      return 'the segment was deleted';
    case 'filter_invalid':
      return 'the filter no longer fits the catalog of properties';
    case 'registered_later':
      return 'the device was registered after the message had started';
    case 'changed_since':
      return 'it matches now, and did not when the message ran';
    default:
      break;
  }
  const of = detail.segment ? `the segment '${clip(detail.segment.name)}'` : 'the filter';
  if (detail.op === undefined) return `${of} ${isWanted ? 'asks for others' : 'names everybody'}`;
  const subject = detail.event ? `event ${clip(detail.event)}` : clip(detail.field ?? '');
  return `${subject} ${found(detail)}, ${of} ${asks(detail)}`;
}

function found({ event, actual }: DetailOf<'audience'>): string {
  if (event !== undefined) return `was counted ${String(actual)} times`;
  return actual === null || actual === undefined ? 'has no value' : `is ${show(actual)}`;
}

const words: Readonly<Record<string, string>> = {
  eq: 'asks for',
  neq: 'asks for anything but',
  in: 'asks for one of',
  not_in: 'asks for none of',
  gt: 'asks for more than',
  gte: 'asks for at least',
  lt: 'asks for less than',
  lte: 'asks for at most',
  contains: 'asks for a text with',
  not_contains: 'asks for a text without',
  starts_with: 'asks for a text that begins with',
  ends_with: 'asks for a text that ends with',
  exists: 'asks for any value',
  not_exists: 'asks for no value',
  before: 'asks for an instant before',
  after: 'asks for an instant after',
  within_last: 'asks for the last',
};

function asks({ op = '', value, under_not }: DetailOf<'audience'>): string {
  if (under_not) return `asks for the opposite of ${op}${value === undefined ? '' : ` ${show(value)}`}`;
  const word = words[op] ?? op;
  return value === undefined ? word : `${word} ${show(value)}`;
}

function show(value: unknown): string {
  if (!Array.isArray(value)) return clip(String(value));
  const listed = value.slice(0, 5).map((each) => clip(String(each)));
  return value.length > listed.length ? `${listed.join(', ')} and others` : listed.join(', ');
}

const clipAt = 64;

function clip(text: string): string {
  return text.length > clipAt ? `${text.slice(0, clipAt)}…` : text;
}

function ofChannel({ name }: Named, verdict: Verdict, { channel, credential }: DetailOf<'channel'>): string {
  if (verdict !== 'waiting') return `${name} was not reached: ${channel} had no credential that could be read.`;
  if (credential === 'missing') return `${name} waits for its turn, and will be skipped: ${channel} has no credential.`;
  return `${name} waits for its turn, and the credential of ${channel} is ${credential}.`;
}

const turns: Readonly<Record<TurnReason | 'local_time_past', string>> = {
  paused: 'all sends are paused',
  not_due: 'its local time has not come',
  under_way: 'its batch is being sent',
  provider: 'the push service asked for a pause',
  setback: 'its batch could not be worked and is tried again',
  rate: 'the message is sent at its own rate',
  queued: 'other devices come first',
  local_time_past: 'the local time had passed in its time zone',
};

function ofTurn({ name }: Named, { reason = 'queued', until }: DetailOf<'turn'>): string {
  if (reason === 'local_time_past') return `${name} was skipped: ${turns[reason]}.`;
  const when = until ? `, until ${text(until)}` : '';
  return `${name} is in the audience and waits for its turn: ${turns[reason]}${when}.`;
}

/** The name within a sentence: `u-42`, or `device dev_…`. */
const within = ({ name, isDevice }: Named): string => (isDevice ? name.charAt(0).toLowerCase() + name.slice(1) : name);

function ofAttempts(who: Named, detail: DetailOf<'attempts'>): string {
  const { status, error_code, meaning, action, retry_at, attempts } = detail;
  const why = `${error_code}: ${meaning}`;
  if (status === 'skipped') return `${who.name} was skipped, ${why}. ${action}`;
  const push = `The push to ${within(who)} failed`;
  const times = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  if (status === 'retrying') return `${push} with ${why}. It is tried again at ${text(retry_at)}.`;
  return `${push} after ${times} with ${why}. ${action}`;
}

function ofReceipt(who: Named, steps: readonly Step[], detail: DetailOf<'receipt'>): string {
  const { name } = who;
  if (detail.clicked_at) return `${name} got it, and clicked at ${text(detail.clicked_at)}.`;
  if (detail.displayed_at) return `${name} got it: it was displayed at ${text(detail.displayed_at)}.`;
  if (detail.dismissed_at) return `${name} got it, and dismissed it at ${text(detail.dismissed_at)}.`;
  const sent = steps.find((each) => each.step === 'attempts')?.detail;
  const when = sent && 'done_at' in sent ? ` at ${text(sent.done_at)}` : '';
  const accepted = `The push service accepted the push to ${within(who)}${when}`;
  return detail.displayed === 'no'
    ? `${accepted}, and the device has not reported that it was displayed: it may be off, or notifications are muted.`
    : `${accepted}. Whether it was displayed is not known, because this platform does not report it by itself.`;
}

function text(instant: Date | string | null): string {
  if (instant === null) return 'an unknown time';
  return typeof instant === 'string' ? instant : instant.toISOString();
}
