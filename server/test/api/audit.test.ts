// Changes by API keys that the audit log records: erasures of people, and changes of segments
// (contract 19).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transaction } from '@carillon/postgres';
import { expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { listEntries } from '../../src/teams/audit/queries.ts';
import { recordAudit } from '../../src/teams/audit/record-audit.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

const ofKeys = async ({ id: appId }: TestApp) =>
  (await listEntries(t.sql, { appId, from: null, to: null, beforeId: null, limit: 100 }))
    .filter(({ actorKind }) => actorKind === 'key')
    .reverse();

it('names the key, its address and the former id of an erased user, and never the external id', async () => {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const { body: user } = await server.post('/v1/users', { external_id: 'anna@shop.example', first_name: 'Anna' });
  await t.registerDevice({}, app);
  expect((await server.delete('/v1/users/anna%40shop.example')).status).toBe(200);
  expect((await server.delete('/v1/users/anna%40shop.example')).status).toBe(404);
  const entries = await ofKeys(app);
  const [key] = await t.sql<{ id: string }[]>`SELECT id FROM keys WHERE app_id = ${app.id} AND scope = 'server'`;
  expect(entries).toEqual([
    {
      appId: app.id,
      id: expect.any(String),
      at: expect.any(Date),
      address: '127.0.0.1',
      actorKind: 'key',
      actorId: encodeId('key', key?.id ?? ''),
      actorName: 'Server key',
      action: 'user.erase',
      target: user.id,
      before: { devices: 0 },
      after: null,
    },
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/anna/i);
});

it('lists the entries of one change in the order in which they were written, newest first', async () => {
  const app = await t.newApp();
  const by = { kind: 'cli', id: null, name: 'anna', address: null } as const;
  const targets = Array.from({ length: 20 }, (_, i) => `part ${i}`);
  await transaction(t.sql, async (tx) => {
    for (const target of targets) {
      await recordAudit({ tx, clock: t.clock, by }, { appId: app.id, action: 'channel.set', target });
    }
  });
  const listed = await listEntries(t.sql, { appId: app.id, from: null, to: null, beforeId: null, limit: 100 });
  const written = listed.map(({ target }) => target).filter((target) => target?.startsWith('part '));
  expect(written).toEqual(targets.toReversed());
});

it('names the fields of a segment that a key makes, replaces or deletes, and no value that it compares with', async () => {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  await server.post('/v1/users', { external_id: 'u-1', properties: { email: 'anna@shop.example' } });
  const filter = { field: 'properties.email', op: 'eq', value: 'anna@shop.example' };
  const { body: segment } = await server.post('/v1/segments', { name: 'Anna alone', filter });
  const path = `/v1/segments/${segment.id}`;
  await server.put(path, { name: 'Anna alone', filter });
  await server.put(path, { name: 'Germans', filter: { field: 'country', op: 'eq', value: 'DE' } });
  await server.put(path, { name: 'Anna alone' });
  await server.delete(path);
  const entries = await ofKeys(app);
  const [first, second] = [
    { name: 'Anna alone', fields: ['properties.email'] },
    { name: 'Germans', fields: ['country'] },
  ];
  expect(entries.map(({ action, target, before, after }) => ({ action, target, before, after }))).toEqual([
    { action: 'segment.create', target: segment.id, before: null, after: first },
    { action: 'segment.replace', target: segment.id, before: first, after: second },
    { action: 'segment.delete', target: segment.id, before: second, after: null },
  ]);
  expect(JSON.stringify(entries)).not.toContain('anna@');
});

it('an entry is stored exactly when its change is', async () => {
  const app = await t.newApp();
  const change = { appId: app.id, action: 'app.plan', target: 'undone' } as const;
  const work = transaction(t.sql, async (tx) => {
    await recordAudit({ ...t, tx }, change);
    throw new Error('the change fails');
  });
  await expect(work).rejects.toThrow('the change fails');
  expect(await t.sql`SELECT FROM audit_entries WHERE target = 'undone'`).toHaveLength(0);
});

it('no statement of the service changes or deletes an entry', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const naming = files.filter((name) => /\baudit_entries\b/.test(readFileSync(join(src, name), 'utf8')));
  // The table of fields and roles names the columns and makes no statement.
  expect(naming.toSorted()).toEqual(['console/operations/field-roles.ts', 'teams/audit/queries.ts']);
  expect(readFileSync(join(src, 'console/operations/field-roles.ts'), 'utf8')).not.toMatch(
    /\b(SELECT|INSERT|UPDATE|DELETE|TRUNCATE)\b/,
  );
  const text = readFileSync(join(src, 'teams/audit/queries.ts'), 'utf8');
  expect(text).toMatch(/INSERT INTO audit_entries/);
  expect(text).not.toMatch(/\b(UPDATE|DELETE|TRUNCATE)\b/);
});
