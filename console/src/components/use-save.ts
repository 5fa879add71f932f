// Saving a form: a refusal marks its fields and keeps what was typed. A form that somebody else
// changed meanwhile says what changed.
import type { UseFormReturnType } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Issue, Problem } from '../api/client.ts';
import { type Draft, type DraftOptions, useDraft } from './use-draft.ts';

export interface Save<Values> {
  readonly form: UseFormReturnType<Values>;
  /** The fields typed before a reload, and the fields that somebody else saved meanwhile. */
  readonly draft?: Draft<Values>;
  readonly submit: (values: Values) => void;
  readonly isSaving: boolean;
  /** The problem that no field can show. */
  readonly problem: unknown;
  /** Removes the problem, once it is solved. */
  readonly clear: () => void;
}

interface SaveOptions<Values, Answer> {
  readonly form: UseFormReturnType<Values>;
  readonly save: (values: Values) => Promise<Answer>;
  readonly onSaved: (answer: Answer) => unknown;
  /** Finds the field of an issue, if fields have other names than in the body. */
  readonly fieldOf?: (path: Issue['path']) => string | undefined;
}

export function useSave<Values extends object, Answer>({
  form,
  save,
  onSaved,
  fieldOf,
}: SaveOptions<Values, Answer>): Save<Values> {
  const [problem, setProblem] = useState<unknown>();
  const mutation = useMutation({
    mutationFn: save,
    onMutate: () => setProblem(undefined),
    onSuccess: (answer) => onSaved(answer),
    onError: (error) => {
      const marked = error instanceof Problem ? fieldErrors(error.issues, form.getValues(), fieldOf) : {};
      form.setErrors(marked);
      const isAllMarked =
        error instanceof Problem && error.issues.length > 0 && error.issues.length === Object.keys(marked).length;
      setProblem(isAllMarked ? undefined : error);
    },
  });
  return {
    form,
    submit: (values) => mutation.mutate(values),
    isSaving: mutation.isPending,
    problem,
    clear: () => setProblem(undefined),
  };
}

interface DraftSaveOptions<Values, Answer>
  extends DraftOptions<Values>,
    Pick<SaveOptions<Values, Answer>, 'onSaved' | 'fieldOf'> {
  readonly save: (values: Values, draft: Draft<Values>) => Promise<Answer>;
  /** Whether the form stays after a save, with the answer as the present object. Otherwise it closes and forgets its draft. */
  readonly stays?: boolean;
}

/** A form that keeps what is typed until it is saved. `name` tells its draft from others. */
export function useDraftSave<Values extends Record<string, unknown>, Answer>(
  name: string,
  { save, onSaved, fieldOf, stays = false, ...options }: DraftSaveOptions<Values, Answer>,
) {
  const draft = useDraft<Values>(name, options);
  const saving = useSave<Values, Answer>({
    form: draft.form,
    fieldOf,
    save: (values) => save(values, draft),
    onSaved: (answer) => {
      if (stays) draft.settle(options.read?.(answer).seen);
      else draft.forget();
      return onSaved(answer);
    },
  });
  return { ...saving, draft };
}

/**
 * The errors by field. The field comes from `fieldOf`, or is the first part of the issue's path
 * that the form has.
 */
export function fieldErrors(
  issues: readonly Issue[],
  values: object,
  fieldOf: SaveOptions<object, unknown>['fieldOf'] = (path) =>
    path.find((each): each is string => typeof each === 'string' && each in values),
): Record<string, string> {
  const marked: Record<string, string> = {};
  for (const { path, message } of issues) {
    const field = fieldOf(path);
    if (field !== undefined && field in values) marked[field] ??= message;
  }
  return marked;
}
