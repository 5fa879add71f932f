// The profile that an upsert leaves, and what it changes in the former one. Pure.
import type { Uuid } from '../../ground/values/ids.ts';
import { type PropertyChanges, type StoredProperties, showsSame } from '../properties/property.ts';
import type { User } from './user.ts';

/** An absent field keeps the stored value; null clears it. */
export interface UpsertUser {
  readonly appId: Uuid;
  readonly externalId: string;
  readonly firstName: string | null | undefined;
  readonly country: string | null | undefined;
  readonly language: string | null | undefined;
  readonly timezone: string | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  /** A device to link to the user. */
  readonly deviceId: Uuid | null;
}

const attributeNames = ['firstName', 'country', 'language', 'timezone'] as const;
type AttributeName = (typeof attributeNames)[number];
export type UserAttributes = Pick<User, AttributeName>;
export type ChangedName = AttributeName | 'properties';

/** Merges the built-in attributes of a request; an absent one is kept. */
export function mergeAttributes(
  former: UserAttributes | undefined,
  given: Pick<UpsertUser, AttributeName>,
): UserAttributes {
  const merge = (name: AttributeName): string | null => {
    const value = given[name];
    return value === undefined ? (former?.[name] ?? null) : value;
  };
  return {
    firstName: merge('firstName'),
    country: merge('country'),
    language: merge('language'),
    timezone: merge('timezone'),
  };
}

type Shown = UserAttributes & { readonly properties: StoredProperties };

/** Names the fields that differ. Values under numbers that the catalog no longer has are not shown. */
export function listChanges(former: Shown, after: Shown, isLive: (id: number) => boolean): ChangedName[] {
  const names = attributeNames.filter((name) => former[name] !== after[name]);
  return showsSame(former.properties, after.properties, isLive) ? names : [...names, 'properties'];
}
