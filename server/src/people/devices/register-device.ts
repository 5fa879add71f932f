// Registers a device: the same token is the same device, and a refreshed token keeps its device.
// Works in one transaction: of 50 requests that race for one token, one creates the device and the
// others find it. Takes locks in the order that the migration of these tables names.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type ChannelId, channelOfPlatform, type Environment, type Platform } from '../../sending/channels/channel.ts';
import { findCurrentCredentialId } from '../../teams/apps/credential-queries.ts';
import type { NewDevicePermit } from '../../teams/quotas/address-limit.ts';
import { type FactsGiven, mergeFacts } from '../audience/device-facts.ts';
import {
  type AudienceRow,
  findProfile,
  getAudienceRow,
  insertAudienceRow,
  listDevicesOfUsers,
  updateActive,
  updateSeenDevice,
} from '../audience/queries.ts';
import { writeCopies } from '../audience/write-copies.ts';
import { type ChangedProperties, changeProperties } from '../properties/change-properties.ts';
import { type LearnedProperties, learnProperties, recordSightings } from '../properties/learn-properties.ts';
import {
  noChanges,
  type PropertyChanges,
  type PropertyConflict,
  type StoredProperties,
} from '../properties/property.ts';
import { type Device, devicesPerUserMax, listChanges } from './device.ts';
import { appendChanges } from './device-history.ts';
import {
  deleteToken,
  findTokenOf,
  insertDevice,
  insertToken,
  lockDevice,
  lockToken,
  lockTokenUnlessBusy,
  updateRegistration,
  updateReplaced,
  updateTokenDevice,
} from './queries.ts';
import { type DeviceToken, proofOf, provesToken, tokenOfOwn } from './token.ts';
import { unlinkDevices } from './unlink-devices.ts';

/** An absent field keeps the stored value; null clears it. */
export interface RegisterDevice {
  readonly appId: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
  readonly facts: FactsGiven;
  readonly environment: Environment | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  /**
   * True for a client key, whose caller may be a stranger. It uses only properties that the catalog
   * has, and records fewer uses (`learnProperties`).
   */
  readonly byClient: boolean;
  /** The device that gets this token in place of its own; null when the request names none. */
  readonly refreshes: Refresh | null;
  /** Taken before a new device is created; null: no limit. */
  readonly permit: NewDevicePermit | null;
}

export interface Refresh {
  readonly id: Uuid;
  /**
   * A digest of the device's current token, computed from the value that the caller sent
   * (`proofOf`); undefined when none was sent.
   */
  readonly proof: Buffer | undefined;
  /**
   * A device id is not secret enough to take a device over. A caller with only a client key must
   * prove more (contract 8).
   */
  readonly needsProof: boolean;
}

export interface RegisteredDevice {
  readonly platform: Platform;
  readonly row: AudienceRow;
  readonly environment: Environment | null;
  readonly properties: ChangedProperties;
  readonly conflicts: readonly PropertyConflict[];
  readonly created: boolean;
  /**
   * True when the request named a device and proved no right to refresh it. The result is then
   * another device, and the named one is unchanged.
   */
  readonly lacksProof: boolean;
}

/** The device got another token between the proof and the lock; the registration starts again. */
class TokenMoved extends Error {
  override readonly name = 'TokenMoved';
}

/**
 * The endpoint belongs to a device whose keys the caller does not know. The registration starts again
 * and makes a device of its own (contract 8).
 */
class OtherKeys extends Error {
  override readonly name = 'OtherKeys';
}

/**
 * Registers a device. Throws the 400s that depend on stored data, the 404 of a refresh and the 429
 * of the permit; then nothing is written.
 */
export async function registerDevice(
  { sql, clock }: { sql: Sql; clock: Clock },
  request: RegisterDevice,
): Promise<RegisteredDevice> {
  let created = false;
  try {
    const registered = await registerRepeatedly(sql, clock, request);
    created = registered.created;
    return registered;
  } finally {
    if (!created) request.permit?.giveBack();
  }
}

async function registerRepeatedly(sql: Sql, clock: Clock, given: RegisterDevice): Promise<RegisteredDevice> {
  let request = given;
  for (;;) {
    try {
      const now = request;
      return await repeatOnDeadlock(() => transaction(sql, (tx) => registerIn(tx, clock, now)));
    } catch (error) {
      // Thrown once: the new hash covers the keys.
      if (error instanceof OtherKeys) request = ofItsOwn(request);
      // Thrown only when another refresh has succeeded, so the loop ends.
      else if (!(error instanceof TokenMoved)) throw error;
    }
  }
}

/** A device that the request names stays unchanged, whatever the request proves. */
function ofItsOwn({ token, refreshes, ...rest }: RegisterDevice): RegisterDevice {
  return { ...rest, token: tokenOfOwn(token), refreshes: refreshes && { ...refreshes, proof: undefined } };
}

/**
 * Returns whether a client key shows the endpoint of a device without the `auth` that is stored with
 * it. The endpoint alone reads and changes nothing (contract 8).
 */
export function showsOtherKeys(
  { platform, token, byClient }: Pick<RegisterDevice, 'platform' | 'token' | 'byClient'>,
  stored: string | null,
): boolean {
  // Equal texts need no digests, and most registrations repeat the text.
  if (!byClient || platform !== 'web' || stored === null || stored === token.text) return false;
  return !provesToken(proofOf(platform, token.text), platform, stored);
}

async function registerIn(tx: Tx, clock: Clock, request: RegisterDevice): Promise<RegisteredDevice> {
  const { appId, properties, byClient } = request;
  const given = properties ?? noChanges;
  const learned = await learnProperties(tx, clock, { appId, given, mayAdd: !byClient });
  const { refreshes } = request;
  const settled =
    refreshes === null
      ? await findDeviceOfToken(tx, clock, request)
      : await settleRefresh(tx, clock, request, refreshes);
  const context: RegisterContext = {
    tx,
    clock,
    credentialOf: (channel) => findCurrentCredentialId(tx, appId, channel),
    rowOf: (id) => getAudienceRow(tx, appId, id),
  };
  const registered = settled.device
    ? await registerAgain(context, request, settled.device, learned)
    : await registerNew(context, request, settled.id, learned);
  await recordSightings(tx, clock, appId, learned, registered.properties.gone);
  return { ...registered, lacksProof: refreshes !== null && settled.id !== refreshes.id };
}

// A refresh without a proof is an ordinary registration. When the named device has this token
// already, the registration finds it.
async function settleRefresh(tx: Tx, clock: Clock, request: RegisterDevice, refresh: Refresh): Promise<Settled> {
  const { appId, platform } = request;
  const named = await findTokenOf(tx, appId, refresh.id);
  if (!named) throw notFound();
  if (named.platform !== platform) {
    const message = `This device is registered for ${named.platform}.`;
    throw invalid([{ path: ['device_id'], code: 'invalid_value', message, allowed: [named.platform] }]);
  }
  const isProven =
    !refresh.needsProof || (refresh.proof !== undefined && provesToken(refresh.proof, platform, named.token));
  if (!isProven || (refresh.needsProof && !(await mayTakeToken(tx, request, refresh.id)))) {
    return findDeviceOfToken(tx, clock, request);
  }
  const settled = await moveTokenTo(tx, clock, request, refresh.id, (device) => {
    if (refresh.needsProof && !device.tokenHash.equals(named.tokenHash)) throw new TokenMoved();
  });
  return settled;
}

/**
 * Returns whether a client key may move the token to the device `id`. The endpoint of another
 * device is not enough: the keys must be those that are stored with it. Locks the token.
 */
async function mayTakeToken(
  tx: Tx,
  { appId, platform, token }: Pick<RegisterDevice, 'appId' | 'platform' | 'token'>,
  id: Uuid,
): Promise<boolean> {
  const holderId = await lockToken(tx, appId, platform, token.hash);
  if (holderId === undefined || holderId === id) return true;
  const stored = await findTokenOf(tx, appId, holderId);
  if (!stored?.token || !stored.tokenHash.equals(token.hash)) return true;
  return provesToken(proofOf(platform, token.text), platform, stored.token);
}

/** The id that the token leads to, and the locked device with this id, if there is one. */
type Settled = { readonly id: Uuid; readonly device: Device | undefined };

async function findDeviceOfToken(tx: Tx, clock: Clock, request: RegisterDevice): Promise<Settled> {
  const { appId, platform, token } = request;
  const newId = mintUuid(clock.nowMs());
  const holderId = await claimToken(tx, request, newId);
  if (holderId === newId) return { id: newId, device: undefined };
  const device = await lockDevice(tx, appId, holderId);
  if (device?.tokenHash.equals(token.hash)) {
    if (showsOtherKeys(request, device.token)) throw new OtherKeys();
    return { id: holderId, device };
  }
  // A row left over from a refresh: its device has another token by now.
  await updateTokenDevice(tx, appId, platform, token.hash, newId);
  return { id: newId, device: undefined };
}

/** `check` is called with the locked device, and throws when the device may not get the token. */
async function moveTokenTo(
  tx: Tx,
  clock: Clock,
  request: RegisterDevice,
  id: Uuid,
  check: (device: Device) => void,
): Promise<Settled> {
  const { appId, platform, token } = request;
  const holderId = await claimToken(tx, request, id);
  const locked = new Map<Uuid, Device>();
  for (const deviceId of [...new Set([id, holderId])].sort()) {
    const found = await lockDevice(tx, appId, deviceId);
    if (found) locked.set(deviceId, found);
  }
  const device = locked.get(id);
  if (!device) throw notFound();
  check(device);
  if (holderId !== id) {
    const holder = locked.get(holderId);
    if (holder?.tokenHash.equals(token.hash)) await retireReplaced(tx, clock, appId, holder);
    await updateTokenDevice(tx, appId, platform, token.hash, id);
  }
  if (!device.tokenHash.equals(token.hash)) {
    // Locked out of order, so without waiting. A transaction that holds this lock registers the old
    // token and will find the left-over row.
    const owner = await lockTokenUnlessBusy(tx, appId, platform, device.tokenHash);
    if (owner === id) await deleteToken(tx, appId, platform, device.tokenHash);
  }
  return { id, device };
}

/**
 * Returns the device that has the token. When none has, the token is given to `newOwner`. The row
 * stays locked.
 */
export async function claimToken(
  tx: Tx,
  { appId, platform, token }: Pick<RegisterDevice, 'appId' | 'platform' | 'token'>,
  newOwner: Uuid,
): Promise<Uuid> {
  for (;;) {
    const owner = await lockToken(tx, appId, platform, token.hash);
    if (owner !== undefined) return owner;
    if (await insertToken(tx, appId, platform, token.hash, newOwner)) return newOwner;
    // Another transaction claimed or freed the token in between: look it up again.
  }
}

async function retireReplaced(tx: Tx, clock: Clock, appId: Uuid, device: Device): Promise<void> {
  // A device that opted out stays opted out, because nothing can reach it in any case.
  if (device.status === 'unsubscribed') return;
  await updateReplaced(tx, appId, device.id);
  await updateActive(tx, appId, [device.id], false);
  const { id, platform, status: former } = device;
  const change = { deviceId: id, platform, status: 'invalid', reason: 'replaced', former } as const;
  await appendChanges(tx, appId, clock.date(), [change]);
}

export type Registered = Omit<RegisteredDevice, 'lacksProof'>;

export interface RegisterContext {
  readonly tx: Tx;
  readonly clock: Clock;
  /** The app's current credential of a channel, to which a device without a credential is bound. */
  credentialOf(channel: ChannelId): Promise<number | null>;
  /** The audience row of a locked device. */
  rowOf(id: Uuid): Promise<AudienceRow>;
}

/**
 * Creates the device whose token was claimed for this id. Throws the 429 of the permit before
 * anything is written.
 */
export async function registerNew(
  { tx, clock, credentialOf }: RegisterContext,
  request: RegisterDevice,
  id: Uuid,
  learned: LearnedProperties,
): Promise<Registered> {
  const { appId, platform, token, facts } = request;
  request.permit?.take();
  const environment = request.environment ?? null;
  const credentialId = await credentialOf(channelOfPlatform[platform]);
  const properties = await ownProperties(tx, request, {}, learned);
  await insertDevice(tx, clock, {
    appId,
    id,
    platform,
    token,
    credentialId,
    environment,
    properties: properties.stored,
    byClient: request.byClient,
  });
  const row = await insertAudienceRow(tx, clock, {
    appId,
    deviceId: id,
    platform,
    facts: mergeFacts(undefined, facts),
  });
  if (Object.keys(properties.stored).length > 0) await copyToAudience(tx, appId, row, properties);
  const change = { deviceId: id, platform, status: 'active', reason: null, former: null } as const;
  await appendChanges(tx, appId, row.createdAt, [change]);
  return { platform, row, environment, properties, conflicts: learned.conflicts, created: true };
}

/** Stores that a locked device registers with this token. */
export async function registerAgain(
  { tx, clock, credentialOf, rowOf }: RegisterContext,
  request: RegisterDevice,
  device: Device,
  learned: LearnedProperties,
): Promise<Registered> {
  const { appId, platform, token, facts } = request;
  const { id } = device;
  const hasNewToken = !device.tokenHash.equals(token.hash);
  const environment = request.environment === undefined ? device.environment : request.environment;
  // A web push subscription is bound for life to the credential that was current when it was
  // created.
  const credentialId = (hasNewToken ? null : device.credentialId) ?? (await credentialOf(channelOfPlatform[platform]));
  const properties = await ownProperties(tx, request, device.properties, learned);
  const startsAnew = hasNewToken || device.status !== 'active' || environment !== device.environment;
  // The keys of a subscription never change. A stranger who knows an endpoint could otherwise set
  // keys of its own, and then prove with them that the device is its own.
  const keepsToken = request.byClient && !hasNewToken;
  const former = await rowOf(id);
  if (
    device.status !== 'active' &&
    former.externalId !== null &&
    (await hasFullUser(tx, appId, id, former.externalId))
  ) {
    await unlinkDevices(tx, clock, appId, [{ id, properties: device.properties }]);
  }
  const merged = mergeFacts(former, facts);
  const after = { ...merged, environment, properties: properties.stored };
  const { locale, timezone } = former;
  const changes = listChanges({ ...device, locale, timezone }, after, (number) => properties.catalog.has(number));
  const effects = { startsAnew, isChanged: changes.length > 0 };
  const write = { appId, id, token, credentialId, environment, properties: properties.stored, keepsToken, ...effects };
  // Sent together, so that neither waits for the answer to the other.
  const [row] = await Promise.all([
    updateSeenDevice(tx, clock, { appId, deviceId: id, facts: merged }),
    updateRegistration(tx, clock, write),
  ]);
  if (changesProperties(request, learned)) await copyToAudience(tx, appId, row, properties);
  if (device.status !== 'active') {
    const change = { deviceId: id, platform, status: 'active', reason: null, former: device.status } as const;
    await appendChanges(tx, appId, row.lastSeenAt, [change]);
  }
  return { platform, row, environment, properties, conflicts: learned.conflicts, created: false };
}

/**
 * Returns whether the device's user already has the maximum of active devices. A device that
 * becomes active again is then unlinked.
 */
async function hasFullUser(tx: Tx, appId: Uuid, id: Uuid, externalId: string): Promise<boolean> {
  const theirs = await listDevicesOfUsers(tx, appId, [externalId]);
  return theirs.filter(({ active, deviceId }) => active && deviceId !== id).length >= devicesPerUserMax;
}

function changesProperties(request: RegisterDevice, learned: LearnedProperties): boolean {
  return request.properties === null || learned.changes.size > 0;
}

async function ownProperties(
  tx: Tx,
  request: RegisterDevice,
  former: StoredProperties,
  learned: LearnedProperties,
): Promise<ChangedProperties> {
  // Most devices have no properties and register none.
  if (!changesProperties(request, learned) && Object.keys(former).length === 0) {
    return { stored: {}, catalog: new Map(), gone: [] };
  }
  return changeProperties(tx, request.appId, former, learned, request.properties !== null);
}

/** Copies the properties of a locked device, with the profile of its user, to where filters read. */
export async function copyToAudience(
  tx: Tx,
  appId: Uuid,
  row: AudienceRow,
  properties: ChangedProperties,
): Promise<void> {
  const profile = row.externalId === null ? undefined : await findProfile(tx, appId, row.externalId);
  await writeCopies(tx, appId, {
    profile: profile ?? null,
    devices: [{ id: row.deviceId, properties: properties.stored }],
    slotted: [...properties.catalog.values()],
  });
}
