// A small world of devices, users and events with missing values, mixed case, Unicode, and huge and
// tiny numbers. It is stored in the database as the product stores it, and in memory for the
// independent evaluator.
import { randomUUID } from 'node:crypto';
import type { Sql } from '@carillon/postgres';
import { mintUuid, type Uuid } from '../../../server/src/ground/values/ids.ts';
import { ensurePartitionsAt } from '../../../server/src/insight/events/partitions.ts';
import type { Property } from '../../../server/src/people/properties/property.ts';
import { insertRow } from '../insert-row.ts';
import type { Device, Event } from './evaluate-filter.ts';
import { countries, eventNames, languages, numbers, texts } from './random-filter.ts';

export interface World {
  readonly catalog: ReadonlyMap<string, Property>;
  readonly devices: ReadonlyMap<Uuid, Device>;
  readonly events: readonly Event[];
}

const catalogOf: readonly Property[] = [
  { id: 1, key: 'plan', type: 'string', slot: 1 },
  { id: 2, key: '__proto__', type: 'string', slot: 30 },
  { id: 3, key: 'far', type: 'string', slot: null },
  { id: 4, key: 'age', type: 'number', slot: 1 },
  { id: 5, key: 'far_number', type: 'number', slot: null },
  { id: 6, key: 'trial', type: 'boolean', slot: 1 },
  { id: 7, key: 'far_flag', type: 'boolean', slot: null },
];

/** Fills an app's tables with devices whose values `random` draws; times lie before `now`. */
export async function makeWorld(
  sql: Sql,
  appId: Uuid,
  now: Date,
  random: () => number,
  deviceCount: number,
): Promise<World> {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const maybe = <Value>(values: readonly Value[]): Value | null => (random() < 0.35 ? null : pick(values));
  const ago = (days: number): Date => new Date(now.getTime() - Math.floor(random() * days * 86_400_000));

  const users = ['u-1', 'u-2', 'U-1', 'u-3'].map((externalId) => ({
    id: randomUUID() as Uuid,
    externalId,
    createdAt: ago(60),
    firstName: maybe(texts),
    country: maybe(countries),
    language: maybe(languages),
    timezone: maybe(['Europe/Berlin', 'Asia/Tokyo']),
  }));
  const devices = new Map<Uuid, Device>();
  const personOf = new Map<Uuid, Uuid>();
  for (let i = 0; i < deviceCount; i++) {
    const user = random() < 0.5 ? pick(users) : null;
    const deviceId = mintUuid(now.getTime());
    const properties = {
      plan: maybe(texts),
      __proto__own: maybe(texts),
      far: maybe(texts),
      age: maybe(numbers),
      far_number: maybe(numbers),
      trial: maybe([true, false]),
      far_flag: maybe([true, false]),
    };
    const own = {
      platform: pick(['web', 'ios', 'android']),
      locale: maybe(['de-DE', 'fr']),
      os: maybe(['iOS', 'Android']),
      appVersion: maybe(texts),
      createdAt: ago(60),
      lastSeenAt: ago(40),
    };
    // Values without a slot are in the overflow under their key's number, each in its own JSON
    // type.
    const overflow = Object.fromEntries(
      Object.entries({ 3: properties.far, 5: properties.far_number, 7: properties.far_flag }).filter(
        ([, value]) => value !== null,
      ),
    );
    await insertRow(sql, 'audience', {
      app_id: appId,
      device_id: deviceId,
      active: true,
      created_at: own.createdAt,
      last_seen_at: own.lastSeenAt,
      platform: own.platform,
      locale: own.locale,
      os: own.os,
      app_version: own.appVersion,
      user_id: user?.id ?? null,
      external_id: user?.externalId ?? null,
      user_created_at: user?.createdAt ?? null,
      first_name: user?.firstName ?? null,
      country: user?.country ?? null,
      language: user?.language ?? null,
      user_timezone: user?.timezone ?? null,
      text_01: properties.plan,
      text_30: properties.__proto__own,
      number_01: properties.age,
      bool_01: properties.trial,
      overflow,
    });
    const fields = new Map<string, string | number | boolean | Date | null>([
      ...([
        ['properties.plan', properties.plan],
        ['properties.__proto__', properties.__proto__own],
        ['properties.far', properties.far],
        ['properties.age', properties.age],
        ['properties.far_number', properties.far_number],
        ['properties.trial', properties.trial],
        ['properties.far_flag', properties.far_flag],
        ['external_id', user?.externalId ?? null],
        ['first_name', user?.firstName ?? null],
        ['country', user?.country ?? null],
        ['language', user?.language ?? null],
        ['timezone', user?.timezone ?? null],
        ['created_at', user?.createdAt ?? null],
        ['device.platform', own.platform],
        ['device.locale', own.locale],
        ['device.os', own.os],
        ['device.app_version', own.appVersion],
        ['device.created_at', own.createdAt],
        ['device.last_seen_at', own.lastSeenAt],
        ['device.identified', user !== null],
      ] as const),
    ]);
    const held = new Map([...fields].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])));
    personOf.set(deviceId, user?.id ?? deviceId);
    devices.set(deviceId, { fields: held, person: user?.id ?? deviceId });
  }
  const events = await makeEvents(sql, appId, { users: users.map(({ id }) => id), personOf, pick, random, ago, now });
  return { catalog: new Map(catalogOf.map((one) => [one.key, one])), devices, events };
}

async function makeEvents(
  sql: Sql,
  appId: Uuid,
  given: {
    users: readonly Uuid[];
    personOf: ReadonlyMap<Uuid, Uuid>;
    pick: <Value>(values: readonly Value[]) => Value;
    random: () => number;
    ago: (days: number) => Date;
    now: Date;
  },
): Promise<Event[]> {
  const { users, personOf, pick, random, ago, now } = given;
  for (const daysAgo of [0, 20, 35]) {
    const nowMs = now.getTime();
    await ensurePartitionsAt(sql, { atMs: nowMs - daysAgo * 86_400_000, nowMs, waitMs: 10_000 });
  }
  const events: Event[] = [];
  const days = new Map<string, { name: string; subject: Uuid; day: string; count: number; lastAt: Date }>();
  const add = async (subject: Uuid, person: Uuid, name: string, at: Date): Promise<void> => {
    const properties: Record<string, unknown> = {};
    if (random() < 0.7) properties['amount'] = pick([0, 10, 50, 99.9, '50', null]);
    if (random() < 0.6) properties['section'] = pick(['news', 'sport', 7, 'ex']);
    if (random() < 0.5) properties['gift'] = pick([true, false, null, 'true']);
    await sql`
      INSERT INTO events (app_id, subject_id, id, name, at, properties)
      VALUES (${appId}, ${subject}, ${mintUuid(now.getTime())}, ${name}, ${at}, ${sql.json(properties as never)})`;
    events.push({ person, name, at, properties });
    const day = at.toISOString().slice(0, 10);
    const key = `${name} ${subject} ${day}`;
    const counted = days.get(key) ?? { name, subject, day, count: 0, lastAt: at };
    days.set(key, { ...counted, count: counted.count + 1, lastAt: at > counted.lastAt ? at : counted.lastAt });
  };
  // Events of users, events of anonymous devices (some of which have a user now), and events
  // without a user.
  for (const user of users) for (let i = random() * 4; i > 0; i--) await add(user, user, pick(eventNames), ago(35));
  for (const [deviceId, person] of personOf) {
    for (let i = random() * 3; i > 0; i--) await add(deviceId, person, pick(eventNames), ago(pick([0.5, 2, 35])));
  }
  const nobody = randomUUID() as Uuid;
  await add(nobody, nobody, 'purchase', ago(1));
  for (const { name, subject, day, count, lastAt } of days.values()) {
    await sql`
      INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
      VALUES (${appId}, ${name}, ${subject}, ${day}::date, ${count}, ${lastAt})`;
  }
  return events;
}
