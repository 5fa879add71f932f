// Two people edited one object: which fields the other one changed, and the values that keep both
// edits. Pure.

/** A draft as the browser keeps it. */
export interface Stored<Values> {
  readonly values: Partial<Values>;
  readonly base: Values;
  readonly seen: string;
}

export interface Change {
  readonly field: string;
  readonly before: unknown;
  readonly theirs: unknown;
  /** The value typed here, if both changed the field. */
  readonly yours?: unknown;
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The fields that somebody else changed since `base` was read, in the order of the form. */
export function changesOf<Values extends object>(base: Values, mine: Values, theirs: Values): Change[] {
  return fieldsOf(base, theirs)
    .filter((field) => !isSame(base[field], theirs[field]))
    .map((field) => {
      const change = { field, before: base[field], theirs: theirs[field] };
      const isContested = !isSame(base[field], mine[field]) && !isSame(mine[field], theirs[field]);
      return isContested ? { ...change, yours: mine[field] } : change;
    });
}

/**
 * Fields changed here keep their value. Every other field takes the value that somebody else saved.
 */
export function takeOver<Values extends object>(base: Values, mine: Values, theirs: Values): Values {
  const taken = fieldsOf(base, mine, theirs).map(
    (field) => [field, isSame(base[field], mine[field]) ? theirs[field] : mine[field]] as const,
  );
  // A field that somebody else removed is removed.
  return Object.fromEntries(taken.filter(([, value]) => value !== undefined)) as Values;
}

/** The fields of all drafts, each once. Some forms gain fields, such as properties of a user. */
function fieldsOf<Values extends object>(...all: readonly Values[]): readonly (keyof Values & string)[] {
  return [...new Set(all.flatMap((values) => Object.keys(values) as (keyof Values & string)[]))];
}
