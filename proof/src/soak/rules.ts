// The rules for a soak's history, for each (message, device) pair. They are pure: they know the
// sandbox's orders and the specification, and nothing of the service.
import type { Platform } from '../../../server/src/sending/channels/channel.ts';
import { kinds } from './script.ts';

/** One request that a provider read completely. */
export interface Push {
  readonly at: number;
  /** 0: not answered. */
  readonly status: number;
  /** Topic, apns-id and tag: equal in every push of one delivery. */
  readonly identity: string;
  readonly connectionId: number;
  /** The rule that interfered; empty for none. */
  readonly fault: string;
}

/** The service's final word on the delivery. */
export interface Outcome {
  readonly status: string;
  readonly errorCode: string | null;
  readonly attempts: number;
}

export interface Case {
  /** The name in complaints. */
  readonly name: string;
  readonly isDead: boolean;
  readonly platform: Platform;
  /** In the order of their arrival. */
  readonly pushes: readonly Push[];
  readonly outcomes: readonly Outcome[];
}

export interface Verdict {
  readonly lost: readonly string[];
  /** Pushes after a final one that nothing the provider did explains. */
  readonly doubled: readonly string[];
  /** Deliveries whose end differs from the script's. */
  readonly astray: readonly string[];
  /** Attempts beyond the pushes that the provider read, which were lost with a cut connection. */
  readonly attemptsUnseen: number;
  /** Pushes that a GOAWAY left untouched. */
  readonly untouched: number;
}

/** Answers are written at once. A push that waited longer than this was not hit by a cut. */
const answerMsMax = 10_000;

/** `cutAt` holds the connections that were cut, each with the instant. */
export function judge({ name, isDead, platform, pushes, outcomes }: Case, cutAt: ReadonlyMap<number, number>): Verdict {
  const [outcome, ...more] = outcomes;
  const lost: string[] = [];
  const doubled: string[] = [];
  const astray: string[] = [];
  if (more.length > 0) astray.push(`${name} has ${outcomes.length} outcomes`);
  const seen = pushes.map(describe).join(', ') || 'no push';

  // A device that is gone is not in the audience of later messages, and is skipped in messages that
  // had begun.
  const isLeftOut = isDead && pushes.length === 0 && (outcome === undefined || outcome.status === 'skipped');
  if (!isLeftOut && (outcome === undefined || pushes.length === 0)) {
    lost.push(`${name}: ${outcome?.status ?? 'no outcome'} after ${seen}`);
  }
  if (outcome !== undefined && !isLeftOut) {
    const ended = `${outcome.status} ${outcome.errorCode ?? ''}`.trim();
    const accepted = pushes.filter(({ status }) => status >= 200 && status < 300).length;
    const due = isDead
      ? 'failed unregistered'
      : isSpent(platform, pushes, outcome)
        ? 'failed provider_unavailable'
        : 'sent';
    if (ended !== due) astray.push(`${name} is ${ended}, not ${due}, after ${seen}`);
    else if (accepted > 0 !== (due === 'sent')) astray.push(`${name} is ${ended} and was accepted ${accepted} times`);
  }
  if (new Set(pushes.map(({ identity }) => identity)).size > 1) doubled.push(`${name} was named differently: ${seen}`);
  pushes.slice(1).forEach((_push, i) => {
    const before = pushes[i];
    if (before && !isOpen(before, cutAt)) doubled.push(`${name}: ${seen}`);
  });

  const untouched = pushes.filter(isUntouched).length;
  const attempts = outcome === undefined || isLeftOut ? pushes.length - untouched : outcome.attempts;
  const attemptsUnseen = attempts - (pushes.length - untouched);
  if (attemptsUnseen < 0) astray.push(`${name} counts ${attempts} attempts for ${seen}`);
  return { lost, doubled, astray, attemptsUnseen, untouched };
}

/**
 * Whether all attempts are used (contract 7.5): five at most, and at APNs at most two repeats after
 * a 503.
 */
function isSpent(platform: Platform, pushes: readonly Push[], { attempts }: Outcome): boolean {
  const last = pushes.at(-1);
  if (last === undefined || (last.status !== 503 && last.status !== 0)) return false;
  return attempts >= 5 || (platform === 'ios' && pushes.filter(({ status }) => status === 503).length >= 3);
}

/** Whether GOAWAY left this push unprocessed. It is sent again at once and counts as no attempt. */
function isUntouched({ status, fault }: Push): boolean {
  return status === 0 && fault.startsWith(kinds.goodbye);
}

/**
 * Whether another push must follow: this one was refused for the moment or not processed, or its
 * answer may have been lost.
 */
function isOpen(push: Push, cutAt: ReadonlyMap<number, number>): boolean {
  if (push.status === 503 || isUntouched(push)) return true;
  const cut = cutAt.get(push.connectionId);
  return cut !== undefined && push.at <= cut && cut - push.at <= answerMsMax;
}

function describe({ status, fault, connectionId }: Push): string {
  return `${status === 0 ? 'unanswered' : status}${fault === '' ? '' : ` (${fault})`} on ${connectionId}`;
}
