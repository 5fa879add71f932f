// Writes a seeded population in bulk: some hundred devices a transaction, three transactions at a
// time, so that one is made while the others are stored. Existing devices stay unchanged, so a seed
// may be repeated or enlarged.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type EventToAdd, insertManyEvents } from '../../insight/events/insert-many.ts';
import { createKnownProperties, type KnownProperties } from '../../insight/events/known-properties.ts';
import { insertAudienceRows } from '../../people/audience/insert-many.ts';
import { copyProfile } from '../../people/audience/profile-copy.ts';
import { type DeviceToAdd, insertDevices, insertTokens } from '../../people/devices/insert-many.ts';
import type { DeviceToken } from '../../people/devices/token.ts';
import { learnProperties, recordSightings } from '../../people/properties/learn-properties.ts';
import type { Property, PropertyValue, StoredProperties } from '../../people/properties/property.ts';
import { findPropertiesByKeys, listSlottedAndNumbered } from '../../people/properties/queries.ts';
import { findKnownPeople, insertUsers, type UserToAdd } from '../../people/users/insert-many.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import { eventsOn } from './events.ts';
import { personAt, type SeededDevice, type SeededPerson, sampleProperties } from './population.ts';

export interface SeedPlan {
  readonly appId: Uuid;
  readonly seed: string;
  readonly devices: number;
  /**
   * The credential that new devices of each platform are bound to; null: the channel is not set.
   */
  readonly credentialIds: Readonly<Record<Platform, number | null>>;
  /** Resolves with the tokens of these devices, in order, in the form that a registration takes. */
  readonly tokensOf: (devices: readonly SeededDevice[]) => Promise<readonly DeviceToken[]>;
  /** Called after each transaction with the number of devices that are done. */
  readonly onProgress: (done: number) => void;
}

export interface Seeded {
  readonly devices: number;
  readonly users: number;
  readonly events: number;
  /** Devices of this seed that the app had before. */
  readonly known: number;
}

/** Shared by all transactions of a seed. */
interface Seeding {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly plan: SeedPlan;
  readonly catalog: SeedCatalog;
  readonly eventProperties: KnownProperties;
}

const devicesAtOnce = 800;
const transactionsAtOnce = 3;

export async function seedDevices({ sql, clock }: { sql: Sql; clock: Clock }, plan: SeedPlan): Promise<Seeded> {
  const catalog = await prepareCatalog(sql, clock, plan.appId);
  const seeding = { sql, clock, plan, catalog, eventProperties: createKnownProperties() };
  const total = { devices: 0, users: 0, events: 0, known: 0 };
  const chunks = chunksOf(plan);
  const work = async (): Promise<void> => {
    for (const chunk of chunks) {
      const tokens = await plan.tokensOf(chunk.flatMap((person) => person.devices));
      const added = await insertChunk(seeding, chunk, tokens);
      total.devices += added.devices;
      total.users += added.users;
      total.events += added.events;
      total.known += tokens.length - added.devices;
      plan.onProgress(total.devices + total.known);
    }
  };
  // All workers take chunks from one generator, so no person is in two transactions.
  await Promise.all(Array.from({ length: transactionsAtOnce }, work));
  return total;
}

// A chunk contains all devices of its persons. Only the last person may lack devices, when the
// requested number is reached.
function* chunksOf({ seed, devices }: SeedPlan): Generator<SeededPerson[]> {
  let left = devices;
  for (let number = 0; left > 0; ) {
    const chunk: SeededPerson[] = [];
    for (let size = 0; size < devicesAtOnce && left > 0; number++) {
      const person = personAt(seed, number);
      const kept = person.devices.slice(0, left);
      chunk.push({ ...person, devices: kept });
      size += kept.length;
      left -= kept.length;
    }
    yield chunk;
  }
}

/** The properties of the population by key, as the app's catalog has them. */
type SeedCatalog = ReadonlyMap<string, Property>;

async function prepareCatalog(sql: Sql, clock: Clock, appId: Uuid): Promise<SeedCatalog> {
  for (const given of sampleProperties) {
    await transaction(sql, async (tx) => {
      const learned = await learnProperties(tx, clock, { appId, given, mayAdd: true });
      await recordSightings(tx, clock, appId, learned);
    });
  }
  const [sample] = sampleProperties;
  const found = await findPropertiesByKeys(sql, appId, [...(sample?.keys() ?? [])]);
  return new Map(found.map((property) => [property.key, property]));
}

// Omits values whose key has another type in the app's catalog, as an upsert does.
function store(properties: ReadonlyMap<string, PropertyValue>, byKey: SeedCatalog): StoredProperties {
  const stored: Record<string, PropertyValue> = {};
  for (const [key, value] of properties) {
    const property = byKey.get(key);
    if (property && property.type === typeof value) stored[property.id] = value;
  }
  return stored;
}

async function insertChunk(
  { sql, clock, plan, catalog, eventProperties }: Seeding,
  chunk: readonly SeededPerson[],
  tokens: readonly DeviceToken[],
): Promise<{ devices: number; users: number; events: number }> {
  const { appId } = plan;
  const nowMs = clock.nowMs();
  let nextToken = 0;
  const everybody = chunk.map(({ user: person, devices }) => {
    const user = person && prepareUser(person, devices, catalog, nowMs);
    return devices.map((device) => prepareDevice(plan, catalog, device, user, tokens[nextToken++], nowMs));
  });
  const externalIds = everybody.flatMap(([first]) => first?.user?.externalId ?? []);
  const done = await transaction(sql, async (tx: Tx) => {
    const known = await findKnownPeople(tx, appId, externalIds);
    const people = everybody.filter(([first]) => !first?.user || !known.has(first.user.externalId));
    const claimed = people.flat();
    // Locks are taken in the order that the migration of these tables names.
    const isNew = await insertTokens(
      tx,
      appId,
      claimed.map(({ add }) => add),
    );
    const users = people.flatMap(([first]) => first?.user ?? []);
    await insertUsers(tx, appId, users);
    const added = isNew.size === claimed.length ? claimed : claimed.filter(({ add }) => isNew.has(add.id));
    await insertDevices(
      tx,
      appId,
      added.map(({ add }) => add),
    );
    // The slots are read here and not earlier, because keys may move while a large app is filled.
    const slotted = await listSlottedAndNumbered(tx, appId, []);
    await insertAudienceRows(
      tx,
      appId,
      added.map(({ add, device, user }) => ({
        deviceId: add.id,
        platform: add.platform,
        facts: device.facts,
        copy: copyProfile(user && { ...user, userId: user.id }, add.properties, slotted),
        createdAt: add.createdAt,
        lastSeenAt: add.registeredAt,
      })),
    );
    const events = added.flatMap((each) => prepareEvents(each, nowMs));
    const found = await insertManyEvents(tx, appId, events, eventProperties);
    return { devices: added.length, users: users.length, events: events.length, found };
  });
  eventProperties.note(appId, done.found);
  return done;
}

const dayMs = 24 * 3_600_000;
const daysBefore = (nowMs: number, days: number): number => Math.floor(nowMs - days * dayMs);

// Ids are minted now, as for an app that was moved here. Rows in the order of their ids lie side by
// side on disk, so that a million rows write each page of an index once.
function prepareUser(
  user: NonNullable<SeededPerson['user']>,
  devices: readonly SeededDevice[],
  catalog: SeedCatalog,
  nowMs: number,
): UserToAdd {
  const createdAt = new Date(daysBefore(nowMs, Math.max(...devices.map(({ ageDays }) => ageDays))));
  return { ...user, id: mintUuid(nowMs), properties: store(user.properties, catalog), createdAt };
}

interface PreparedDevice {
  readonly device: SeededDevice;
  readonly add: DeviceToAdd;
  readonly user: UserToAdd | null;
}

function prepareDevice(
  { credentialIds }: SeedPlan,
  catalog: SeedCatalog,
  device: SeededDevice,
  user: UserToAdd | null,
  token: DeviceToken | undefined,
  nowMs: number,
): PreparedDevice {
  if (!token) throw new Error('a device got no token');
  const { platform, ageDays, idleDays } = device;
  const createdMs = daysBefore(nowMs, ageDays);
  const createdAt = new Date(createdMs);
  const add = {
    id: mintUuid(nowMs),
    platform,
    token,
    credentialId: credentialIds[platform],
    properties: store(device.properties, catalog),
    createdAt,
    registeredAt: new Date(Math.max(createdMs, daysBefore(nowMs, idleDays))),
    identifiedAt: user && createdAt,
    // The app is in the middle of its life: pushes have reached its devices.
    isReached: true,
  };
  return { device, add, user };
}

function prepareEvents({ device, add, user }: PreparedDevice, nowMs: number): EventToAdd[] {
  const subjectId = user?.id ?? add.id;
  const externalId = user?.externalId ?? null;
  return eventsOn(device, user).map(({ name, daysAgo, properties, purchase }) => ({
    id: mintUuid(nowMs),
    subjectId,
    hasSubject: true,
    name,
    purchase,
    properties,
    atMs: daysBefore(nowMs, daysAgo),
    deviceId: add.id,
    externalId,
    propertiesText: JSON.stringify(properties),
  }));
}
