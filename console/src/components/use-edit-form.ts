// The form of an object that has properties of its own, such as a user or a device: its draft, its
// save, and the check of its numbers.
import { useQuery } from '@tanstack/react-query';
import { allOf } from '../api/queries.ts';
import { useDraft } from './use-draft.ts';
import { useSave } from './use-save.ts';
import { fieldOf, fieldOfIssue, type UserValues, unfinishedNumbers } from './user-values.ts';

interface EditForm<Edited> {
  readonly app: string;
  /** The name of the draft. */
  readonly name: string;
  readonly initialValues: UserValues;
  /** The `updated_at` of these values. */
  readonly seen: string;
  /** Reads the present object out of a `changed_meanwhile`. */
  readonly read: (present: unknown) => { readonly values: UserValues; readonly seen: string };
  /** Sends the differences between `base` and `values`. */
  readonly send: (base: UserValues, values: UserValues, seen: string) => Promise<Edited>;
  readonly onSaved: (edited: Edited) => unknown;
}

export function useEditForm<Edited>({ app, name, initialValues, seen, read, send, onSaved }: EditForm<Edited>) {
  const draft = useDraft<UserValues>(name, { initialValues, seen, read });
  const { form } = draft;
  const save = useSave({
    form,
    fieldOf: fieldOfIssue,
    save: (values) => send(draft.base, values, draft.seen),
    onSaved: (after) => {
      draft.forget();
      return onSaved(after);
    },
  });
  const catalog = useQuery(allOf('listProperties', { app })).data?.data ?? [];
  const submit = (values: UserValues) => {
    const wrong = unfinishedNumbers(values, catalog);
    if (wrong.length === 0) return save.submit(values);
    form.setErrors(Object.fromEntries(wrong.map((key) => [fieldOf(key), 'Type a number.'])));
  };
  return { draft, form, save, catalog, submit };
}
