// The form of an object that has properties of its own, such as a user or a device: its draft, its
// save, and the check of its numbers.
import { useQuery } from '@tanstack/react-query';
import { allOf } from '../api/queries.ts';
import type { DraftOptions } from './use-draft.ts';
import { useDraftSave } from './use-save.ts';
import { fieldOf, fieldOfIssue, type UserValues, unfinishedNumbers } from './user-values.ts';

interface EditForm<Edited> extends DraftOptions<UserValues> {
  readonly app: string;
  /** The name of the draft. */
  readonly name: string;
  /** Sends the differences between `base` and `values`. */
  readonly send: (base: UserValues, values: UserValues, seen: string) => Promise<Edited>;
  readonly onSaved: (edited: Edited) => unknown;
}

export function useEditForm<Edited>({ app, name, send, ...options }: EditForm<Edited>) {
  const edit = useDraftSave<UserValues, Edited>(name, {
    ...options,
    fieldOf: fieldOfIssue,
    save: (values, { base, seen }) => send(base, values, seen),
  });
  const catalog = useQuery(allOf('listProperties', { app })).data?.data ?? [];
  const submit = (values: UserValues) => {
    const wrong = unfinishedNumbers(values, catalog);
    if (wrong.length === 0) return edit.submit(values);
    edit.form.setErrors(Object.fromEntries(wrong.map((key) => [fieldOf(key), 'Type a number.'])));
  };
  return { ...edit, catalog, submit };
}
