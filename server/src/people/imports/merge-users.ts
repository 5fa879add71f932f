// Merges rows into the users that they name: read once, changed in memory row by row, and written
// together. Works in the caller's transaction.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { StoredProperties, TextGone } from '../properties/property.ts';
import { insertProfiles } from '../users/insert-many.ts';
import { lockPeople } from '../users/lock-people.ts';
import { mergeAttributes, type UserAttributes } from '../users/merge-profile.ts';
import { findUsers, updateUser } from '../users/queries.ts';
import type { User } from '../users/user.ts';
import { mergeProperties, type RowToMerge, readCatalogOf } from './merge-properties.ts';
import type { ImportRow, Refusal, UserPart } from './row.ts';

/** A user in the state after the rows so far. */
export interface UserState {
  readonly id: Uuid;
  readonly externalId: string;
  readonly former: User | undefined;
  attributes: UserAttributes;
  properties: StoredProperties;
  createdAt: Date;
}

export interface MergedUsers {
  readonly byExternalId: ReadonlyMap<string, UserState>;
  readonly gone: readonly TextGone[];
}

/**
 * Locks the people and merges the rows. A row whose user would have too many properties is added to
 * the refusals and changes nothing.
 */
export async function mergeUsers(
  { tx, clock, appId }: { tx: Tx; clock: Clock; appId: Uuid },
  rows: readonly RowToMerge[],
  refusals: Map<ImportRow, Refusal>,
): Promise<MergedUsers> {
  const people = await lockPeople(
    tx,
    clock,
    appId,
    rows.flatMap(({ row }) => row.user?.externalId ?? []),
  );
  const known = [...people].flatMap(([externalId, { isNew }]) => (isNew ? [] : [externalId]));
  const found = known.length === 0 ? [] : await findUsers(tx, appId, known);
  const formers = new Map(found.map((user) => [user.externalId, user]));
  const catalog = await readCatalogOf(
    tx,
    appId,
    rows.map(({ learned }) => learned),
    found.map((user) => user.properties),
  );
  const now = clock.date();
  const states = new Map<string, UserState>();
  const gone: TextGone[] = [];
  for (const merged of rows) {
    const { row } = merged;
    if (!row.user) continue;
    const { externalId } = row.user;
    const state = states.get(externalId) ?? stateOf(people.get(externalId)?.id ?? '', row.user, formers, now);
    if (!mergeProperties({ catalog, refusals, gone }, merged, row.user, state)) continue;
    state.attributes = mergeAttributes(state.attributes, row.user);
    states.set(externalId, state);
  }
  return { byExternalId: states, gone };
}

function stateOf(id: Uuid, user: UserPart, formers: ReadonlyMap<string, User>, now: Date): UserState {
  const { externalId } = user;
  const former = formers.get(externalId);
  const { firstName = null, country = null, language = null, timezone = null } = former ?? {};
  return {
    id,
    externalId,
    former,
    attributes: { firstName, country, language, timezone },
    properties: former?.properties ?? {},
    createdAt: former?.createdAt ?? earlier(user.createdAt ?? now, now),
  };
}

/**
 * Returns whether the profile differs from the stored one. False for a new user, because no copy of
 * the profile exists yet.
 */
export function isChanged({ former, attributes, properties }: UserState): boolean {
  if (!former) return false;
  const names = Object.keys(attributes) as (keyof UserAttributes)[];
  return names.some((name) => attributes[name] !== former[name]) || !isSame(properties, former.properties);
}

/** Merging keeps the order of values, so that equal properties have equal JSON. */
export function isSame(one: StoredProperties, other: StoredProperties): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export async function writeUsers(
  { tx, clock, appId }: { tx: Tx; clock: Clock; appId: Uuid },
  { byExternalId }: MergedUsers,
): Promise<{ created: number; updated: number; unchanged: number }> {
  const all = [...byExternalId.values()];
  const added = all.filter(({ former }) => !former);
  const changed = all.filter(isChanged);
  if (added.length > 0) {
    await insertProfiles(
      tx,
      appId,
      added.map(({ attributes, ...user }) => ({ ...user, ...attributes })),
    );
  }
  await Promise.all(changed.map(({ attributes, ...user }) => updateUser(tx, clock, appId, { ...user, ...attributes })));
  return { created: added.length, updated: changed.length, unchanged: all.length - added.length - changed.length };
}

export function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
