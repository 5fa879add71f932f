// What a soak's history must be, one (message, device) at a time: pure. Knows what the sandbox was told to do and what the
// specification makes of it, and nothing of the service.
import type { Platform } from '../../../server/src/channels/channel.ts';
import { kinds } from './script.ts';

/** One request that a provider read to its end. */
export interface Push {
  readonly at: number;
  /** 0: not answered. */
  readonly status: number;
  /** Topic, apns-id and tag: what every push of one delivery has in common. */
  readonly identity: string;
  readonly connectionId: number;
  /** The rule that interfered; empty for none. */
  readonly fault: string;
}

/** What the service says of it in the end. */
export interface Outcome {
  readonly status: string;
  readonly errorCode: string | null;
  readonly attempts: number;
}

export interface Case {
  /** For complaints. */
  readonly name: string;
  readonly isDead: boolean;
  readonly platform: Platform;
  /** In the order in which they came. */
  readonly pushes: readonly Push[];
  readonly outcomes: readonly Outcome[];
}

export interface Verdict {
  readonly lost: readonly string[];
  /** A push after one that was the last, and nothing that the provider did explains it. */
  readonly doubled: readonly string[];
  /** Another end than the script's. */
  readonly astray: readonly string[];
  /** Attempts beyond the pushes that the provider read: what a cut connection took with it. */
  readonly attemptsUnseen: number;
  /** Pushes that a GOAWAY left untouched. */
  readonly untouched: number;
}

/** An answer is written at once; who waits for it waits no longer than this. */
const answerMsMax = 10_000;

/** `cutAt`: connections that were cut, each with the instant. */
export function judge({ name, isDead, platform, pushes, outcomes }: Case, cutAt: ReadonlyMap<number, number>): Verdict {
  const [outcome, ...more] = outcomes;
  const lost: string[] = [];
  const doubled: string[] = [];
  const astray: string[] = [];
  if (more.length > 0) astray.push(`${name} has ${outcomes.length} outcomes`);
  const seen = pushes.map(describe).join(', ') || 'no push';

  // A device that is gone is left out of later messages, or skipped in those that had begun.
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

/** Contract 7.5: at most five attempts, and of a provider's trouble at Apple's no more than two repeats. */
function isSpent(platform: Platform, pushes: readonly Push[], { attempts }: Outcome): boolean {
  const last = pushes.at(-1);
  if (last === undefined || (last.status !== 503 && last.status !== 0)) return false;
  return attempts >= 5 || (platform === 'ios' && pushes.filter(({ status }) => status === 503).length >= 3);
}

/** GOAWAY said that nothing became of it: sent again at once, and no attempt. */
function isUntouched({ status, fault }: Push): boolean {
  return status === 0 && fault.startsWith(kinds.goodbye);
}

/** Whether another push has to follow: this one was refused for the moment, not processed, or its answer may never have come. */
function isOpen(push: Push, cutAt: ReadonlyMap<number, number>): boolean {
  if (push.status === 503 || isUntouched(push)) return true;
  const cut = cutAt.get(push.connectionId);
  return cut !== undefined && push.at <= cut && cut - push.at <= answerMsMax;
}

function describe({ status, fault, connectionId }: Push): string {
  return `${status === 0 ? 'unanswered' : status}${fault === '' ? '' : ` (${fault})`} on ${connectionId}`;
}
