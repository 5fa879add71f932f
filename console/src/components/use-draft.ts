// A form whose input is kept as one types: a reload, a crash of the browser or an ended session
// loses nothing. The draft also keeps the version that was read when typing began, so that a save
// after a reload still notices what somebody else changed in between.
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useEffect, useState } from 'react';
import { useSession } from '../api/session.ts';
import { isSame, type Stored, takeOver } from './draft-merge.ts';

export interface DraftOptions<Values> {
  readonly initialValues: Values;
  /** `updated_at` of the edited object; absent when the form makes a new one. */
  readonly seen?: string;
  /** Fields that no storage may hold, such as signing keys. */
  readonly secret?: readonly (keyof Values)[];
  /** Reads the values of the form, and the version, from the object as the service sends it. */
  readonly read?: (present: unknown) => { readonly values: Values; readonly seen: string };
}

/** The options of a form that edits an object. */
export function editing<Edited extends { readonly updated_at: string }, Values>(
  object: Edited,
  valuesOf: (object: Edited) => Values,
) {
  const read = (present: unknown) => ({ values: valuesOf(present as Edited), seen: (present as Edited).updated_at });
  return { initialValues: valuesOf(object), seen: object.updated_at, read };
}

export interface Draft<Values> {
  readonly form: UseFormReturnType<Values>;
  /** The version that a save names. */
  readonly seen: string;
  /** The values as they were read when typing began. */
  readonly base: Values;
  /** True: the form contains text that was typed before the page was loaded. */
  readonly isRestored: boolean;
  /** Discards the typed text. */
  readonly forget: () => void;
  /** The service has these values now. */
  readonly settle: (seen?: string) => void;
  /** The object as somebody else saved it, in the form's values. */
  readonly readPresent: ((present: unknown) => Values) | undefined;
  /** Continues from that object: keeps the text typed here and takes every other change. */
  readonly merge: (present: unknown) => void;
  /** Discards the typed text, and shows that object. */
  readonly replace: (present: unknown) => void;
}

const prefix = 'carillon-draft ';

/** `name` tells one form from another, such as `general app_…`. */
export function useDraft<Values extends Record<string, unknown>>(
  name: string,
  { initialValues, seen: read = '', secret = [], read: readObject }: DraftOptions<Values>,
): Draft<Values> {
  const { account } = useSession();
  const key = `${prefix}${account.id} ${name}`;
  const [restored] = useState(() => load<Values>(key));
  const [origin, setOrigin] = useState({ base: restored?.base ?? initialValues, seen: restored?.seen ?? read });
  const [isRestored, setRestored] = useState(restored !== undefined);
  const keep = (values: Values, from: typeof origin) => {
    const kept = Object.fromEntries(Object.entries(values).filter(([field]) => !secret.includes(field)));
    const isTouched = Object.entries(kept).some(([field, value]) => !isSame(value, from.base[field]));
    store(key, isTouched ? { ...from, values: kept } : undefined);
  };
  const form = useForm<Values>({ initialValues: origin.base, onValuesChange: (values) => keep(values, origin) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a draft is restored once, when the form appears
  useEffect(() => {
    if (restored) form.setValues(restored.values as Partial<Values>);
  }, []);
  const begin = (base: Values, seen: string, values: Values) => {
    setOrigin({ base, seen });
    setRestored(false);
    form.setInitialValues(base);
    // A reset also removes fields that only the former values had. Setting values would keep them.
    form.reset();
    form.setValues(values);
    form.clearErrors();
    keep(values, { base, seen });
  };
  return {
    form,
    ...origin,
    isRestored,
    forget: () => begin(initialValues, read, initialValues),
    settle: (seen = read) => begin(form.getValues(), seen, form.getValues()),
    readPresent: readObject && ((present) => readObject(present).values),
    merge: (present) => {
      if (!readObject) return;
      const { values, seen } = readObject(present);
      begin(values, seen, takeOver(origin.base, form.getValues(), values));
    },
    replace: (present) => {
      if (!readObject) return;
      const { values, seen } = readObject(present);
      begin(values, seen, values);
    },
  };
}

/** Erases every draft of this tab, at sign-out. */
export function eraseDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  } catch {
    // Without storage there is no draft.
  }
}

function load<Values>(key: string): Stored<Values> | undefined {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as Stored<Values>);
  } catch {
    // A browser may forbid storage; the form works without it.
    return undefined;
  }
}

function store(key: string, draft: unknown): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // As above: without storage a reload loses the draft, and the browser asks before it.
  }
}
