import { describe, expect, it } from 'vitest';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

async function newShop() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const track = async (...events: object[]): Promise<void> => {
    expect((await server.post('/v1/events', { events })).status).toBe(200);
  };
  const count = async (filter: object): Promise<number> =>
    (await server.post('/v1/segments/preview', { filter })).body.count;
  const logIn = (external_id: string, device_id: string) => server.post('/v1/users', { external_id, device_id });
  return { app, server, track, count, logIn, register: () => t.registerDevice({}, app as TestApp) };
}

const minutesAgo = (minutes: number): string => new Date(t.clock.nowMs() - minutes * 60_000).toISOString();
const day = 1440;

describe('filters find events that were tracked', () => {
  it("at once, by device, by the device's user and by the user that the event names", async () => {
    const { register, track, count, logIn } = await newShop();
    const [anonymous, owned, other] = [await register(), await register(), await register()];
    await logIn('u-1', owned);
    await logIn('u-2', other);
    const read = { name: 'article_read' };
    expect(await count({ event: 'article_read' })).toBe(0);
    await track({ ...read, device_id: anonymous });
    expect(await count({ event: 'article_read' })).toBe(1);
    await track({ ...read, device_id: owned }, { ...read, external_id: 'u-2' });
    expect(await count({ event: 'article_read' })).toBe(3);
    expect(await count({ event: 'article_read', last: { op: 'within_last', value: '1m' } })).toBe(3);
    expect(await count({ not: { event: 'article_read' } })).toBe(0);
  });

  it('of an anonymous device for the user who logs in on it later, together with that user’s own', async () => {
    const { register, track, count, logIn } = await newShop();
    const device = await register();
    const second = await register();
    const buy = { name: 'purchase', properties: { amount: 60, currency: 'EUR' } };
    await track({ ...buy, device_id: device, occurred_at: minutesAgo(2 * day) });
    const twice = { event: 'purchase', count: { op: 'gte', value: 2 }, within: '90d' };
    expect(await count(twice)).toBe(0);
    await logIn('u-1', device);
    await logIn('u-1', second);
    await track({ ...buy, external_id: 'u-1' });
    expect(await count(twice)).toBe(2);
    const where = [{ field: 'properties.amount', op: 'gte', value: 50 }];
    expect(await count({ ...twice, where })).toBe(2);
    // The device gets another user: events without a user go along, and its former user's events do
    // not.
    await logIn('u-2', device);
    expect(await count(twice)).toBe(0);
    expect(await count({ event: 'purchase', count: { op: 'eq', value: 1 } })).toBe(2);
  });

  it('to the millisecond, in windows that begin within a day', async () => {
    const { register, track, count } = await newShop();
    const device = await register();
    const at = [10, 2 * day - 5, 2 * day + 5, 40 * day];
    await track(...at.map((minutes) => ({ name: 'a', device_id: device, occurred_at: minutesAgo(minutes) })));
    const within = async (duration: string): Promise<number[]> => {
      const found = [];
      for (let value = 0; value <= 5; value++) {
        if ((await count({ event: 'a', count: { op: 'eq', value }, within: duration })) === 1) found.push(value);
      }
      return found;
    };
    expect([
      await within('5m'),
      await within('1h'),
      await within('48h'),
      await within('3d'),
      await within('365d'),
    ]).toEqual([[0], [1], [2], [3], [4]]);
    expect(await count({ event: 'a', last: { op: 'before', value: minutesAgo(5) } })).toBe(1);
    expect(await count({ event: 'a', last: { op: 'after', value: minutesAgo(5) } })).toBe(0);
  });

  it('once when an event was sent twice', async () => {
    const { register, track, count } = await newShop();
    const event = { name: 'a', id: 'once', device_id: await register() };
    await track(event, event);
    await track(event);
    expect(await count({ event: 'a', count: { op: 'eq', value: 1 } })).toBe(1);
  });

  it('never for another app', async () => {
    const [one, two] = [await newShop(), await newShop()];
    await one.track({ name: 'a', device_id: await one.register(), external_id: 'u-1' });
    await two.logIn('u-1', await two.register());
    expect(await two.count({ event: 'a' })).toBe(0);
  });
});
