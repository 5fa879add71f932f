// Makes the events of a seeded app: believable events of the last weeks, for filters, reports and
// attribution to find. Pure and deterministic like the people. Events use separate random numbers,
// so that they do not change the people.
import { pick, type Random, randomOf, type SeededDevice, type SeededUser } from './population.ts';

export interface SeededEvent {
  readonly name: string;
  readonly daysAgo: number;
  readonly properties: Readonly<Record<string, string | number | boolean>>;
  /** Null: the event is no purchase. */
  readonly purchase: { readonly amount: string; readonly currency: string } | null;
}

/** Days. An app has partitions this far back from its first day on. */
const daysBackMax = 80;

/** Makes the events of one device. `user`: the user it belongs to; null: it has none. */
export function eventsOn(device: SeededDevice, user: Pick<SeededUser, 'country'> | null): SeededEvent[] {
  const random = randomOf(`${device.tokenSeed.toString('hex')} events`);
  const { ageDays, idleDays } = device;
  const events: SeededEvent[] = [];
  const add = (name: string, daysAgo: number, properties: SeededEvent['properties'] = {}): void => {
    if (daysAgo <= daysBackMax) events.push({ name, daysAgo, properties, purchase: null });
  };
  if (device.platform !== 'web') add('install', ageDays, { source: pick(random, sources) });
  // The last session is at the time when the device was last seen.
  const sessions = 1 + Math.floor(random() ** 3 * 4);
  for (let session = 0; session < sessions; session++) {
    const daysAgo = session === 0 ? idleDays : idleDays + (Math.min(ageDays, daysBackMax) - idleDays) * random() ** 2;
    add('session_start', daysAgo);
    for (const event of visitOf(random, user, daysAgo)) if (event.daysAgo <= daysBackMax) events.push(event);
  }
  return events;
}

const sources = ['search', 'search', 'friend', 'advert', 'shop'];
const minutesOfADay = 1440;

// Makes the events that follow a session's start, each some minutes later.
function visitOf(random: Random, user: Pick<SeededUser, 'country'> | null, daysAgo: number): SeededEvent[] {
  const later = (minutes: number): number => Math.max(0, daysAgo - minutes / minutesOfADay);
  if (random() < 0.4) {
    const properties = { section: pick(random, sections), seconds: 10 + Math.floor(random() * 240) };
    return [{ name: 'article_read', daysAgo: later(2), properties, purchase: null }];
  }
  if (random() < 0.5) return [];
  const product = pick(random, products);
  const seen = { product: product.name, category: product.category };
  const events: SeededEvent[] = [{ name: 'product_viewed', daysAgo: later(3), properties: seen, purchase: null }];
  if (user && random() < 0.3) {
    const currency = currencyOf[user.country ?? ''] ?? 'EUR';
    const amount = pick(random, [1, 1, 1, 2, 3]) * product.price;
    const cents = Math.round(amount * 100) / 100;
    const properties = { amount: cents, currency, ...seen, coupon: random() < 0.2 };
    events.push({ name: 'purchase', daysAgo: later(9), properties, purchase: { amount: String(cents), currency } });
  }
  return events;
}

const sections = ['news', 'sport', 'offers', 'weather', 'culture'];
const products = [
  { name: 'Trail shoes', category: 'shoes', price: 79.9 },
  { name: 'Sandals', category: 'shoes', price: 34.5 },
  { name: 'Garden shears', category: 'garden', price: 24.95 },
  { name: 'Tomato seeds', category: 'garden', price: 3.49 },
  { name: 'Cookbook', category: 'books', price: 29 },
  { name: 'Novel', category: 'books', price: 14.99 },
  { name: 'Pan', category: 'kitchen', price: 49 },
  { name: 'Headphones', category: 'music', price: 119 },
];
const currencyOf: Readonly<Record<string, string>> = {
  US: 'USD',
  GB: 'GBP',
  JP: 'JPY',
  BR: 'BRL',
  IN: 'INR',
  CH: 'CHF',
  PL: 'PLN',
  SE: 'SEK',
};
