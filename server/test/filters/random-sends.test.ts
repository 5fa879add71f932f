// Random filters are saved, previewed and sent to at the sandbox. The devices that the preview
// counts, that get the push, and that an evaluator in memory selects must be the same. The
// evaluator knows only what was registered and tracked through the API.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { randomOf } from '../../../rig/src/filters/compare-filters.ts';
import { type Device, type Event, matches } from '../../../rig/src/filters/evaluate-filter.ts';
import {
  countries,
  eventNames,
  languages,
  numbers,
  randomFilter,
  texts,
} from '../../../rig/src/filters/random-filter.ts';
import { startSandbox } from '../channels/sandbox-process.ts';
import { setup } from '../setup.ts';

const sandbox = await startSandbox();
const t = await setup({ environment: { ...sandbox.environment } });
const runs = 28;
const seed = Number(process.env['FILTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const phones = 24;

interface Log {
  readonly records: readonly { readonly token: string; readonly notification: { readonly title: string } | null }[];
}

/**
 * Far from every duration that a filter may use, so that the time of the evaluation does not
 * matter.
 */
const agesMs = [10 * 60_000, 12 * 3_600_000, 30 * 3_600_000, 4 * 86_400_000, 20 * 86_400_000, 100 * 86_400_000];

interface People {
  /** The devices by token. */
  readonly devices: ReadonlyMap<string, Device>;
  readonly events: readonly Event[];
}

/**
 * An app with phones, users and events drawn by `random`. Everything is made by requests, except
 * the times.
 */
async function makePeople(random: () => number, now: Date) {
  const app = await t.newApp({ channels: false });
  const server = t.clientOf(app.serverKey);
  const account = await sandbox.call<{ project_id: string; client_email: string; private_key_id: string }>(
    ...(['POST', '/fcm/service-accounts', {}] as const),
  );
  const known = {
    projectId: account.project_id,
    clientEmail: account.client_email,
    privateKeyId: account.private_key_id,
  };
  await t.setCredential({ channel: 'fcm', public: known, secret: JSON.stringify(account) }, app);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const maybe = <Value>(values: readonly Value[]): Value | null => (random() < 0.35 ? null : pick(values));
  const ago = (): Date => new Date(now.getTime() - pick(agesMs));
  const request = async (path: string, body: object): Promise<{ id: string }> => {
    const answer = await server.post(path, body);
    expect([answer.status, answer.body.issues]).toEqual([200, undefined]);
    return answer.body;
  };
  // `__proto__` as an ordinary key.
  const drawProperties = (draw: typeof maybe) =>
    Object.fromEntries([
      ...['plan', '__proto__', 'far'].map((key) => [key, draw(texts)] as const),
      ...['age', 'far_number'].map((key) => [key, draw(numbers)] as const),
      ...['trial', 'far_flag'].map((key) => [key, draw([true, false])] as const),
    ]);
  // Every key is in the catalog, even if no device happens to have a value.
  await request('/v1/users', { external_id: 'catalog', properties: drawProperties(pick) });

  const users = new Map<string, ReadonlyMap<string, string | number | boolean | Date>>();
  for (const external_id of ['u-1', 'u-2', 'U-1', 'u-3']) {
    const fields = {
      first_name: maybe(texts),
      country: maybe(countries),
      language: maybe(languages),
      timezone: maybe(['Europe/Berlin', 'Asia/Tokyo']),
    };
    const properties = drawProperties(maybe);
    const { id } = await request('/v1/users', { external_id, ...fields, properties });
    expect(id).toMatch(/^usr_/);
    users.set(external_id, held({ external_id, ...fields, created_at: ago() }, properties));
  }

  const made = await sandbox.call<{ devices: { token: string }[] }>(
    ...(['POST', '/devices', { platform: 'android', count: phones }] as const),
  );
  const events: Event[] = [];
  const track = async (person: string, whose: { device_id?: string; external_id?: string }): Promise<void> => {
    const name = pick(eventNames);
    const at = ago();
    const properties: Record<string, unknown> = { amount: pick([0, 10, 50, 99.9]), currency: 'EUR' };
    if (random() < 0.6) properties['section'] = pick(['news', 'sport', 7, 'ex']);
    if (random() < 0.5) properties['gift'] = pick([true, false, null, 'true']);
    await request('/v1/events', { ...whose, name, occurred_at: at.toISOString(), properties });
    events.push({ person, name, at, properties });
  };
  const devices = new Map<string, Device>();
  for (const { token } of made.devices) {
    const facts = { locale: maybe(['de-DE', 'fr']), os: maybe(['iOS', 'Android']), app_version: maybe(texts) };
    const properties = drawProperties(maybe);
    const { id: device_id } = await request('/v1/devices', { platform: 'android', token, ...facts, properties });
    const owner = random() < 0.5 ? pick([...users.keys()]) : null;
    const person = owner ?? token;
    // Events before the first login count for the user who logs in. A user's events stay with that
    // user when the device changes hands.
    for (let i = random() * 2; i > 1; i--) await track(person, { device_id });
    if (owner !== null) {
      if (random() < 0.3) {
        const former = pick([...users.keys()]);
        await request('/v1/users', { external_id: former, device_id });
        await track(former, { device_id });
      }
      await request('/v1/users', { external_id: owner, device_id });
      if (random() < 0.5) await track(owner, { device_id });
    }
    const own = { platform: 'android', ...facts, created_at: ago(), last_seen_at: ago(), identified: owner !== null };
    const ofDevice = new Map([...held(own, properties)].map(([name, value]) => [nameOfDevice(name), value] as const));
    devices.set(token, { fields: new Map([...ofDevice, ...((owner && users.get(owner)) || [])]), person });
  }
  for (const external_id of users.keys())
    for (let i = random() * 4; i > 1; i--) await track(external_id, { external_id });
  // Sets the times of the past, which no request can set.
  for (const [token, { fields }] of devices) {
    const at = (name: string): Date | null => (fields.get(name) ?? null) as Date | null;
    await t.sql`
      UPDATE audience SET created_at = ${at('device.created_at')}, last_seen_at = ${at('device.last_seen_at')},
        user_created_at = ${at('created_at')}
      WHERE app_id = ${app.id} AND device_id = (SELECT id FROM devices WHERE app_id = ${app.id} AND token = ${token})`;
  }
  return { server, people: { devices, events } satisfies People };
}

function nameOfDevice(name: string): string {
  return name.startsWith('properties.') ? name : `device.${name}`;
}

/** Fields and properties that have a value, by the names that filters use. */
function held(fields: object, properties: object): Map<string, string | number | boolean | Date> {
  const named = [
    ...Object.entries(fields),
    ...Object.entries(properties).map(([key, value]) => [`properties.${key}`, value] as const),
  ];
  return new Map(named.filter(([, value]) => value !== null));
}

/** Filters that select some devices and not all, and a few of the others, which prove less. */
function drawFilters({ devices, events }: People, now: Date) {
  const drawn = fc.sample(randomFilter(now), { numRuns: 20 * runs, seed }).map((filter) => {
    const meant = [...devices].flatMap(([token, device]) => (matches(filter, device, events, now) ? [token] : []));
    return { filter, meant: meant.sort() };
  });
  const isTelling = ({ meant }: { meant: readonly string[] }) => meant.length > 0 && meant.length < devices.size;
  const others = drawn.filter((one) => !isTelling(one)).slice(0, runs / 7);
  return [...drawn.filter(isTelling).slice(0, runs - others.length), ...others];
}

it(`R-73 a filter that is saved, previewed and sent to reaches exactly the devices that the preview counted (${runs} filters, seed ${seed})`, async () => {
  const now = t.clock.date();
  const { server, people } = await makePeople(randomOf(seed), now);
  const filters = drawFilters(people, now);
  expect(filters).toHaveLength(runs);
  for (const [i, { filter, meant }] of filters.entries()) {
    const others = [...people.devices.keys()].filter((token) => !meant.includes(token)).sort();
    const { body: segment } = await server.post('/v1/segments', { name: `segment ${i}`, filter });
    const asked = JSON.stringify(filter);
    const counted = [];
    for (const named of [{ filter }, { segment_id: segment.id }, { audience: { filter } }]) {
      counted.push((await server.post('/v1/segments/preview', named)).body.count);
    }
    expect({ asked, counted }).toEqual({ asked, counted: counted.map(() => meant.length) });
    for (const [title, audience, tokens] of [
      [`in ${i}`, { audience: i % 2 === 0 ? { filter } : { segment_id: segment.id } }, meant],
      [`out ${i}`, { audience: { all: true }, exclude_segment_id: segment.id }, others],
    ] as const) {
      await sandbox.call('DELETE', '/log');
      const { body: message } = await server.post('/v1/messages', { ...audience, content: { title } });
      expect({ asked, ...message.report }).toMatchObject({ asked, accepted: tokens.length, sent: tokens.length });
      const { records } = await sandbox.call<Log>('GET', '/log');
      const reached = records.flatMap(({ token, notification }) => (notification?.title === title ? [token] : []));
      expect({ asked, reached: reached.sort() }).toEqual({ asked, reached: tokens });
    }
  }
});
