import { randomBytes } from 'node:crypto';
import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { breakIndex } from '../../../packages/postgres/test/database.ts';
import { createAppSizes } from '../../src/people/audience/column-uses.ts';
import { followUse } from '../../src/people/audience/follow-use.ts';
import { buildIndex, listFollowingIndexes, upsertFieldUses } from '../../src/people/audience/index-queries.ts';
import { type IndexLimits, indexLimits } from '../../src/people/audience/plan-indexes.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

/** Here every app counts as large. */
const follow = (limits: Partial<IndexLimits> = { devicesMin: 0 }): Promise<boolean> => {
  const sizes = createAppSizes({ sql: t.sql, clock: t.clock });
  const deps = { sql: t.sql, indexSql: t.sql, sizes, clock: t.clock, log: t.service.run.log };
  return followUse(deps, { ...indexLimits, ...limits });
};

const indexes = async (): Promise<string[]> =>
  (await t.sql`SELECT indexname::text AS name FROM pg_indexes WHERE indexname LIKE 'audience_by_%' ORDER BY 1`).map(
    (row) => String(row['name']),
  );
const isIndexed = async (key: string): Promise<boolean> =>
  (await t.server.get('/v1/properties')).body.data.find((one: { key: string }) => one.key === key).indexed;

describe('indexes follow use', () => {
  it("a segment's columns are indexed, visible in the catalog, until nothing uses them", async () => {
    await t.server.post('/v1/users', { external_id: 'u-1', properties: { plan: 'pro', age: 7 } });
    const filter = {
      or: [
        { field: 'properties.plan', op: 'eq', value: 'pro' },
        { field: 'country', op: 'eq', value: 'DE' },
        { event: 'purchase', where: [{ field: 'properties.age', op: 'exists' }] },
      ],
    };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Pro', filter });
    expect(await isIndexed('plan')).toBe(false);
    expect(await follow()).toBe(true);
    expect(await indexes()).toEqual(['audience_by_country', 'audience_by_text_01']);
    expect([await isIndexed('plan'), await isIndexed('age')]).toEqual([true, false]);
    await t.server.delete(`/v1/segments/${segment.id}`);
    await follow();
    expect(await indexes()).toEqual([]);
  });

  it('previews are noted once a minute, and their columns indexed for a week when they are repeated', async () => {
    const preview = () =>
      t.server.post('/v1/segments/preview', { filter: { field: 'properties.age', op: 'gt', value: 3 } });
    const noted = async (): Promise<number> =>
      (await t.sql`SELECT previews FROM field_uses WHERE field = 'properties.age'`)[0]?.['previews'] ?? 0;
    await preview();
    await preview();
    await expect.poll(noted).toBe(1);
    await upsertFieldUses(t.sql, t.clock, t.app.id, ['properties.age']);
    await follow();
    expect(await indexes()).toEqual([]);
    t.clock.advance(60_000);
    await preview();
    await expect.poll(noted).toBe(3);
    await follow();
    expect(await indexes()).toEqual(['audience_by_number_01']);
    t.clock.advance(8 * 86_400_000);
    await follow();
    expect(await indexes()).toEqual([]);
  });

  it('an index whose build was interrupted is built again', async () => {
    await t.sql`CREATE INDEX audience_by_country ON audience (app_id, country)`;
    await breakIndex(t.sql, 'audience_by_country');
    const filter = { field: 'country', op: 'eq', value: 'DE' };
    await t.server.post('/v1/segments', { name: 'Germans', filter });
    await follow();
    const [made] = await t.sql`
      SELECT i.indisvalid, i.indpred IS NOT NULL AS is_partial FROM pg_index i
      WHERE i.indexrelid = 'audience_by_country'::regclass`;
    expect({ ...made }).toEqual({ indisvalid: true, isPartial: true });
  });

  it.each([
    'app_id, country) INCLUDE (platform, user_block, user_bit',
    'app_id, country, user_block) INCLUDE (platform_unit, user_bit',
  ])('an index of a former kind (%s) is replaced by one with the columns that counts need', async (former) => {
    await t.sql`DROP INDEX audience_by_country`;
    await t.sql.unsafe(`CREATE INDEX audience_by_country ON audience (${former}) WHERE country IS NOT NULL AND active`);
    await follow();
    const [index] = await listFollowingIndexes(t.sql, 'audience_by_country');
    expect(index).toMatchObject({
      isValid: true,
      columns: ['app_id', 'country', 'platform_unit', 'user_id'],
    });
  });

  it('an index contains the columns that segments compare together, so that their count reads no row', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const properties = { city: 'Wien', age: 7, member: true };
    await server.post('/v1/users', { external_id: 'u-1', properties, device_id: await t.registerDevice({}, app) });
    const columnsOf = async (name: string) => (await listFollowingIndexes(t.sql, name))[0]?.columns.slice(2);
    const leaf = (field: string, value: unknown) => ({ field, op: 'eq', value });
    const save = async (name: string, filter: object) => (await server.post('/v1/segments', { name, filter })).body.id;
    const grown = {
      and: [leaf('properties.age', 7), { not: leaf('properties.city', 'Graz') }, leaf('device.platform', 'web')],
    };
    const first = await save('Grown', { or: [grown, grown] });
    await follow();
    expect(await columnsOf('audience_by_number_01')).toEqual(['platform_unit', 'user_id', 'text_01']);
    expect(await columnsOf('audience_by_text_01')).toEqual(['platform_unit', 'user_id', 'number_01']);
    // No index can count these filters alone: one has an event, one a field without an index, and
    // one an `or`. So no index carries a key for them.
    const others = [
      { and: [leaf('properties.city', 'Wien'), leaf('properties.member', true), { event: 'purchase' }] },
      {
        and: [
          leaf('properties.city', 'Wien'),
          leaf('properties.member', true),
          leaf('external_id', '\u{1F600} \\u0000'),
        ],
      },
      { or: [leaf('properties.city', 'Wien'), leaf('properties.member', true)] },
    ];
    const saved = await Promise.all(others.map((filter, i) => save(`Other ${i}`, filter)));
    expect(saved).not.toContain(undefined);
    await follow();
    expect(await columnsOf('audience_by_text_01')).toEqual(['platform_unit', 'user_id', 'number_01']);
    expect(await columnsOf('audience_by_bool_01')).toEqual(['platform_unit', 'user_id']);
    // Rows are not found by a key that the index only carries.
    await t.sql`DROP INDEX audience_by_number_01`;
    const { body: catalog } = await server.get('/v1/properties');
    expect(catalog.data.map((one: { key: string; indexed: boolean }) => [one.key, one.indexed])).toEqual([
      ...[
        ['age', false],
        ['city', true],
        ['member', true],
      ],
    ]);
    saved.push(await save('Members', { and: [leaf('properties.city', 'Wien'), leaf('properties.member', true)] }));
    await follow();
    expect(await columnsOf('audience_by_text_01')).toEqual(['platform_unit', 'user_id', 'bool_01', 'number_01']);
    await server.delete(`/v1/segments/${first}`);
    await follow();
    // An index is not built again to carry less.
    expect(await columnsOf('audience_by_text_01')).toEqual(['platform_unit', 'user_id', 'bool_01', 'number_01']);
    for (const id of saved) await server.delete(`/v1/segments/${id}`);
    await follow();
    expect(await columnsOf('audience_by_text_01')).toBeUndefined();
  });

  it('an index with a text column accepts the longest allowed texts', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    // Random texts that cannot be compressed.
    const long = (): string => randomBytes(768).toString('base64');
    const id = await t.registerDevice({}, app);
    const user = () => ({
      external_id: 'u-1',
      device_id: id,
      first_name: '語'.repeat(128),
      properties: { one: long(), two: long() },
    });
    expect((await server.post('/v1/users', user())).status).toBe(200);
    const filter = {
      and: ['properties.one', 'properties.two', 'first_name'].map((field) => ({ field, op: 'exists' })),
    };
    const { body: segment } = await server.post('/v1/segments', { name: 'Long', filter });
    await follow();
    const [index] = await listFollowingIndexes(t.sql, 'audience_by_text_01');
    expect(index?.columns).toEqual(expect.arrayContaining(['text_01', 'text_02', 'first_name']));
    expect((await server.post('/v1/users', user())).status).toBe(200);
    expect((await server.post('/v1/segments/preview', { filter })).body).toMatchObject({ count: 1, users: 1 });
    await server.delete(`/v1/segments/${segment.id}`);
    await follow();
  });

  it('an index that the server still builds for a dead process is neither dropped nor built again', async () => {
    const name = 'audience_by_language';
    const find = async () => (await listFollowingIndexes(t.sql, name))[0];
    await t.server.post('/v1/segments', { name: 'In German', filter: { field: 'language', op: 'eq', value: 'de' } });
    const { building, id } = await transaction(t.sql, async (tx) => {
      // A build waits for running writers.
      await tx`LOCK TABLE audience IN ROW EXCLUSIVE MODE`;
      const building = buildIndex(t.sql, name, 'language');
      await expect.poll(find).toMatchObject({ name, isValid: false, isBeingBuilt: true });
      expect(await follow()).toBe(true);
      const [row] = await t.sql<{ id: number }[]>`SELECT ${name}::regclass::oid::int8 AS id`;
      return { building, id: row?.id };
    });
    await building;
    await follow();
    expect(await find()).toMatchObject({ name, isValid: true, isBeingBuilt: false });
    expect(await t.sql`SELECT ${name}::regclass::oid::int8 AS id`).toMatchObject([{ id }]);
  });

  it('an index that cannot be built delays no other, and is built when it can be', async () => {
    await t.sql`CREATE TABLE audience_by_text_01 ()`;
    const filter = {
      and: [
        { field: 'properties.plan', op: 'eq', value: 'pro' },
        { field: 'first_name', op: 'eq', value: 'Ada' },
      ],
    };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Pro Adas', filter });
    await expect(follow()).rejects.toThrow(/already exists/);
    expect(await indexes()).toContain('audience_by_first_name');
    await t.sql`DROP TABLE audience_by_text_01`;
    await follow();
    expect(await indexes()).toContain('audience_by_text_01');
    await t.server.delete(`/v1/segments/${segment.id}`);
    await follow();
  });

  it('an app with few devices needs no index, until it has more', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await server.post('/v1/segments', { name: 'Tokyo', filter: { field: 'timezone', op: 'eq', value: 'Asia/Tokyo' } });
    for (let i = 0; i < 3; i++) await t.registerDevice({}, app);
    const hasIndex = async () => (await indexes()).includes('audience_by_user_timezone');
    await follow({ devicesMin: 4 });
    expect(await hasIndex()).toBe(false);
    await t.registerDevice({}, app);
    await follow({ devicesMin: 4 });
    expect(await hasIndex()).toBe(true);
  });

  it('a table never gets more indexes than allowed, whatever segments compare', async () => {
    const fields = ['country', 'language', 'first_name', 'timezone', 'device.os', 'device.model', 'device.sdk'];
    const filter = { or: fields.map((field) => ({ field, op: 'exists' })) };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Everything', filter });
    await follow({ devicesMin: 0, indexesMax: 4 });
    expect(await indexes()).toHaveLength(4);
    await follow({ devicesMin: 0, indexesMax: 2 });
    expect(await indexes()).toHaveLength(2);
    await t.server.delete(`/v1/segments/${segment.id}`);
    await follow();
  });

  it('two processes do not build the same index', async () => {
    const both = await Promise.all([follow(), follow()]);
    expect(both.filter((isDone) => isDone).length).toBeGreaterThanOrEqual(1);
    expect(await indexes()).toEqual(['audience_by_country', 'audience_by_language', 'audience_by_user_timezone']);
  });
});
