// The answers of a dry run, in words for people who do not know the API. Pure.
import type { Issue } from '../../api/client.ts';
import type { DryRun } from '../../api/objects.ts';
import { count, formatNumber } from '../../format.ts';
import type { MessageForm } from './message-form.ts';

type Warning = DryRun['warnings'][number];

/** An answer of the service with warnings in words for the author. */
export function tellWarnings(answer: DryRun, { per_second: rate }: MessageForm): DryRun {
  return {
    ...answer,
    warnings: answer.warnings.map((warning) => ({ ...warning, message: tellWarning(warning, rate) })),
  };
}

function tellWarning({ code, limit, message }: Warning, rate: number | null | undefined): string {
  if (code !== 'rate_too_low' || limit === undefined || !rate) return withSeparators(message);
  const pace = `At ${count(rate, 'push', 'pushes')} a second the message does not reach everybody in time.`;
  return `${pace} The slowest pace that does is ${formatNumber(limit)} a second.`;
}

/** A refusal of a field. Other refusals already have a sentence. */
export function tellIssue(issue: Issue, form: MessageForm): Issue {
  if (issue.path[0] !== 'send_at') return issue;
  if (issue.code === 'too_big') return { ...issue, message: 'Choose a time that is at most 365 days ahead.' };
  if (issue.code !== 'too_soon') return issue;
  const { limit } = issue;
  if (!form.local_time || typeof limit !== 'string') {
    return { ...issue, message: 'Choose a time that is at least 30 seconds ahead.' };
  }
  const message = `In some time zones this time is past already. Choose ${nextMinute(limit)} or later, or say below what becomes of the people there.`;
  return { ...issue, message };
}

/** The first whole minute from a time on, on its own clock. */
function nextMinute(instant: string): string {
  const wallMs = Date.parse(`${instant.slice(0, 19)}Z`);
  const at = new Date(Math.ceil((wallMs + 1) / 60_000) * 60_000);
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(at);
}

const withSeparators = (text: string): string =>
  text.replaceAll(/\b\d{4,}\b/g, (digits) => formatNumber(Number(digits)));
