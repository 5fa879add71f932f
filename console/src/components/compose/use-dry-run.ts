// Asks the service what a send would do, and asks again whenever the message changes. The answer is
// the number of devices, warnings in words, or the reason of a refusal.
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Issue, Problem } from '../../api/client.ts';
import type { DryRun, MessageAnswer } from '../../api/objects.ts';
import { queryOf } from '../../api/queries.ts';
import { isEmptyContent, isNamed, type MessageForm, requestOf } from './message-form.ts';
import { tellIssue, tellWarnings } from './tell-trial.ts';

const typingPauseMs = 300;

export interface Tried {
  readonly answer: DryRun | undefined;
  readonly issues: readonly Issue[];
  /** Other refusals, such as a segment that is gone. */
  readonly problem: Problem | null;
  readonly isMoving: boolean;
}

/** A dry run. `request` is its body as JSON; null makes no request. */
const dryRunOf = (app: string, request: string | null) => ({
  ...queryOf('sendMessage', { app, body: { ...JSON.parse(request ?? '{}'), dry_run: true } }),
  select: (answer: MessageAnswer) => answer as DryRun,
  enabled: request !== null,
  retry: false,
  staleTime: 10_000,
});

export function useDryRun(app: string, form: MessageForm): Tried {
  // Without any text, a placeholder text is sent, so that the answer covers the audience.
  const stand = hasText(form) ? form : { ...form, content: { title: '-' } };
  const wanted = isNamed(form.audience) ? JSON.stringify(requestOf(stand)) : null;
  const [asked] = useDebouncedValue(wanted, typingPauseMs);
  const query = useQuery({
    ...dryRunOf(app, asked),
    placeholderData: keepPreviousData,
  });
  const isMoving = asked !== wanted || query.isFetching;
  const refused = asked !== null && query.error instanceof Problem ? query.error : null;
  return {
    answer: asked === null || query.error || !query.data ? undefined : tellWarnings(query.data, form),
    issues: (refused?.issues ?? []).map((issue) => tellIssue(issue, form)),
    problem: refused,
    isMoving,
  };
}

/** Whether any text is written yet. */
export const hasText = (form: MessageForm): boolean => !isEmptyContent(form.content);

/** The least `per_second` that still finishes in time; null while it is not asked or not known. */
export function useLeastRate(app: string, form: MessageForm): number | null {
  const isAsked = Boolean(form.per_second) && hasText(form) && isNamed(form.audience);
  const wanted = isAsked ? JSON.stringify(requestOf({ ...form, per_second: 1 })) : null;
  const [asked] = useDebouncedValue(wanted, typingPauseMs);
  const query = useQuery({
    ...dryRunOf(app, asked),
  });
  if (!query.data) return null;
  return query.data.warnings.find(({ code }) => code === 'rate_too_low')?.limit ?? 1;
}
