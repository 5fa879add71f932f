// An import must leave the same state as the same requests one after another, also while other
// requests run.
import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Client, setup, type TestApp } from '../setup.ts';
import { importInto } from './import-into.ts';

const t = await setup({ workers: false });

const importLines = (app: TestApp, lines: readonly object[]) =>
  importInto(t, app.id, Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));

const iosToken = (n: number): string => n.toString(16).padStart(64, '0');

async function all(client: Client, path: string): Promise<Record<string, unknown>[]> {
  const found = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await client.get(`${path}?limit=100${cursor && `&cursor=${cursor}`}`);
    found.push(...body.data);
    cursor = body.next_cursor;
  }
  return found;
}

/** Everything that the API tells about an app, except ids and times. */
async function tellAll(app: TestApp) {
  const server = t.clientOf(app.serverKey);
  const devices = (await all(server, '/v1/devices')).map(({ id, created_at, last_seen_at, ...device }) => device);
  const users = [];
  for (const externalId of new Set(devices.map((device) => device['external_id']))) {
    if (externalId === null) continue;
    const { id, created_at, updated_at, devices: theirs, ...user } = (await server.get(`/v1/users/${externalId}`)).body;
    users.push({ ...user, devices: theirs.length });
  }
  const properties = (await all(server, '/v1/properties')).map((property) => {
    const { first_seen_at, last_seen_at, last_conflict_at, users_count, samples, ...known } = property;
    return known;
  });
  const inOrder = <Item>(items: Item[]): Item[] =>
    items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  const reached = await server.post('/v1/segments/preview', {
    filter: { field: 'properties.plan', op: 'eq', value: 'pro' },
  });
  return { devices: inOrder(devices), users: inOrder(users), properties, reached: reached.body.count };
}

describe('an import', () => {
  it.each([1, 2, 3])('leaves the same state as the same requests, seed %i', async (seed) => {
    const { below } = createRandom(seed);
    const random = (): number => below(1000) / 1000;
    const pick = <Item>(...items: Item[]): Item => items[below(items.length)] as Item;
    const properties = () => ({
      [pick('plan', 'age', 'topic', 'vip')]: pick<unknown>('pro', 'free', 31, true, null),
      [pick('plan', 'age', 'city')]: pick<unknown>('pro', 7, 'Graz', null),
    });
    const lines = Array.from({ length: 150 }, () => {
      const device = {
        platform: 'ios',
        token: iosToken(below(60)),
        ...(random() < 0.5 && { locale: pick('de-DE', 'en', null) }),
        ...(random() < 0.3 && { app_version: pick('1', '2', null) }),
        ...(random() < 0.3 && { environment: pick('production', 'sandbox', null) }),
        ...(random() < 0.4 && { properties: random() < 0.1 ? null : properties() }),
      };
      const user = {
        ...(random() < 0.4 && { first_name: pick('Ada', 'Kim', null) }),
        ...(random() < 0.4 && { country: pick('de', 'AT', null) }),
        ...(random() < 0.6 && { properties: random() < 0.1 ? null : properties() }),
      };
      return {
        device: random() < 0.75 ? device : null,
        user: random() < 0.7 ? user : null,
        externalId: `u-${below(30)}`,
      };
    }).filter(({ device, user }) => device !== null || user !== null);

    const [asked, imported] = [await t.newApp(), await t.newApp()];
    const server = t.clientOf(asked.serverKey);
    for (const { device, user, externalId } of lines) {
      const registered = device && (await server.post('/v1/devices', device)).body;
      if (!user) continue;
      const { status } = await server.post('/v1/users', {
        ...user,
        external_id: externalId,
        ...(registered && { device_id: registered.id }),
      });
      expect(status).toBe(200);
    }
    const done = await importLines(
      imported,
      lines.map(({ device, user, externalId }) => {
        if (!device) return { ...user, external_id: externalId };
        return { ...device, ...(user && { external_id: externalId, user }) };
      }),
    );
    expect(done.rejected).toBe(0);
    expect(await tellAll(imported)).toEqual(await tellAll(asked));

    // The samples in the catalog are random, but must never be values that no device or user has
    // any more.
    const held = JSON.stringify(await tellAll(imported));
    for (const { samples } of await all(t.clientOf(imported.serverKey), '/v1/properties')) {
      const texts = (samples as unknown[]).filter((sample) => typeof sample === 'string');
      for (const text of texts) expect(held).toContain(`"${text}"`);
    }
  });

  it('leaves a user at most 100 active devices, the same that the same requests leave, and unlinks the others whole', async () => {
    t.clock.hold(t.clock.date());
    const [asked, imported] = [await t.newApp(), await t.newApp()];
    const bring = (app: TestApp, numbers: readonly number[]) =>
      importLines(
        app,
        numbers.map((n) => ({
          platform: 'ios',
          token: iosToken(n),
          external_id: 'u-1',
          user: { first_name: 'Ada' },
          created_at: new Date(t.clock.nowMs() - 3_600_000 + n * 1000).toISOString(),
        })),
      );
    const ask = async (numbers: readonly number[]): Promise<void> => {
      const server = t.clientOf(asked.serverKey);
      for (const n of numbers) {
        t.clock.advance(10);
        const { body } = await server.post('/v1/devices', { platform: 'ios', token: iosToken(n) });
        await server.post('/v1/users', { external_id: 'u-1', first_name: 'Ada', device_id: body.id });
      }
    };
    const linkedIn = async (app: TestApp): Promise<number[]> => {
      const rows = await t.sql<{ token: string }[]>`
        SELECT d.token FROM devices d JOIN audience a ON a.device_id = d.id
        WHERE a.app_id = ${app.id} AND a.external_id = 'u-1' ORDER BY d.token`;
      return rows.map(({ token }) => Number.parseInt(token, 16));
    };
    const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
    await Promise.all([bring(asked, numbers(1, 98)), bring(imported, numbers(1, 98))]);
    // No device was reached, so the oldest devices make room.
    await ask([101, 102, 103, 104]);
    await bring(imported, [101, 102, 103, 104]);
    expect(await linkedIn(imported)).toEqual([...numbers(3, 98), 101, 102, 103, 104]);
    expect(await linkedIn(asked)).toEqual(await linkedIn(imported));
    // All devices were reached: the one seen longest ago makes room for the first new one, and each
    // new one for the next.
    const apps = [asked.id, imported.id];
    await t.sql`UPDATE devices SET is_reached = true WHERE app_id = ANY(${apps}::uuid[])`;
    await ask([201, 202, 203]);
    await bring(imported, [201, 202, 203]);
    expect(await linkedIn(imported)).toEqual([...numbers(4, 98), 101, 102, 103, 104, 203]);
    expect(await linkedIn(asked)).toEqual(await linkedIn(imported));
    // A whole file of one user in one transaction.
    await bring(imported, numbers(1001, 1250));
    expect(await linkedIn(imported)).toEqual([...numbers(4, 98), 101, 102, 103, 104, 1250]);
    const unlinked = await t.sql`
      SELECT DISTINCT d.identified_at, a.user_id, a.first_name, a.active FROM devices d JOIN audience a ON a.device_id = d.id
      WHERE a.app_id = ${imported.id} AND a.external_id IS NULL`;
    expect(unlinked).toEqual([{ identifiedAt: null, userId: null, firstName: null, active: true }]);
  });

  it('R-63 makes one device of a token that is registered meanwhile', async () => {
    const app = await t.newApp();
    const client = t.clientOf(app.clientKey);
    const count = 600;
    const lines = Array.from({ length: count }, (_, n) => ({
      platform: 'ios',
      token: iosToken(n),
      external_id: `u-${n % 50}`,
    }));
    const register = async (from: number): Promise<void> => {
      for (let n = from; n < count; n += 7) {
        const { status } = await client.post('/v1/devices', { platform: 'ios', token: iosToken(n), locale: 'de' });
        expect(status).toBe(200);
      }
    };
    const [one, other] = await Promise.all([
      importLines(app, lines),
      importLines(app, lines.toReversed()),
      ...[0, 1, 2, 3].map(register),
    ]);
    expect([one.rejected, other.rejected]).toEqual([0, 0]);
    const [stored] = await t.sql<{ devices: number; tokens: number; rows: number; owned: number; people: number }[]>`
      SELECT (SELECT count(*) FROM devices WHERE app_id = ${app.id}) AS devices,
        (SELECT count(*) FROM device_tokens WHERE app_id = ${app.id}) AS tokens,
        (SELECT count(*) FROM audience WHERE app_id = ${app.id}) AS rows,
        (SELECT count(*) FROM audience WHERE app_id = ${app.id} AND external_id IS NOT NULL) AS owned,
        (SELECT count(*) FROM users WHERE app_id = ${app.id}) AS people`;
    expect(stored).toEqual({ devices: count, tokens: count, rows: count, owned: count, people: 50 });
  });

  it('imports a user again who is erased meanwhile', async () => {
    const app = await t.newApp();
    const lines = [{ platform: 'ios', token: iosToken(1), external_id: 'u-1', user: { first_name: 'Ada' } }];
    await importLines(app, lines);
    let importing: ReturnType<typeof importLines> | undefined;
    await transaction(t.sql, async (tx) => {
      await tx`DELETE FROM users WHERE app_id = ${app.id}`;
      await tx`DELETE FROM people WHERE app_id = ${app.id}`;
      importing = importLines(app, lines);
      await untilLockWaits(t.sql, 1, { text: 'FROM people' });
    });
    expect(await importing).toMatchObject({ rejected: 0, counts: { usersCreated: 1, devicesCreated: 0 } });
    expect((await t.clientOf(app.serverKey).get('/v1/users/u-1')).body.first_name).toBe('Ada');
  });

  it('moves the time of a device whose editable values it corrects, and of no other', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const stored = { environment: 'production', locale: 'de-DE', timezone: 'Europe/Berlin', properties: { size: 3 } };
    const others = [
      { ...stored, app_version: '2.0', external_id: 'u-1' },
      { ...stored, environment: 'sandbox' },
      { ...stored, locale: 'de-AT' },
      { ...stored, timezone: 'Europe/Vienna' },
      { ...stored, properties: { size: 4 } },
      { ...stored, properties: null },
    ];
    for (const n of others.keys()) await server.post('/v1/devices', { platform: 'ios', token: iosToken(n), ...stored });
    await t.sql`UPDATE devices SET mismatches = 2 WHERE app_id = ${app.id}`;
    await importLines(
      app,
      others.map((fields, n) => ({ platform: 'ios', token: iosToken(n), ...fields })),
    );
    const rows = await t.sql<{ isMoved: boolean; mismatches: number }[]>`
      SELECT changed_at > registered_at AS is_moved, mismatches FROM devices WHERE app_id = ${app.id} ORDER BY token`;
    expect(rows.map(({ isMoved, mismatches }) => [isMoved, mismatches])).toEqual([
      [null, 2],
      // The former results are about the former environment.
      [true, 0],
      [true, 2],
      [true, 2],
      [true, 2],
      [true, 2],
    ]);
  });

  it('counts a user as changed who has another profile after all rows, and no other', async () => {
    const app = await t.newApp();
    const lines = ['free', 'pro'].map((plan) => ({ external_id: 'u-1', properties: { plan } }));
    const { counts } = await importLines(app, lines);
    expect(counts).toMatchObject({ usersCreated: 1, usersUpdated: 0, usersUnchanged: 0 });
    const again = await importLines(app, lines);
    expect(again.counts).toMatchObject({ usersCreated: 0, usersUpdated: 0, usersUnchanged: 1 });
    const other = await importLines(app, lines.slice(0, 1));
    expect(other.counts).toMatchObject({ usersCreated: 0, usersUpdated: 1, usersUnchanged: 0 });
  });

  it("accepts a provider's “gone” for a device that has no date in the file", async () => {
    const app = await t.newApp();
    await importLines(app, [
      { platform: 'ios', token: iosToken(1) },
      { platform: 'ios', token: iosToken(2), created_at: '2024-01-01T00:00:00Z', last_seen_at: '2025-01-01T00:00:00Z' },
    ]);
    const rows = await t.sql<{ registeredAt: Date }[]>`
      SELECT registered_at FROM devices WHERE app_id = ${app.id} ORDER BY token`;
    expect(rows.map(({ registeredAt }) => registeredAt.toISOString())).toEqual([
      '2000-01-01T00:00:00.000Z',
      '2025-01-01T00:00:00.000Z',
    ]);
  });
});
