// Merges rows into the devices that they name: read once, changed in memory row by row, written
// together. A device that opted out stays opted out, and a refused device stays invalid, because a
// file is no sign of life. Works in the caller's transaction.

import type { ApiError } from '../../ground/http/api-error.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import { type DeviceFacts, mergeFacts } from '../audience/device-facts.ts';
import { insertAudienceRows } from '../audience/insert-many.ts';
import { copyProfile } from '../audience/profile-copy.ts';
import { claimTokens, type TokenClaim } from '../devices/claim-tokens.ts';
import { correctDevice } from '../devices/edit-device.ts';
import { insertDevices } from '../devices/insert-many.ts';
import { updateTokenDevice } from '../devices/queries.ts';
import type { DeviceToken } from '../devices/token.ts';
import { applyChanges } from '../properties/change-properties.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import { type Property, type StoredProperties, showsSame, type TextGone } from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import type { HeldDevice, HeldDevices, HoldContext } from '../users/hold-devices.ts';
import type { User } from '../users/user.ts';
import { type DevicePart, type ImportCounts, type ImportRow, RowsRefused } from './row.ts';

/** A row whose properties were learned. */
export interface LearnedRow {
  readonly row: ImportRow;
  readonly ofDevice: LearnedProperties;
  readonly ofUser: LearnedProperties;
}

/** The token that a row names, before its device is read. */
interface ClaimedDevice extends TokenClaim {
  /** The device that has the token; equal to `id` when no device had it. */
  readonly holderId: Uuid;
}

/** Locks the tokens of all rows. These are the transaction's first locks after the catalog's. */
export async function claimDevices(
  { tx, clock, appId }: HoldContext,
  rows: readonly ImportRow[],
): Promise<ReadonlyMap<string, ClaimedDevice>> {
  const claims = new Map<string, TokenClaim>();
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
interface DeviceState {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
  /** Undefined for a new device. */
  readonly known: HeldDevice | undefined;
  credentialId: number | null;
  environment: Environment | null;
  facts: DeviceFacts;
  properties: StoredProperties;
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

/** Merges the rows into locked and new devices. Throws `RowsRefused` for too many properties. */
export async function mergeDevices(
  { tx, clock, appId }: HoldContext,
  claimed: ReadonlyMap<string, ClaimedDevice>,
  devices: HeldDevices,
  rows: readonly LearnedRow[],
): Promise<MergedDevices> {
  const now = clock.date();
  const states = new Map<string, DeviceState>();
  const numbers = new Set(rows.flatMap(({ ofDevice }) => [...ofDevice.changes.keys()]));
  for (const [key, claim] of claimed) {
    const { id, platform, token, holderId } = claim;
    const holder = devices.find(holderId);
    const known = holder?.device.tokenHash.equals(token.hash) ? holder : undefined;
    // A row left over from a refresh: its device has another token by now.
    if (holderId !== id && !known) await updateTokenDevice(tx, appId, platform, token.hash, id);
    for (const number of Object.keys(known?.device.properties ?? {})) numbers.add(Number(number));
    states.set(key, stateOf(claim, known, now));
  }
  const catalog = await readCatalog(tx, appId, [...numbers]);
  const gone: TextGone[] = [];
  const refusals = new Map<ImportRow, ApiError>();
  for (const { row, ofDevice } of rows) {
    const state = row.device && states.get(keyOf(row.device));
    if (!row.device || !state || state.known?.device.status === 'unsubscribed') continue;
    const kept = row.device.properties === null ? {} : state.properties;
    const changed = applyChanges(kept, state.properties, ofDevice, catalog);
    if (changed.refusal) refusals.set(row, changed.refusal);
    if (changed.refusal && !row.isForeign) continue;
    state.properties = changed.stored;
    gone.push(...changed.gone);
    mergeRow(state, row.device, now);
    const { id, known, createdAt, lastSeenAt } = state;
    const active = known?.row.active ?? true;
    devices.put({ deviceId: id, externalId: devices.ownerOf(id), active, createdAt, lastSeenAt });
    if (row.user) await devices.link(row.user.externalId, id);
  }
  if (refusals.size > 0) throw new RowsRefused(refusals);
  for (const { known, properties } of states.values()) {
    const isSame = !known || showsSame(known.device.properties, properties, (number) => catalog.has(number));
    if (!isSame) devices.setProperties(known, properties);
  }
  return { states: [...states.values()], catalog, gone };
}

function stateOf({ id, platform, token }: ClaimedDevice, known: HeldDevice | undefined, now: Date): DeviceState {
  return {
    id: known?.device.id ?? id,
    platform,
    token,
    known,
    credentialId: known?.device.credentialId ?? null,
    environment: known?.device.environment ?? null,
    facts: mergeFacts(known?.row, {}),
    properties: known?.device.properties ?? {},
    createdAt: known?.row.createdAt ?? now,
    lastSeenAt: known?.row.lastSeenAt ?? new Date(0),
    registeredAt: null,
  };
}

function mergeRow(state: DeviceState, given: DevicePart, now: Date): void {
  state.facts = mergeFacts(state.facts, given.facts);
  if (given.environment !== undefined) state.environment = given.environment;
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

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

/**
 * The assumed time of registration when the file names none. A provider's "gone" counts only when
 * it is later than the registration. With the present time as registration, pushes to a token that
 * died before the import would never end.
 */
const longAgo = new Date('2000-01-01T00:00:00Z');

/** Writes new devices by COPY, and corrects the known ones. `users` has the users of the rows. */
export async function writeDevices(
  { tx, clock, appId }: HoldContext,
  { states, catalog }: MergedDevices,
  devices: HeldDevices,
  users: ReadonlyMap<string, User>,
): Promise<Pick<ImportCounts, 'devicesCreated' | 'devicesUpdated' | 'devicesUnchanged' | 'devicesOptedOut'>> {
  const slotted = [...catalog.values()];
  const now = clock.date();
  const added = states
    .filter(({ known }) => !known)
    .map((state) => {
      const user = users.get(devices.ownerOf(state.id) ?? '');
      const copy = copyProfile(user ? { ...user, userId: user.id } : null, state.properties, slotted);
      const registeredAt = state.registeredAt ?? longAgo;
      return { ...state, deviceId: state.id, registeredAt, identifiedAt: user ? now : null, copy };
    });
  await insertDevices(tx, appId, added);
  await insertAudienceRows(tx, appId, added);
  const corrected = await Promise.all(
    states.map(async ({ known, ...state }) => {
      if (!known) return 'new';
      if (known.device.status === 'unsubscribed') return 'opted out';
      const { isCorrected } = await correctDevice(tx, clock, appId, known, state, (number) => catalog.has(number));
      return isCorrected || devices.ownerOf(state.id) !== known.row.externalId ? 'updated' : 'unchanged';
    }),
  );
  const count = (result: string): number => corrected.filter((each) => each === result).length;
  return {
    devicesCreated: added.length,
    devicesUpdated: count('updated'),
    devicesUnchanged: count('unchanged'),
    devicesOptedOut: count('opted out'),
  };
}
