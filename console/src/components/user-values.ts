// A user's profile as values of a form, and the part that a save sends. Pure. A property has the
// name `property KEY`, so that it cannot be mistaken for an attribute.
import type { CataloguedProperty, User, UserEdit } from '../api/objects.ts';

export type UserValue = string | number | boolean | null;
export type UserValues = Record<string, UserValue>;

export const attributes = ['first_name', 'country', 'language', 'timezone'] as const;
const prefix = 'property ';

export const fieldOf = (key: string): string => prefix + key;
/** The keys of the properties that the form has, in its order. */
export const keysOf = (values: UserValues): readonly string[] =>
  Object.keys(values).flatMap((field) => (field.startsWith(prefix) ? [field.slice(prefix.length)] : []));

/** The field of the form for an issue of the service. */
export function fieldOfIssue([first, second]: readonly (string | number)[]): string | undefined {
  if (first === 'properties') return typeof second === 'string' ? fieldOf(second) : undefined;
  return typeof first === 'string' ? first : undefined;
}

export function valuesOf(user: User): UserValues {
  const own = Object.entries(user.properties).map(([key, value]) => [fieldOf(key), value] as const);
  return { ...Object.fromEntries(attributes.map((name) => [name, user[name] ?? ''])), ...Object.fromEntries(own) };
}

/** The type of a key: the catalog's type, or else the type of its value. */
export function typeOf(key: string, value: UserValue | undefined, catalog: readonly CataloguedProperty[]) {
  const known = catalog.find((each) => each.key === key && each.field === `properties.${key}`)?.type;
  if (known) return known;
  return typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'string';
}

/** The fields with unfinished numbers, such as a sign alone, which are still text. */
export const unfinishedNumbers = (values: UserValues, catalog: readonly CataloguedProperty[]): readonly string[] =>
  keysOf(values).filter(
    (key) => typeof values[fieldOf(key)] === 'string' && typeOf(key, undefined, catalog) === 'number',
  );

/**
 * Only what differs from `base` is sent. An emptied attribute and a removed property are cleared.
 */
export const editOf = (base: UserValues, values: UserValues, seen: string): UserEdit => ({
  updated_at: seen,
  ...changesIn(attributes, base, values),
});

/** The changed fields and properties, as a save sends them. Null clears a value. */
export function changesIn(fields: readonly string[], base: UserValues, values: UserValues) {
  const isChanged = (field: string): boolean => values[field] !== base[field];
  const properties = keysOf(values).filter((key) => isChanged(fieldOf(key)));
  return {
    ...Object.fromEntries(fields.filter(isChanged).map((name) => [name, values[name] === '' ? null : values[name]])),
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.map((key) => [key, values[fieldOf(key)] ?? null])),
    }),
  };
}
