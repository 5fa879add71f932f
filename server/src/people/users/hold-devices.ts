// The devices of users whose profiles are written, in the transaction that holds the locks on these
// people. The devices are locked in the order of their ids. Links change in memory first and are
// written together, with the copies of all profiles that changed.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type AudienceRow, type DeviceOfUser, listAudienceRows } from '../audience/queries.ts';
import { writeCopies } from '../audience/write-copies.ts';
import type { Device } from '../devices/device.ts';
import { insertFormerLinks } from '../devices/link-queries.ts';
import {
  listReached,
  lockDevice,
  type lockDeviceUnlessBusy,
  updateIdentified,
  updateUnidentified,
} from '../devices/queries.ts';
import type { Property, StoredProperties } from '../properties/property.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import { listDevicesToUnlink } from './make-room.ts';
import { findUsers } from './queries.ts';
import type { User } from './user.ts';

export interface HoldContext {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/** A locked device. */
export interface HeldDevice {
  /** As it is stored, but with the properties of `setProperties`. */
  readonly device: Device;
  /** As it is stored. */
  readonly row: AudienceRow;
}

interface DevicesToHold {
  /** The devices of all users, as read before. None by default. */
  readonly ofUsers?: readonly DeviceOfUser[];
  /** The users whose devices are locked. None by default. */
  readonly writtenIds?: ReadonlySet<string>;
  /** Further devices to lock, which may belong to anyone. None by default. */
  readonly besideIds?: readonly Uuid[];
  readonly lock?: typeof lockDevice | typeof lockDeviceUnlessBusy;
}

/** Locks devices and reads their rows. It waits for each device by default. */
export async function holdDevices(
  context: HoldContext,
  { ofUsers = [], writtenIds = new Set(), besideIds = [], lock = lockDevice }: DevicesToHold,
): Promise<HeldDevices> {
  const { tx, appId } = context;
  const ofWritten = ofUsers.filter(({ externalId }) => externalId !== null && writtenIds.has(externalId));
  const ids = [...new Set([...ofWritten.map(({ deviceId }) => deviceId), ...besideIds])].sort();
  if (ids.length === 0) return new HeldDevices(context, ofUsers, [], [], []);
  // One statement for each device, because a distributed database locks rows on one shard only. The
  // rows are read by a later statement, so that they include the writes of the previous lock holder.
  // The properties are read later too: before, another transaction could give a slot to a key of a
  // device.
  const [locked, rows, slotted] = await Promise.all([
    Promise.all(ids.map((id) => lock(tx, appId, id))),
    listAudienceRows(tx, appId, ids),
    listSlottedAndNumbered(tx, appId, []),
  ]);
  const rowOf = new Map(rows.map((row) => [row.deviceId, row]));
  const held = locked.flatMap((device) => {
    const row = device && rowOf.get(device.id);
    return device && row ? [{ device, row }] : [];
  });
  const asked = new Set(ids);
  const unlocked = ofUsers.filter(({ deviceId }) => !asked.has(deviceId));
  const isHeld = new Set(held.map(({ device }) => device.id));
  const busy = rows.filter(({ deviceId }) => !isHeld.has(deviceId));
  return new HeldDevices(context, [...unlocked, ...rows], held, busy, slotted);
}

export class HeldDevices {
  /** Devices that another transaction has locked, each with its user. */
  readonly busy: readonly DeviceOfUser[];
  readonly #context: HoldContext;
  readonly #held: Map<Uuid, HeldDevice>;
  readonly #slotted: readonly Property[];
  /** The devices of all users, with the links so far. */
  readonly #rows = new Map<Uuid, DeviceOfUser>();
  readonly #idsOf = new Map<string, Set<Uuid>>();
  readonly #changedIds = new Set<Uuid>();
  /** The locked devices that a push has reached. Undefined until a user has too many devices. */
  #reached: ReadonlySet<Uuid> | undefined;

  constructor(
    context: HoldContext,
    rows: readonly DeviceOfUser[],
    held: readonly HeldDevice[],
    busy: readonly DeviceOfUser[],
    slotted: readonly Property[],
  ) {
    this.#context = context;
    this.#held = new Map(held.map((each) => [each.device.id, each]));
    this.busy = busy;
    this.#slotted = slotted;
    for (const row of rows) this.put(row);
  }

  /** Finds a locked device. */
  find(id: Uuid): HeldDevice | undefined {
    return this.#held.get(id);
  }

  /** Lists the devices of all users, and the devices named beside them. */
  list(): Iterable<DeviceOfUser> {
    return this.#rows.values();
  }

  ownerOf(id: Uuid): string | null {
    return this.#rows.get(id)?.externalId ?? null;
  }

  /** Adds or replaces a device. */
  put(row: DeviceOfUser): void {
    const { deviceId, externalId } = row;
    const former = this.ownerOf(deviceId);
    if (former !== null) this.#idsOf.get(former)?.delete(deviceId);
    this.#rows.set(deviceId, row);
    if (externalId !== null) this.#idsOf.set(externalId, (this.#idsOf.get(externalId) ?? new Set()).add(deviceId));
  }

  /** Links a device to a user, or to nobody. */
  setOwner(id: Uuid, externalId: string | null): void {
    const row = this.#rows.get(id);
    if (row) this.put({ ...row, externalId });
  }

  /** Links a device to a user and makes room for it, unless it belongs to that user. */
  async link(externalId: string, id: Uuid): Promise<void> {
    if (this.ownerOf(id) === externalId) return;
    const theirs = [...(this.#idsOf.get(externalId) ?? [])].flatMap((each) => this.#rows.get(each) ?? []);
    for (const leaving of await listDevicesToUnlink(theirs, () => this.#listReached())) this.setOwner(leaving, null);
    this.setOwner(id, externalId);
  }

  /** A device that is not stored yet is not among them. */
  async #listReached(): Promise<ReadonlySet<Uuid>> {
    const { tx, appId } = this.#context;
    this.#reached ??= await listReached(tx, appId, [...this.#held.keys()]);
    return this.#reached;
  }

  /** Gives a locked device other properties, which the caller stores. */
  setProperties({ device, row }: HeldDevice, properties: StoredProperties): void {
    this.#held.set(device.id, { device: { ...device, properties }, row });
    this.#changedIds.add(device.id);
  }

  /**
   * Writes the links that differ from the stored ones. Copies profiles onto these devices, onto the
   * devices with other properties and onto the locked devices of `changedIds`. A profile that is not
   * in `users` is read. Returns the instant of new links, if there are any.
   */
  async write(users: ReadonlyMap<string, User>, changedIds: ReadonlySet<string> = new Set()): Promise<Date | null> {
    const { tx, clock, appId } = this.#context;
    const [linked, unlinked]: [Uuid[], Uuid[]] = [[], []];
    const byOwner = new Map<string | null, Device[]>();
    for (const [id, { device, row }] of this.#held) {
      const owner = this.ownerOf(id);
      const isMoved = owner !== row.externalId;
      if (isMoved) (owner === null ? unlinked : linked).push(id);
      if (!isMoved && !this.#changedIds.has(id) && (owner === null || !changedIds.has(owner))) continue;
      const theirs = byOwner.get(owner);
      if (theirs) theirs.push(device);
      else byOwner.set(owner, [device]);
    }
    const others = [...byOwner.keys()].filter((owner) => owner !== null && !users.has(owner)) as string[];
    const found = others.length === 0 ? [] : await findUsers(tx, appId, others);
    const profiles = new Map([...users, ...found.map((user) => [user.externalId, user] as const)]);
    // Sent together, so that none waits for the answer to another. The former links are read from the
    // rows before these change.
    const [identifiedAt] = await Promise.all([
      linked.length > 0 ? updateIdentified(tx, clock, appId, linked) : undefined,
      unlinked.length > 0 ? updateUnidentified(tx, appId, unlinked) : undefined,
      linked.length + unlinked.length > 0 ? insertFormerLinks(tx, clock, appId, [...linked, ...unlinked]) : undefined,
      ...[...byOwner].map(([owner, devices]) => {
        const user = owner === null ? undefined : profiles.get(owner);
        const profile = user ? { ...user, userId: user.id } : null;
        return writeCopies(tx, appId, { profile, devices, slotted: this.#slotted });
      }),
    ]);
    return identifiedAt ?? null;
  }
}
