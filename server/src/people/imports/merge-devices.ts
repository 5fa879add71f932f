// Merges rows into the devices that they name, and into the devices of users that they change: read
// once, changed in memory row by row, written together. A device that opted out stays opted out,
// and a refused device stays invalid, because a file is no sign of life. Works in the caller's
// transaction.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import { type DeviceFacts, mergeFacts } from '../audience/device-facts.ts';
import { insertAudienceRows } from '../audience/insert-many.ts';
import { copyProfile, type Profile } from '../audience/profile-copy.ts';
import {
  type AudienceRow,
  listAudienceRows,
  listDeviceIdsOfUsers,
  updateKnownDevice,
  updateProfileCopy,
} from '../audience/queries.ts';
import { claimTokens } from '../devices/claim-tokens.ts';
import { type Device, devicesPerUserMax, listChanges } from '../devices/device.ts';
import { insertDevices } from '../devices/insert-many.ts';
import { insertFormerLinks } from '../devices/link-queries.ts';
import { lockDevice, updateKnown, updateTokenDevice, updateUnidentified } from '../devices/queries.ts';
import { countDevicesOfUsers, listReached } from '../devices/room-queries.ts';
import type { DeviceToken } from '../devices/token.ts';
import type { Property, StoredProperties, TextGone } from '../properties/property.ts';
import { findUsers } from '../users/queries.ts';
import type { User } from '../users/user.ts';
import { chooseDevicesToUnlink, type OwnedDevice } from './make-room.ts';
import { mergeProperties, type RowToMerge, readCatalogOf } from './merge-properties.ts';
import { earlier, isChanged, isSame, type MergedUsers } from './merge-users.ts';
import type { DevicePart, ImportRow, Refusal } from './row.ts';

interface Context {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/** The token that a row names, before its device is read. */
export interface ClaimedDevice {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
  /** The device that has the token; equal to `id` when no device had it. */
  readonly holderId: Uuid;
}

/** Locks the tokens of all rows. These are the transaction's first locks after the catalog's. */
export async function claimDevices(
  { tx, clock, appId }: Context,
  rows: readonly ImportRow[],
): Promise<ReadonlyMap<string, ClaimedDevice>> {
  const claims = new Map<string, Omit<ClaimedDevice, 'holderId'>>();
  for (const { device } of rows) {
    if (!device || claims.has(keyOf(device))) continue;
    const { platform, token } = device;
    const madeAt = earlier(device.createdAt ?? clock.date(), clock.date());
    claims.set(keyOf(device), { id: mintUuid(madeAt.getTime()), platform, token });
  }
  const holders = await claimTokens(tx, appId, [...claims.values()]);
  return new Map([...claims].map(([key, claim]) => [key, { ...claim, holderId: holders.get(claim.id) ?? claim.id }]));
}

function keyOf({ platform, token }: DevicePart): string {
  return platform + token.hash.toString('latin1');
}

/** A device in its state after the rows so far. */
interface DeviceState extends OwnedDevice {
  readonly platform: Platform;
  /** Null for a device that no row names and that is here because its user changed. */
  readonly token: DeviceToken | null;
  readonly known: { readonly device: Device; readonly row: AudienceRow } | null;
  credentialId: number | null;
  environment: Environment | null;
  facts: DeviceFacts;
  properties: StoredProperties;
  ownerId: string | null;
  createdAt: Date;
  lastSeenAt: Date;
  /** The time of registration in the file; null when the file has none. */
  registeredAt: Date | null;
}

export interface MergedDevices {
  readonly states: readonly DeviceState[];
  /** Read after the devices were locked, so that it contains every slot. */
  readonly catalog: ReadonlyMap<number, Property>;
  readonly gone: readonly TextGone[];
}

/**
 * Locks the devices and merges the rows. A row whose device would have too many properties is added
 * to the refusals.
 */
export async function mergeDevices(
  context: Context,
  claimed: ReadonlyMap<string, ClaimedDevice>,
  users: MergedUsers,
  rows: readonly RowToMerge[],
  refusals: Map<ImportRow, Refusal>,
): Promise<MergedDevices> {
  const { tx, clock, appId } = context;
  const changedUsers = [...users.byExternalId.values()].filter(isChanged).map(({ externalId }) => externalId);
  const crowded = await findCrowded(context, rows);
  const known = await lockKnown(context, claimed, [...changedUsers, ...crowded]);
  const reached = crowded.size === 0 ? new Set<Uuid>() : await listReached(tx, appId, idsOf(known.values()));
  const catalog = await readCatalogOf(
    tx,
    appId,
    rows.map(({ learned }) => learned),
    [
      ...[...known.values()].map(({ device }) => device.properties),
      ...[...users.byExternalId.values()].map((user) => user.properties),
    ],
  );
  const states = new Map<string, DeviceState>();
  const now = clock.date();
  for (const [key, { device, row }] of known) {
    const token = claimed.get(key)?.token ?? null;
    states.set(key, { ...knownState(device, row, token), isReached: reached.has(device.id) });
  }
  for (const [key, { id, platform, token, holderId }] of claimed) {
    if (states.has(key)) continue;
    // A row left over from a refresh: its device has another token by now.
    if (holderId !== id) await updateTokenDevice(tx, appId, platform, token.hash, id);
    states.set(key, newState(id, platform, token, now));
  }
  const gone: TextGone[] = [];
  for (const merged of rows) {
    const { row } = merged;
    const state = row.device && states.get(keyOf(row.device));
    if (!row.device || !state || state.known?.device.status === 'unsubscribed') continue;
    if (!mergeProperties({ catalog, refusals, gone }, merged, row.device, state)) continue;
    const externalId = row.user?.externalId;
    if (externalId !== undefined && crowded.has(externalId) && state.ownerId !== externalId) {
      const theirs = [...states.values()].filter(({ ownerId }) => ownerId === externalId);
      for (const unlinked of chooseDevicesToUnlink(theirs)) unlinked.ownerId = null;
    }
    mergeRow(state, row.device, externalId, now);
  }
  return { states: [...states.values()], catalog, gone };
}

// Finds the users who may have too many devices after all rows are merged. Their devices are needed
// to make room.
async function findCrowded({ tx, appId }: Context, rows: readonly RowToMerge[]): Promise<ReadonlySet<string>> {
  const tokens = new Map<string, Set<string>>();
  for (const { row } of rows) {
    if (!row.device || !row.user) continue;
    const { externalId } = row.user;
    tokens.set(externalId, (tokens.get(externalId) ?? new Set()).add(keyOf(row.device)));
  }
  if (tokens.size === 0) return new Set();
  const stored = await countDevicesOfUsers(tx, appId, [...tokens.keys()]);
  const crowded = [...tokens].filter(
    ([externalId, { size }]) => size + (stored.get(externalId) ?? 0) > devicesPerUserMax,
  );
  return new Set(crowded.map(([externalId]) => externalId));
}

function idsOf(known: Iterable<{ readonly device: Device }>): Uuid[] {
  return [...known].map(({ device }) => device.id);
}

// Locks devices in the order of their ids: the devices of claimed tokens, by the token's key, and
// all devices of the given users, by their ids.
async function lockKnown(
  { tx, appId }: Context,
  claimed: ReadonlyMap<string, ClaimedDevice>,
  wholeUsers: readonly string[],
): Promise<Map<string, { device: Device; row: AudienceRow }>> {
  const keyOfDevice = new Map<Uuid, string>();
  for (const [key, { id, holderId }] of claimed) if (holderId !== id) keyOfDevice.set(holderId, key);
  const theirs = wholeUsers.length === 0 ? [] : await listDeviceIdsOfUsers(tx, appId, wholeUsers);
  const ids = [...new Set([...keyOfDevice.keys(), ...theirs])].sort();
  const found = new Map<string, { device: Device; row: AudienceRow }>();
  if (ids.length === 0) return found;
  // One statement for each, because a distributed database locks rows on one shard only. The
  // statements are sent together, so that none waits for the answer to another.
  const locked = await Promise.all(ids.map((id) => lockDevice(tx, appId, id)));
  const rows = new Map((await listAudienceRows(tx, appId, ids)).map((row) => [row.deviceId, row]));
  const whole = new Set(wholeUsers);
  for (const device of locked) {
    const row = device && rows.get(device.id);
    if (!device || !row) continue;
    const key = keyOfDevice.get(device.id);
    const hash = key === undefined ? undefined : claimed.get(key)?.token.hash;
    if (key !== undefined && hash && device.tokenHash.equals(hash)) found.set(key, { device, row });
    // Devices that went to another user meanwhile are omitted.
    else if (row.externalId !== null && whole.has(row.externalId)) found.set(device.id, { device, row });
  }
  return found;
}

function knownState(device: Device, row: AudienceRow, token: DeviceToken | null): Omit<DeviceState, 'isReached'> {
  const { locale, timezone, appVersion, sdk, os, osVersion, model } = row;
  return {
    id: device.id,
    platform: device.platform,
    token,
    known: { device, row },
    isActive: row.active,
    credentialId: device.credentialId,
    environment: device.environment,
    facts: { locale, timezone, appVersion, sdk, os, osVersion, model },
    properties: device.properties,
    ownerId: row.externalId,
    createdAt: row.createdAt,
    lastSeenAt: row.lastSeenAt,
    registeredAt: null,
  };
}

function newState(id: Uuid, platform: Platform, token: DeviceToken, now: Date): DeviceState {
  return {
    id,
    platform,
    token,
    known: null,
    isActive: true,
    isReached: false,
    credentialId: null,
    environment: null,
    facts: mergeFacts(undefined, {}),
    properties: {},
    ownerId: null,
    createdAt: now,
    lastSeenAt: new Date(0),
    registeredAt: null,
  };
}

function mergeRow(state: DeviceState, given: DevicePart, externalId: string | undefined, now: Date): void {
  state.facts = mergeFacts(state.facts, given.facts);
  if (given.environment !== undefined) state.environment = given.environment;
  if (externalId !== undefined) state.ownerId = externalId;
  // A web push subscription is bound for life to the credential with which it was made.
  state.credentialId ??= given.credentialId;
  const seenAt = given.lastSeenAt ?? (state.known ? null : (given.createdAt ?? now));
  if (seenAt && seenAt > state.lastSeenAt) state.lastSeenAt = earlier(seenAt, now);
  if (state.known) return;
  if (given.createdAt) state.createdAt = earlier(given.createdAt, state.createdAt);
  state.createdAt = earlier(state.createdAt, state.lastSeenAt);
  const said = given.lastSeenAt ?? given.createdAt;
  if (said && (!state.registeredAt || said > state.registeredAt)) state.registeredAt = earlier(said, now);
}

/**
 * The assumed time of registration when the file names none. A provider's "gone" counts only when
 * it is later than the registration. With the present time as registration, pushes to a token that
 * died before the import would never end.
 */
const longAgo = new Date('2000-01-01T00:00:00Z');

export async function writeDevices(
  context: Context,
  { states, catalog }: MergedDevices,
  users: MergedUsers,
): Promise<{ created: number; updated: number; unchanged: number; optedOut: number }> {
  const { tx, clock, appId } = context;
  const slotted = [...catalog.values()];
  const profiles = await findProfiles(context, states, users);
  const copyOf = ({ ownerId, properties }: DeviceState) =>
    copyProfile((ownerId === null ? undefined : profiles.get(ownerId)) ?? null, properties, slotted);

  const added = states.filter(({ known }) => !known);
  if (added.length > 0) {
    await insertDevices(
      tx,
      appId,
      added.flatMap((state) => {
        const { token, ownerId, registeredAt } = state;
        const identifiedAt = ownerId === null ? null : clock.date();
        return token ? [{ ...state, token, registeredAt: registeredAt ?? longAgo, identifiedAt }] : [];
      }),
    );
    await insertAudienceRows(
      tx,
      appId,
      added.map((state) => ({ ...state, deviceId: state.id, copy: copyOf(state) })),
    );
  }

  const moved = states.filter(({ known, ownerId }) => known && known.row.externalId !== ownerId);
  if (moved.length > 0) {
    const movedIds = moved.map(({ id }) => id);
    await insertFormerLinks(tx, clock, appId, movedIds);
    const unlinked = moved.filter(({ ownerId }) => ownerId === null);
    if (unlinked.length > 0) {
      await updateUnidentified(
        tx,
        appId,
        unlinked.map(({ id }) => id),
      );
    }
  }
  let [updated, unchanged, optedOut] = [0, 0, 0];
  const writes: Promise<void>[] = [];
  for (const state of states) {
    if (!state.known) continue;
    const { device, row } = state.known;
    const isOptedOut = device.status === 'unsubscribed';
    const isMoved = state.ownerId !== row.externalId;
    const hasOther = isMoved || !isSame(state.properties, device.properties);
    const owner = state.ownerId === null ? undefined : users.byExternalId.get(state.ownerId);
    const { id } = state;
    const { environment, properties, facts } = state;
    const { locale, timezone } = row;
    const after = { ...facts, environment, properties };
    const changes = listChanges({ ...device, locale, timezone }, after, (number) => catalog.has(number));
    if (hasOther || changes.length > 0 || state.credentialId !== device.credentialId) {
      const identifiedAt = isMoved && state.ownerId !== null ? clock.date() : null;
      const effects = { startsAnew: environment !== device.environment, isChanged: changes.length > 0 };
      writes.push(updateKnown(tx, clock, { ...state, appId, identifiedAt, ...effects }));
    }
    if (hasOther || (owner && isChanged(owner))) writes.push(updateProfileCopy(tx, appId, [id], copyOf(state)));
    const hasNews = isNews(state, row);
    if (hasNews) writes.push(updateKnownDevice(tx, appId, { ...state, deviceId: id }));
    if (state.token === null) continue;
    if (isOptedOut) optedOut++;
    else if (hasOther || hasNews || state.environment !== device.environment) updated++;
    else unchanged++;
  }
  await Promise.all(writes);
  return { created: added.length, updated, unchanged, optedOut };
}

function isNews({ facts, lastSeenAt }: DeviceState, row: AudienceRow): boolean {
  const names = Object.keys(facts) as (keyof DeviceFacts)[];
  return lastSeenAt > row.lastSeenAt || names.some((name) => facts[name] !== row[name]);
}

// The profiles of all owners: users of the rows as merged, other users as stored.
async function findProfiles(
  { tx, appId }: Context,
  states: readonly DeviceState[],
  { byExternalId }: MergedUsers,
): Promise<Map<string, Profile>> {
  const profiles = new Map<string, Profile>();
  for (const { attributes, id, ...user } of byExternalId.values()) {
    profiles.set(user.externalId, { ...user, ...attributes, userId: id });
  }
  const others = states.flatMap(({ ownerId }) => (ownerId === null || profiles.has(ownerId) ? [] : [ownerId]));
  const found: readonly User[] = others.length === 0 ? [] : await findUsers(tx, appId, [...new Set(others)]);
  for (const user of found) profiles.set(user.externalId, { ...user, userId: user.id });
  return profiles;
}
