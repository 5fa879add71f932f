// Locales and filters that a process of an earlier version stored become canonical in the background.

import type { Tx } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { bringToCanonicalForm } from '../../src/operation/process/canonical-forms.ts';
import { lockSegments } from '../../src/people/segments/queries.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const pass = (devicesAtOnce?: number) => bringToCanonicalForm(t, devicesAtOnce);
const dayMs = 86_400_000;

/** Registers a device whose locale is written as an earlier version wrote it. */
async function deviceOf(locale: string | null, app = t.app): Promise<string> {
  const id = await t.registerDevice({ locale: 'de' }, app);
  await t.sql`UPDATE audience SET locale = ${locale} WHERE app_id = ${app.id} AND device_id = ${decodeId('dev', id) ?? null}`;
  return id;
}

async function localesOf(app = t.app): Promise<(string | null)[]> {
  const { body } = await t.clientOf(app.serverKey).get('/v1/devices?limit=100');
  return body.data.map((device: { locale: string | null }) => device.locale).reverse();
}

async function passesLeft(): Promise<number> {
  return (await t.sql`SELECT 1 FROM locale_passes`).length;
}

describe('locales in a former form', () => {
  it('are canonical after a pass, in every app, and filters select the same devices throughout', async () => {
    const other = await t.newApp();
    for (const locale of ['iw-IL', 'he-IL', null, 'en-UK', 'sh-RS', 'in', 'inh-RU', 'no-NO']) await deviceOf(locale);
    await deviceOf('zh-yue', other);
    await deviceOf('eng-US', other);
    const count = async (op: string, value: unknown): Promise<number> =>
      (await t.server.post('/v1/segments/preview', { filter: { field: 'device.locale', op, value } })).body.count;
    const filters: [op: string, value: unknown, devices: number][] = [
      ['eq', 'iw-IL', 2],
      ['eq', 'he-IL', 2],
      ['neq', 'he-IL', 6],
      ['in', ['id', 'sh-RS'], 2],
      ['starts_with', 'iw', 2],
      ['starts_with', 'he', 2],
      ['starts_with', 'he-', 2],
      ['starts_with', 'in', 2],
      ['contains', 'iw-', 2],
      ['not_contains', 'he', 6],
      ['contains', 'he-I', 2],
      ['ends_with', '-IL', 2],
    ];
    const counts = () => Promise.all(filters.map(async ([op, value]) => [op, value, await count(op, value)]));
    const { body: segment } = await t.server.post('/v1/segments', {
      name: 'Hebrew',
      filter: { field: 'device.locale', op: 'starts_with', value: 'iw' },
    });
    expect(await counts()).toEqual(filters);
    await pass(3);
    expect(await localesOf()).toEqual(['he-IL', 'he-IL', null, 'en-GB', 'sr-Latn-RS', 'id', 'inh-RU', 'no-NO']);
    expect(await localesOf(other)).toEqual(['yue', 'en-US']);
    expect(await counts()).toEqual(filters);
    expect((await t.server.post('/v1/segments/preview', { segment_id: segment.id })).body.count).toBe(2);
  });

  it('that a process of the version before writes after a pass are found by the last one, a week later', async () => {
    const app = await t.newApp();
    expect(await passesLeft()).toBe(4);
    await deviceOf('iw', app);
    await pass();
    expect(await localesOf(app)).toEqual(['iw']);
    t.clock.advance(dayMs + 1_000);
    await pass();
    expect(await localesOf(app)).toEqual(['he']);
    await deviceOf('ji-US', app);
    t.clock.advance(6 * dayMs);
    await pass();
    expect(await localesOf(app)).toEqual(['he', 'yi-US']);
    expect(await passesLeft()).toBe(0);
  });

  it('on a locked row leave the pass due, and no statement waits for it', async () => {
    const app = await t.newApp();
    await t.sql`INSERT INTO locale_passes (due_at) VALUES (now())`;
    await deviceOf('iw', app);
    const connection = await t.sql.reserve();
    try {
      await connection`BEGIN`;
      await connection`SELECT 1 FROM audience WHERE app_id = ${app.id} FOR UPDATE`;
      await pass();
      expect([await localesOf(app), await passesLeft()]).toEqual([['iw'], 1]);
    } finally {
      await connection`ROLLBACK`;
      connection.release();
    }
    await pass();
    expect([await localesOf(app), await passesLeft()]).toEqual([['he'], 0]);
  });

  it('change nothing that a delivery made before says of its device', async () => {
    const id = await deviceOf('iw-IL');
    const { body: sent } = await t.server.post('/v1/messages', {
      audience: { filter: { field: 'device.locale', op: 'eq', value: 'iw-IL' } },
      content: { title: 'Hi', body: 'there', locales: { he: { title: 'שלום' } } },
    });
    const explain = async () => (await t.server.get(`/v1/explain?message_id=${sent.id}&device_id=${id}`)).body;
    const before = await explain();
    expect(before.steps.map(({ step }: { step: string }) => step)).toContain('audience');
    await t.sql`INSERT INTO locale_passes (due_at) VALUES (now())`;
    await pass();
    expect((await t.server.get('/v1/devices?limit=1')).body.data[0].locale).toBe('he-IL');
    expect(await explain()).toEqual(before);
  });
});

describe('filters in a former form', () => {
  const former = { and: [{ field: 'device.locale', op: 'in', value: ['iw-IL', 'he-IL', 'en-UK'] }] };
  const canonical = { and: [{ field: 'device.locale', op: 'in', value: ['he-IL', 'en-GB'] }] };
  const content = { title: 'Hi', body: 'there' };

  /** A segment and a scheduled message whose filters are written as an earlier version wrote them. */
  async function storeFormer() {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.sql`INSERT INTO locale_passes (due_at) VALUES (now()) ON CONFLICT DO NOTHING`;
    const { body: segment } = await server.post('/v1/segments', { name: 'Hebrew', filter: canonical });
    const sendAt = new Date(t.clock.nowMs() + 3_600_000).toISOString();
    const { body: message } = await server.post('/v1/messages', {
      audience: { filter: canonical },
      content,
      send_at: sendAt,
    });
    await t.sql`UPDATE segments SET filter = ${JSON.stringify(former)}::text::json WHERE app_id = ${app.id}`;
    await t.sql`UPDATE messages SET audience = ${JSON.stringify({ filter: former })}::text::json WHERE app_id = ${app.id}`;
    const shown = async () => [
      (await server.get(`/v1/segments/${segment.id}`)).body.filter,
      (await server.get(`/v1/messages/${message.id}`)).body.audience.filter,
    ];
    return { app, server, segment, message, shown };
  }

  it('of segments and scheduled messages are canonical after a pass, and nobody is said to have changed them', async () => {
    const { server, segment, shown } = await storeFormer();
    expect(await shown()).toEqual([former, former]);
    await pass();
    expect(await shown()).toEqual([canonical, canonical]);
    const { body } = await server.get(`/v1/segments/${segment.id}`);
    expect(body).toEqual({ ...segment, filter: canonical });
  });

  it('select the same devices before and after a pass', async () => {
    const { app, server, segment } = await storeFormer();
    for (const locale of ['iw-IL', 'he-IL', 'en-UK', 'en-GB', 'fr']) await deviceOf(locale, app);
    const count = async () => (await server.post('/v1/segments/preview', { segment_id: segment.id })).body.count;
    const before = await count();
    await pass();
    expect([before, await count()]).toEqual([4, 4]);
  });

  it.each(['segments', 'messages'] as const)('of %s that are in use leave the pass due', async (table) => {
    const { app, shown } = await storeFormer();
    const connection = await t.sql.reserve();
    try {
      await connection`BEGIN`;
      if (table === 'segments') await lockSegments(connection as unknown as Tx, app.id);
      else await connection`SELECT 1 FROM messages WHERE app_id = ${app.id} FOR UPDATE`;
      await pass();
      expect(await shown()).toEqual(table === 'segments' ? [former, canonical] : [canonical, former]);
      expect(await passesLeft()).toBeGreaterThan(0);
    } finally {
      await connection`ROLLBACK`;
      connection.release();
    }
    await pass();
    expect(await shown()).toEqual([canonical, canonical]);
  });

  it('are stored in canonical form from the start', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const { body: segment } = await server.post('/v1/segments', { name: 'Hebrew', filter: former });
    const { body: sent } = await server.post('/v1/messages', { audience: { filter: former }, content });
    const { body: message } = await server.get(`/v1/messages/${sent.id}`);
    expect([segment.filter, message.audience.filter]).toEqual([canonical, canonical]);
  });
});
