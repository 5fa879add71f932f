// A user's profile as values of a form, and what of them a save sends. Pure. A property stands
// under `property KEY`, so that none can be taken for an attribute.
import type { CataloguedProperty, User, UserEdit } from '../api/objects.ts';

export type UserValue = string | number | boolean | null;
export type UserValues = Record<string, UserValue>;

export const attributes = ['first_name', 'country', 'language', 'timezone'] as const;
const prefix = 'property ';

export const fieldOf = (key: string): string => prefix + key;
/** The keys of the properties that the form has, in its order. */
export const keysOf = (values: UserValues): readonly string[] =>
  Object.keys(values).flatMap((field) => (field.startsWith(prefix) ? [field.slice(prefix.length)] : []));

/** The field of the form that an issue of the service is about. */
export function fieldOfIssue([first, second]: readonly (string | number)[]): string | undefined {
  if (first === 'properties') return typeof second === 'string' ? fieldOf(second) : undefined;
  return typeof first === 'string' ? first : undefined;
}

export function valuesOf(user: User): UserValues {
  const own = Object.entries(user.properties).map(([key, value]) => [fieldOf(key), value] as const);
  return { ...Object.fromEntries(attributes.map((name) => [name, user[name] ?? ''])), ...Object.fromEntries(own) };
}

/** The type of a key: the catalog's, and otherwise that of its value. */
export function typeOf(key: string, value: UserValue | undefined, catalog: readonly CataloguedProperty[]) {
  const known = catalog.find((each) => each.key === key && each.field === `properties.${key}`)?.type;
  if (known) return known;
  return typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'string';
}

/**
 * Only what differs from `base` is sent. An emptied attribute and a removed property are cleared.
 */
export function editOf(base: UserValues, values: UserValues, seen: string): UserEdit {
  const changed = (field: string): boolean => values[field] !== base[field];
  const properties = keysOf(values).filter((key) => changed(fieldOf(key)));
  return {
    updated_at: seen,
    ...Object.fromEntries(attributes.filter(changed).map((name) => [name, values[name] === '' ? null : values[name]])),
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.map((key) => [key, values[fieldOf(key)] ?? null])),
    }),
  };
}
