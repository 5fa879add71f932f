// The people of a seeded app and their devices. Pure and deterministic: the same seed gives the
// same person at the same number, in a population of any size. A larger population therefore begins
// with the smaller one.
import { hash } from 'node:crypto';
import type { DeviceFacts } from '../../people/audience/device-facts.ts';
import type { PropertyValue } from '../../people/properties/property.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import { type Region, regions } from './regions.ts';

export interface SeededPerson {
  /** Null: nobody has logged in on these devices. */
  readonly user: SeededUser | null;
  readonly devices: readonly SeededDevice[];
}

export interface SeededUser {
  readonly externalId: string;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: ReadonlyMap<string, PropertyValue>;
}

export interface SeededDevice {
  readonly platform: Platform;
  /** The push service of a browser; null: the device is a phone. */
  readonly vendor: Vendor | null;
  readonly facts: DeviceFacts;
  readonly properties: ReadonlyMap<string, PropertyValue>;
  /** Days since the device was first seen (`ageDays`) and last seen (`idleDays`). */
  readonly ageDays: number;
  readonly idleDays: number;
  /** Makes the token: 32 bytes that no other device of this seed has. */
  readonly tokenSeed: Buffer;
}

export type Vendor = 'fcm' | 'mozilla' | 'apple' | 'wns';

/**
 * Sample values of each property that seeded people and devices have, from which the catalog learns
 * the properties.
 */
export const sampleProperties: readonly ReadonlyMap<string, PropertyValue>[] = ['free', 'pro', 'team'].map(
  (plan, i) =>
    new Map<string, PropertyValue>([
      ['plan', plan],
      ['age', 24 + 9 * i],
      ['orders', 3 * i],
      ['spent', 59.7 * i],
      ['newsletter', i === 0],
      ['favorite', ['shoes', 'books', 'garden'][i] ?? ''],
      ['source', ['search', 'friend', 'advert'][i] ?? ''],
      ['topic', ['news', 'sport', 'offers'][i] ?? ''],
    ]),
);

/** Makes the person with this number; numbers begin at 0. */
export function personAt(seed: string, number: number): SeededPerson {
  const random = randomOf(`${seed} ${number}`);
  const home = pickWeighted(random, regions);
  const count = random() < 0.72 ? 1 : random() < 0.8 ? 2 : 3;
  const devices = Array.from({ length: count }, (_, i) => makeDevice(random, home, `${seed} ${number} ${i}`));
  return { user: random() < 0.78 ? makeUser(random, home, externalIdOf(seed, number)) : null, devices };
}

// The id contains the seed, so that two seeds in one app make different people.
function externalIdOf(seed: string, number: number): string {
  const group = hash('sha256', seed, 'hex').slice(0, 6);
  return `user-${group}-${String(number + 1).padStart(7, '0')}`;
}

function makeUser(random: Random, home: Region, externalId: string): SeededUser {
  const plan = pick(random, ['free', 'free', 'free', 'free', 'free', 'pro', 'pro', 'pro', 'team']);
  const orders = plan === 'free' ? Math.floor(random() * 4) : Math.floor(random() ** 2 * 40);
  const properties = new Map<string, PropertyValue>([
    ['plan', plan],
    ['orders', orders],
    // Rounded to cents, as shops count: two decimals.
    ['spent', Math.round(orders * (8 + random() * 90) * 100) / 100],
    ['newsletter', random() < 0.41],
    ['source', pick(random, ['search', 'search', 'friend', 'advert', 'shop'])],
  ]);
  // Not every person has every value, because filters must see missing values too.
  if (random() < 0.6) properties.set('age', 16 + Math.floor((random() + random()) * 32));
  if (orders > 0) properties.set('favorite', pick(random, ['shoes', 'books', 'garden', 'music', 'kitchen', 'games']));
  return {
    externalId,
    firstName: random() < 0.93 ? pick(random, home.names) : null,
    country: random() < 0.95 ? home.country : null,
    language: random() < 0.88 ? home.language : null,
    timezone: random() < 0.5 ? pickFirst(random, home.zones) : null,
    properties,
  };
}

function makeDevice(random: Random, home: Region, name: string): SeededDevice {
  const model = pickWeighted(random, models);
  const ageDays = random() ** 1.6 * 400;
  return {
    platform: model.platform,
    vendor: model.vendor ?? null,
    facts: {
      locale: random() < 0.96 ? home.locale : null,
      timezone: random() < 0.97 ? pickFirst(random, home.zones) : null,
      appVersion: pick(random, ['4.2.0', '4.2.0', '4.2.0', '4.1.3', '4.1.3', '4.0.0', '3.9.2', '4.3.0-beta.1']),
      sdk: model.platform === 'web' ? 'carillon-web 0.1.0' : `carillon-${model.platform} 0.1.0`,
      os: model.os,
      osVersion: pick(random, model.osVersions),
      model: model.model,
    },
    properties:
      random() < 0.15 ? new Map([['topic', pick(random, ['news', 'sport', 'offers', 'weather'])]]) : noProperties,
    ageDays,
    // Most devices are used every few days, and some hardly ever.
    idleDays: ageDays * random() ** 4,
    tokenSeed: hash('sha256', name, 'buffer'),
  };
}

const noProperties: ReadonlyMap<string, PropertyValue> = new Map();

interface Model {
  readonly platform: Platform;
  readonly vendor?: Vendor;
  readonly model: string;
  readonly os: string;
  readonly osVersions: readonly string[];
  readonly weight: number;
}

const models: readonly Model[] = [
  { platform: 'web', vendor: 'fcm', model: 'Chrome', os: 'Windows', osVersions: ['10', '11', '11'], weight: 15 },
  { platform: 'web', vendor: 'fcm', model: 'Chrome', os: 'Android', osVersions: ['13', '14', '15'], weight: 8 },
  { platform: 'web', vendor: 'fcm', model: 'Chrome', os: 'macOS', osVersions: ['14.7', '15.6'], weight: 4 },
  { platform: 'web', vendor: 'mozilla', model: 'Firefox', os: 'Linux', osVersions: ['6.12'], weight: 3 },
  { platform: 'web', vendor: 'mozilla', model: 'Firefox', os: 'Windows', osVersions: ['10', '11'], weight: 4 },
  { platform: 'web', vendor: 'apple', model: 'Safari', os: 'macOS', osVersions: ['15.6', '26.0'], weight: 5 },
  { platform: 'web', vendor: 'apple', model: 'Safari', os: 'iOS', osVersions: ['18.6', '26.0'], weight: 3 },
  { platform: 'web', vendor: 'wns', model: 'Edge', os: 'Windows', osVersions: ['11'], weight: 4 },
  { platform: 'ios', model: 'iPhone 15', os: 'iOS', osVersions: ['17.6', '18.6', '26.0'], weight: 9 },
  { platform: 'ios', model: 'iPhone 16 Pro', os: 'iOS', osVersions: ['18.6', '26.0'], weight: 8 },
  { platform: 'ios', model: 'iPhone SE', os: 'iOS', osVersions: ['16.7', '17.6'], weight: 3 },
  { platform: 'ios', model: 'iPad Air', os: 'iPadOS', osVersions: ['18.6', '26.0'], weight: 2 },
  { platform: 'android', model: 'Galaxy S24', os: 'Android', osVersions: ['14', '15'], weight: 10 },
  { platform: 'android', model: 'Galaxy A54', os: 'Android', osVersions: ['13', '14'], weight: 8 },
  { platform: 'android', model: 'Pixel 8', os: 'Android', osVersions: ['15', '16'], weight: 7 },
  { platform: 'android', model: 'Redmi Note 13', os: 'Android', osVersions: ['13', '14'], weight: 7 },
];

export type Random = () => number;

/**
 * The generator sfc32, seeded with a hash: fast, and the same on every machine. Not for secrets.
 */
export function randomOf(seed: string): Random {
  const state = hash('sha256', seed, 'buffer');
  let a = state.readInt32LE(0);
  let b = state.readInt32LE(4);
  let c = state.readInt32LE(8);
  let counter = 1;
  return () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

// Picks the first item half of the time, and otherwise any item by chance.
function pickFirst<Item>(random: Random, items: readonly Item[]): Item {
  return random() < 0.5 ? (items[0] as Item) : pick(random, items);
}

function pickWeighted<Item extends { readonly weight: number }>(random: Random, items: readonly Item[]): Item {
  let left = random() * items.reduce((sum, item) => sum + item.weight, 0);
  for (const item of items) {
    left -= item.weight;
    if (left < 0) return item;
  }
  return items.at(-1) as Item;
}
