// Writes a seeded population in bulk, a few thousand devices a transaction, two transactions at a time: one is made while
// the other is stored. What is there already stays as it is, so a seed may be repeated or enlarged.
import { insertAudienceRows } from '../audience/insert-many.ts';
import { copyProfile } from '../audience/profile-copy.ts';
import type { Platform } from '../channels/channel.ts';
import type { EndpointRules } from '../channels/webpush/endpoint.ts';
import { type DeviceToAdd, insertDevices, insertTokens } from '../devices/insert-many.ts';
import { type DeviceToken, parseToken } from '../devices/token.ts';
import { type EventToAdd, insertManyEvents } from '../events/insert-many.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { learnProperties, recordSightings } from '../properties/learn-properties.ts';
import type { Property, PropertyValue, StoredProperties } from '../properties/property.ts';
import { findPropertiesByKeys, listSlottedAndNumbered } from '../properties/queries.ts';
import { findKnownPeople, insertUsers, type UserToAdd } from '../users/insert-many.ts';
import { takeUserNumbers } from '../users/number-queries.ts';
import { CommandError } from './command-error.ts';
import { eventsOn } from './seed-events.ts';
import { personAt, type SeededDevice, type SeededPerson, sampleProperties } from './seed-population.ts';

export interface SeedPlan {
  readonly appId: Uuid;
  readonly seed: string;
  readonly devices: number;
  /** What new devices are bound to; null: the channel is not set. */
  readonly credentialIds: Readonly<Record<Platform, number | null>>;
  /** Which push hosts a subscription may name. */
  readonly rules: EndpointRules;
  /** The tokens of some devices, in their order. */
  readonly tokensOf: (devices: readonly SeededDevice[]) => Promise<readonly string[]>;
  /** Called after each transaction with the devices that are done. */
  readonly onProgress: (done: number) => void;
}

export interface Seeded {
  readonly devices: number;
  readonly users: number;
  readonly events: number;
  /** Devices of this seed that the app had before. */
  readonly known: number;
}

const devicesAtOnce = 2_500;
const transactionsAtOnce = 2;

export async function seedDevices({ sql, clock }: { sql: Sql; clock: Clock }, plan: SeedPlan): Promise<Seeded> {
  const byKey = await prepareCatalog(sql, clock, plan.appId);
  const total = { devices: 0, users: 0, events: 0, known: 0 };
  const chunks = chunksOf(plan);
  const work = async (): Promise<void> => {
    for (const chunk of chunks) {
      const tokens = await plan.tokensOf(chunk.flatMap((person) => person.devices));
      const added = await insertChunk(sql, clock, plan, byKey, chunk, tokens);
      total.devices += added.devices;
      total.users += added.users;
      total.events += added.events;
      total.known += tokens.length - added.devices;
      plan.onProgress(total.devices + total.known);
    }
  };
  // Both take from one generator, so no person is in two transactions.
  await Promise.all(Array.from({ length: transactionsAtOnce }, work));
  return total;
}

// Whole persons, but for the last one, whose devices end where the number asked for does.
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

/** The properties of the population as the app's catalog has them. */
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

// Values that the app's catalog knows under another type are left out, as an upsert would.
function store(properties: ReadonlyMap<string, PropertyValue>, byKey: SeedCatalog): StoredProperties {
  const stored: Record<string, PropertyValue> = {};
  for (const [key, value] of properties) {
    const property = byKey.get(key);
    if (property && property.type === typeof value) stored[property.id] = value;
  }
  return stored;
}

async function insertChunk(
  sql: Sql,
  clock: Clock,
  plan: SeedPlan,
  catalog: SeedCatalog,
  chunk: readonly SeededPerson[],
  tokens: readonly string[],
): Promise<{ devices: number; users: number; events: number }> {
  const nowMs = clock.nowMs();
  let next = 0;
  // Outside of the transaction, so that two of them do not follow each other.
  const usersCount = chunk.filter(({ user }) => user !== null).length;
  let number = usersCount === 0 ? 0 : await takeUserNumbers(sql, plan.appId, usersCount);
  const everybody = chunk.map(({ user, devices }) => {
    const prepared = devices.map((device) => prepareDevice(plan, catalog, device, tokens[next++] ?? '', nowMs));
    const firstAt = new Date(Math.min(...prepared.map((each) => each.add.createdAt.getTime())));
    return { user: user && prepareUser(user, catalog, firstAt, number++), devices: prepared };
  });
  const externalIds = everybody.flatMap(({ user }) => user?.externalId ?? []);
  return transaction(sql, async (tx: Tx) => {
    const known = await findKnownPeople(tx, plan.appId, externalIds);
    const people = everybody.filter(({ user }) => !user || !known.has(user.externalId));
    // Locks in the order that the migration of these tables names.
    const isNew = await insertTokens(
      tx,
      plan.appId,
      people.flatMap(({ devices }) => devices.map((each) => each.add)),
    );
    const users = people.flatMap(({ user }) => user ?? []);
    await insertUsers(tx, plan.appId, users);
    const added = people.flatMap(({ user, devices }) =>
      devices
        .filter((each) => isNew.has(each.add.id))
        .map((each) => ({ ...each, user, add: { ...each.add, identifiedAt: user && each.add.createdAt } })),
    );
    await insertDevices(
      tx,
      plan.appId,
      added.map((each) => each.add),
    );
    // Now and not before: keys may move from slot to slot while a great app is filled.
    const slotted = await listSlottedAndNumbered(tx, plan.appId, []);
    await insertAudienceRows(
      tx,
      plan.appId,
      added.map(({ add, facts, user }) => ({
        deviceId: add.id,
        platform: add.platform,
        facts,
        copy: copyProfile(user && { ...user, userId: user.id }, add.properties, slotted),
        createdAt: add.createdAt,
        lastSeenAt: add.registeredAt,
      })),
    );
    const events = added.flatMap((each) => prepareEvents(each, nowMs));
    await insertManyEvents(tx, plan.appId, events);
    return { devices: added.length, users: users.length, events: events.length };
  });
}

function prepareUser(
  user: NonNullable<SeededPerson['user']>,
  catalog: SeedCatalog,
  createdAt: Date,
  number: number,
): UserToAdd {
  return { ...user, id: mintUuid(createdAt.getTime()), number, properties: store(user.properties, catalog), createdAt };
}

const dayMs = 24 * 3_600_000;

function prepareDevice(plan: SeedPlan, catalog: SeedCatalog, device: SeededDevice, token: string, nowMs: number) {
  const { platform, facts, ageDays, idleDays } = device;
  const createdAt = new Date(Math.floor(nowMs - ageDays * dayMs));
  const add: DeviceToAdd = {
    id: mintUuid(createdAt.getTime()),
    platform,
    token: readToken(platform, token, plan.rules),
    credentialId: plan.credentialIds[platform],
    properties: store(device.properties, catalog),
    createdAt,
    registeredAt: new Date(Math.max(createdAt.getTime(), Math.floor(nowMs - idleDays * dayMs))),
    identifiedAt: null,
  };
  return { add, facts, device };
}

function prepareEvents(
  { device, add, user }: { device: SeededDevice; add: DeviceToAdd; user: UserToAdd | null },
  nowMs: number,
): EventToAdd[] {
  return eventsOn(device, user).map(({ name, daysAgo, properties, purchase }) => ({
    ...{ id: mintUuid(nowMs), subjectId: user?.id ?? add.id, hasSubject: true, name, purchase, properties },
    ...{ atMs: Math.floor(nowMs - daysAgo * dayMs), deviceId: add.id, externalId: user?.externalId ?? null },
    propertiesText: JSON.stringify(properties),
  }));
}

// The same judgement as a registration's: nothing is stored that the service would have refused.
function readToken(platform: SeededDevice['platform'], text: string, rules: EndpointRules): DeviceToken {
  const parsed = parseToken(platform, text, rules);
  if ('token' in parsed) return parsed.token;
  throw new CommandError(`A seeded token would be refused: ${parsed.issues[0]?.message}`);
}
