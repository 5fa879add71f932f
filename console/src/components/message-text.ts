// The result of a message, in one sentence. Pure.
import type { ListedMessage, Message } from '../api/objects.ts';
import { codeTitle } from '../failure-codes.ts';
import { count, formatDuration, formatExact, formatNumber } from '../format.ts';

type Told = Pick<
  Message | ListedMessage,
  'status' | 'status_reason' | 'report' | 'error_counts' | 'run_at' | 'started_at' | 'finished_at'
>;

const reasons: Readonly<Record<string, string>> = {
  quota_exceeded: 'the monthly quota of the app had no room for it',
  segment_invalid: 'its segment or filter no longer fits the properties of the app',
  app_suspended: 'the app was suspended',
  expired: 'its time to send had passed',
  internal_error: 'the service had a fault; its log tells more',
};

/**
 * The headline of a message: how many devices it reached, in which time, and the main reason for
 * the rest.
 */
export function tellMessage(message: Told): string {
  const { status, report, run_at } = message;
  if (status === 'scheduled') return run_at ? `Waits until ${formatExact(run_at)}.` : 'Waits for its time.';
  if (status === 'failed' && report.accepted === 0) {
    return `Nothing was sent, because ${reasons[message.status_reason ?? ''] ?? 'it failed'}.`;
  }
  if (status === 'canceled' && report.accepted === 0) return 'Canceled before anything was sent.';
  if (report.accepted === 0) return 'Nobody was in the audience, so nothing was sent.';
  if (status === 'sending') {
    const done = report.accepted - (report.pending ?? 0);
    return `Sending: ${formatNumber(done)} of ${count(report.accepted, 'device')} done. ${tellFailures(message)}`.trim();
  }
  const opening = status === 'canceled' ? 'Canceled. Before that, sent' : 'Sent';
  return `${opening} to ${formatNumber(report.sent)} of ${count(report.accepted, 'device')}${tellTime(message)}. ${tellFailures(message)}`.trim();
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

function tellTime({ started_at, finished_at, report }: Told): string {
  if (!started_at || !finished_at || report.sent === 0) return '';
  return ` in ${formatDuration(Math.max(1, Date.parse(finished_at) - Date.parse(started_at)))}`;
}

function tellFailures({ report, error_counts }: Told): string {
  const sentences = [];
  if (report.failed > 0) {
    const [chief] = Object.entries(error_counts).toSorted(([, one], [, other]) => other - one);
    const reason = chief ? `${chief[1] < report.failed ? ', mostly' : ''}: ${lowerFirst(codeTitle(chief[0]))}` : '';
    sentences.push(`${formatNumber(report.failed)} failed${reason}.`);
  }
  if (report.skipped > 0) sentences.push(`${formatNumber(report.skipped)} skipped.`);
  if ((report.pending ?? 0) > 0) sentences.push(`${formatNumber(report.pending ?? 0)} to go.`);
  return sentences.join(' ');
}

/** The name of a message for people: its own name, or its title. */
export function nameOf({
  id,
  name,
  title,
}: {
  id: string;
  name: string | null;
  title?: string | null | undefined;
}): string {
  return name ?? title ?? id;
}
