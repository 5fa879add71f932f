// Parts of texts can be searched among the values of a column instead of on each device. Both ways
// must count the same devices.

import { type Tx, transaction } from '@carillon/postgres';
import { beforeAll, describe, expect, it } from 'vitest';
import { readOneSnapshot } from '../../../packages/postgres/src/db.ts';
import type { CheckedFilter } from '../../src/people/audience/check-filter.ts';
import { countAudience } from '../../src/people/audience/count-audience.ts';
import type { AudienceCount } from '../../src/people/audience/count-queries.ts';
import { compareWholeValues, type FewValuesLimits, fewValuesLimits } from '../../src/people/audience/few-values.ts';
import { buildIndex } from '../../src/people/audience/index-queries.ts';
import type { ResolvedAudience } from '../../src/people/audience/queries.ts';
import { resolveAudience } from '../../src/people/segments/resolve-audience.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const other = await t.newApp();

const cities = [
  'Hamburg',
  'hamburg',
  'Freiburg',
  'Burg',
  '',
  '100 %',
  'a_b',
  'back\\slash',
  'Århus',
  '東京',
  '😀 burg',
  'Graz',
];
const index = 'audience_by_text_01';

beforeAll(async () => {
  const add = async (app: typeof t.app, externalId: string, city: string | null): Promise<string> => {
    const deviceId = await t.registerDevice({}, app);
    const user = { external_id: externalId, device_id: deviceId, properties: { city } };
    expect((await t.clientOf(app.serverKey).post('/v1/users', user)).status).toBe(200);
    return deviceId;
  };
  for (const [i, city] of cities.entries()) {
    await add(t.app, `u-${i}`, city);
    if (i % 3 === 0) await add(t.app, `u-${i}`, city);
  }
  await add(t.app, 'nowhere', null);
  const gone = await add(t.app, 'gone', 'Lüneburg');
  expect((await t.server.delete(`/v1/devices/${gone}`)).status).toBe(200);
  await add(other, 'u-0', 'Salzburg');
  await buildIndex(t.sql, index, 'text_01');
  await t.sql`VACUUM ANALYZE audience`;
});

const small: FewValuesLimits = { ...fewValuesLimits, devicesMin: 0 };
const leaf = (op: string, value: string) => ({ field: 'properties.city', op, value });

/** Runs with the index in use, as in a large table. */
function inSnapshot<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return transaction(t.sql, async (tx) => {
    await readOneSnapshot(tx);
    await tx`SET LOCAL enable_seqscan = off`;
    return work(tx);
  });
}

const resolve = (tx: Tx, filter: object): Promise<ResolvedAudience> =>
  resolveAudience(tx, t.app.id, { filter } as Parameters<typeof resolveAudience>[2]);
const count = (tx: Tx, audience: ResolvedAudience): Promise<AudienceCount> =>
  countAudience({ tx, clock: t.clock, appId: t.app.id }, audience);
const rewrite = (tx: Tx, audience: ResolvedAudience, limits = small): Promise<ResolvedAudience> =>
  compareWholeValues({ tx, clock: t.clock, appId: t.app.id }, audience, limits);

/**
 * The values that replace each part, in the order of the filter; undefined: the part itself is
 * searched.
 */
function valuesIn(audience: ResolvedAudience): (readonly unknown[] | undefined)[] {
  const visit = (filter: CheckedFilter): (readonly unknown[] | undefined)[] => {
    if (filter.kind === 'leaf') return [filter.test.kind === 'is' ? filter.test.values : undefined];
    if (filter.kind === 'not') return visit(filter.node);
    return filter.kind === 'event' ? [] : filter.nodes.flatMap(visit);
  };
  return [audience.exclude, 'filter' in audience ? audience.filter : null].flatMap((one) => (one ? visit(one) : []));
}

describe("a part of a text that is searched among the column's values", () => {
  it.each([
    [leaf('contains', 'burg'), ['Freiburg', 'Hamburg', 'hamburg', '😀 burg']],
    [leaf('not_contains', 'burg'), ['Freiburg', 'Hamburg', 'hamburg', '😀 burg']],
    [leaf('ends_with', 'g'), ['Burg', 'Freiburg', 'Hamburg', 'hamburg', '😀 burg']],
    [leaf('contains', '%'), ['100 %']],
    [leaf('contains', '_'), ['a_b']],
    [leaf('contains', '\\'), ['back\\slash']],
    [leaf('ends_with', 'rhus'), ['Århus']],
    [leaf('contains', '京'), ['東京']],
    [leaf('contains', 'Salz'), []],
    [leaf('contains', 'Lüne'), []],
  ])('%j selects exactly %j', async (filter, values) => {
    await inSnapshot(async (tx) => {
      const audience = await resolve(tx, filter);
      const whole = await rewrite(tx, audience);
      expect(valuesIn(whole)).toEqual([values]);
      expect(await count(tx, whole)).toEqual(await count(tx, audience));
    });
  });

  it('counts the same at any place of a filter, and in an exclusion', async () => {
    await inSnapshot(async (tx) => {
      const part = leaf('contains', 'burg');
      const filter = {
        or: [{ not: part }, { and: [leaf('ends_with', 'z'), { field: 'device.platform', op: 'neq', value: 'ios' }] }],
      };
      const audience = await resolve(tx, filter);
      const left = await resolve(tx, leaf('contains', 'a'));
      const exclude = 'filter' in left ? left.filter : null;
      for (const one of [audience, { ...audience, exclude }]) {
        const whole = await rewrite(tx, one);
        expect(valuesIn(whole)).toContainEqual(['Graz']);
        expect(await count(tx, whole)).toEqual(await count(tx, one));
      }
    });
  });

  it('is searched on each device when there are many values, few devices, or no ordered index', async () => {
    const valuesWith = (limits: Partial<FewValuesLimits>) =>
      inSnapshot(async (tx) => {
        const audience = await resolve(tx, leaf('contains', 'burg'));
        return valuesIn(await rewrite(tx, audience, { ...small, ...limits }));
      });
    expect(await valuesWith({})).toEqual([expect.any(Array)]);
    expect(await valuesWith({ valuesMax: cities.length - 1 })).toEqual([undefined]);
    expect(await valuesWith({ devicesMin: 1_000 })).toEqual([undefined]);
    expect(await valuesWith({ msMax: -1 })).toEqual([undefined]);
    const undone = new Error('the index is needed again');
    await expect(
      inSnapshot(async (tx) => {
        await tx`DROP INDEX ${tx(index)}`;
        expect(valuesIn(await rewrite(tx, await resolve(tx, leaf('contains', 'burg'))))).toEqual([undefined]);
        throw undone;
      }),
    ).rejects.toBe(undone);
  });

  it('is counted in the same snapshot as its values', async () => {
    await inSnapshot(async (tx) => {
      const audience = await resolve(tx, leaf('contains', 'burg'));
      const before = await count(tx, audience);
      const whole = await rewrite(tx, audience);
      const deviceId = await t.registerDevice({});
      const user = { external_id: 'newcomer', device_id: deviceId, properties: { city: 'Magdeburg' } };
      expect((await t.server.post('/v1/users', user)).status).toBe(200);
      expect(await count(tx, whole)).toEqual(before);
      expect(await count(tx, audience)).toEqual(before);
    });
    const { body } = await t.server.post('/v1/segments/preview', { filter: leaf('ends_with', 'deburg') });
    expect(body).toMatchObject({ count: 1, users: 1 });
  });
});
