// Segments in the console: changes that mind what others saved, what uses a segment, and counts
// that end when nobody waits for them.
import { describe, expect, it } from 'vitest';
import { listLockWaits, untilLockWaits } from '../lock-waits.ts';
import { setup, unknownId } from '../setup.ts';
import { origin, signIn } from './console.ts';

const t = await setup();
const viewer = await signIn(t, 'viewer');
const member = await signIn(t, 'member');
const admin = await signIn(t, 'admin');
const { body: made } = await admin.send('POST', '/apps', { name: 'Segmented' });
const server = t.clientOf(made.server_key);
const at = (path: string): string => `/apps/${made.id}${path}`;
const german = { field: 'country', op: 'eq', value: 'DE' };
const later = () => new Date(t.clock.nowMs() + 3_600_000).toISOString();

const deviceOf = async (properties: object = {}): Promise<string> =>
  (await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription(), properties })).body.id;
for (const [externalId, country, firstName] of [
  ['u-1', 'DE', 'Ada'],
  ['u-2', 'DE', 'Ben'],
  ['u-3', 'FR', 'Ada'],
] as const) {
  const profile = { external_id: externalId, country, first_name: firstName };
  await server.post('/v1/users', { ...profile, device_id: await deviceOf({ plan: 'pro', age: 30 }) });
}

const actionsOn = async (target: string): Promise<string[]> => {
  const rows = await t.sql<{ action: string; by: string }[]>`
    SELECT action, actor_name AS by FROM audit_entries WHERE target = ${target} ORDER BY id`;
  return rows.map(({ action, by }) => `${action} ${by}`);
};
const make = async (name: string, filter: object = german) =>
  (await member.send('POST', at('/segments'), { name, filter })).body;

describe('a segment', () => {
  it('is made and saved by a member, read by a viewer without values, and deleted by an admin', async () => {
    expect((await viewer.send('POST', at('/segments'), { name: 'No', filter: german })).status).toBe(403);
    const segment = await make('Germans');
    expect(segment).toMatchObject({ name: 'Germans', valid: true, fields: ['country'] });
    const { body: stored } = await server.get(`/v1/segments/${segment.id}`);
    expect((await member.send('GET', at(`/segments/${segment.id}`))).body).toEqual(stored);
    const withoutValue = { ...stored, filter: { field: 'country', op: 'eq' } };
    expect((await viewer.send('GET', at(`/segments/${segment.id}`))).body).toEqual(withoutValue);
    const filter = { and: [german, { field: 'properties.plan', op: 'neq', value: 'free' }] };
    const saved = await member.send('PATCH', at(`/segments/${segment.id}`), { updated_at: segment.updated_at, filter });
    expect(saved.body).toMatchObject({ name: 'Germans', filter, fields: ['country', 'properties.plan'] });
    expect((await member.send('DELETE', at(`/segments/${segment.id}`))).status).toBe(403);
    expect((await admin.send('DELETE', at(`/segments/${segment.id}`))).body).toEqual({ id: segment.id, deleted: true });
    expect((await viewer.send('GET', at(`/segments/${segment.id}`))).status).toBe(404);
    expect(await actionsOn(segment.id)).toEqual([
      `segment.create ${member.email}`,
      `segment.replace ${member.email}`,
      `segment.delete ${admin.email}`,
    ]);
  });

  it('that somebody else saved meanwhile is not overwritten: the answer shows it as it is now', async () => {
    const segment = await make('Raced');
    const path = at(`/segments/${segment.id}`);
    const first = await member.send('PATCH', path, { updated_at: segment.updated_at, name: 'First' });
    expect(first.status).toBe(200);
    const second = await admin.send('PATCH', path, { updated_at: segment.updated_at, name: 'Second' });
    expect(second).toMatchObject({ status: 400, body: { error: 'changed_meanwhile', present: { name: 'First' } } });
    expect((await member.send('GET', path)).body).toEqual(first.body);
    // Two who save the same state at once: one of them is told.
    const seen = first.body.updated_at;
    const answers = await Promise.all([
      member.send('PATCH', path, { updated_at: seen, name: 'Third' }),
      admin.send('PATCH', path, { updated_at: seen, name: 'Fourth' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('that no longer fits the catalog can still be renamed', async () => {
    const segment = await make('Pros', { field: 'properties.shoe', op: 'eq', value: 'x' });
    expect(segment.issues).toMatchObject([{ code: 'unknown_property' }]);
    await deviceOf({ shoe: 'x' });
    const fitting = await make('Pros', { field: 'properties.shoe', op: 'eq', value: 'x' });
    await admin.send('DELETE', at('/properties/shoe'));
    const renamed = await member.send('PATCH', at(`/segments/${fitting.id}`), {
      updated_at: fitting.updated_at,
      name: 'Former pros',
    });
    expect(renamed.body).toMatchObject({ name: 'Former pros', valid: false, invalid_reason: 'unknown_property' });
  });

  it('has a name that no other segment may have, and an unknown segment is 404', async () => {
    await make('Taken');
    const other = await make('Other');
    const path = at(`/segments/${other.id}`);
    const taken = await member.send('PATCH', path, { updated_at: other.updated_at, name: 'Taken' });
    expect(taken.body.issues).toMatchObject([{ path: ['name'], code: 'name_taken' }]);
    const unknown = at(`/segments/${unknownId('seg')}`);
    expect((await member.send('PATCH', unknown, { updated_at: other.updated_at, name: 'x' })).status).toBe(404);
    expect((await viewer.send('GET', `${unknown}/uses`)).status).toBe(404);
  });

  it('names the scheduled messages that keep it, as audience and as exclusion, and drafts to members', async () => {
    const segment = await make('Used');
    const path = at(`/segments/${segment.id}`);
    const send = async (fields: object): Promise<string> =>
      (await server.post('/v1/messages', { content: { title: 'Sale' }, send_at: later(), ...fields })).body.id;
    const wanted = await send({ name: 'To them', audience: { segment_id: segment.id } });
    const without = await send({ audience: { all: true }, exclude_segment_id: segment.id });
    const draft = { name: 'Winter', message: { audience: { segment_id: segment.id } } };
    const kept = (await member.send('POST', at('/drafts'), draft)).body.id;
    expect((await member.send('GET', `${path}/uses`)).body.drafts).toEqual([
      { id: kept, name: 'Winter', excludes: false },
    ]);
    const uses = await viewer.send('GET', `${path}/uses`);
    expect(uses.body.drafts).toEqual([]);
    expect(uses.body.messages).toMatchObject([
      { id: wanted, name: 'To them', title: 'Sale', excludes: false },
      { id: without, name: null, title: 'Sale', excludes: true },
    ]);
    expect((await admin.send('DELETE', path)).body.issues[0]).toMatchObject({ code: 'in_use' });
    for (const id of [wanted, without]) await server.post(`/v1/messages/${id}/cancel`, {});
    expect((await viewer.send('GET', `${path}/uses`)).body.messages).toEqual([]);
    expect((await admin.send('DELETE', path)).status).toBe(200);
  });
});

describe('the list of segments', () => {
  it('is read in pages and found by the beginning of a name or by an id', async () => {
    const names = ['Zebra one', 'zebra two', 'Zebra three'];
    for (const name of names) await make(name);
    const found: string[] = [];
    let cursor = '';
    do {
      const { body } = await viewer.send('GET', at(`/segments?q=ZEBRA&limit=2${cursor}`));
      found.push(...body.data.map(({ name }: { name: string }) => name));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
    } while (cursor !== '');
    expect(found).toEqual([...names].reverse());
    const { body } = await viewer.send('GET', at('/segments?q=zebra%20two'));
    const [{ id }] = body.data;
    expect((await viewer.send('GET', at(`/segments?q=${id}`))).body.data).toEqual(body.data);
  });
});

describe('a live count', () => {
  const count = (filter: object) => member.send('POST', at('/segments/preview'), { filter });

  it('tells a viewer how many are in a stored segment, and nothing of a filter of their own', async () => {
    const segment = await make('Seen by all');
    const asked = (body: object) => viewer.send('POST', at('/segments/preview'), body);
    expect((await asked({ segment_id: segment.id })).body).toMatchObject({ count: 2 });
    // Otherwise a count of 0 or 1 would tell any property of a known person.
    const probe = { and: [{ field: 'external_id', op: 'eq', value: 'u-1' }, german] };
    const other = { segment_id: segment.id, exclude_segment_id: segment.id };
    for (const body of [{ filter: probe }, { audience: { filter: probe } }, { audience: { all: true } }, other]) {
      expect(await asked(body)).toMatchObject({ status: 403, body: { error: 'role_too_low' } });
      expect((await member.send('POST', at('/segments/preview'), body)).status).toBe(200);
    }
    expect((await asked({ filter: null, segment_id: segment.id })).status).toBe(200);
    expect((await asked({})).status).toBe(400);
  });

  it('counts a whole filter and each condition as a send would reach them', async () => {
    const pro = { field: 'properties.plan', op: 'eq', value: 'pro' };
    expect((await count({ and: [german, pro] })).body).toMatchObject({
      count: 2,
      users: 2,
      by_channel: { webpush: 2 },
    });
    expect((await count(german)).body).toMatchObject({ count: 2 });
    expect((await count(pro)).body).toMatchObject({ count: 3 });
    const wrong = await count({ and: [german, { field: 'properties.age', op: 'contains', value: 'x' }] });
    expect(wrong.body.issues).toMatchObject([{ path: ['filter', 'and', 1, 'op'], code: 'operator_not_allowed' }]);
  });

  it('whose caller has gone ends its statement in the database, and the next one is answered', async () => {
    const locks = await t.sql.reserve();
    const gone = new AbortController();
    const counts = { name: 'carillon long' };
    try {
      // Every count waits for this lock.
      await locks`BEGIN`;
      await locks`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
      const asked = fetch(`${t.url}/console/api${at('/segments/preview')}`, {
        method: 'POST',
        headers: { cookie: member.cookie, origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
        body: JSON.stringify({ filter: german }),
        signal: gone.signal,
      });
      asked.catch(() => undefined);
      await untilLockWaits(t.sql, 1, counts);
      gone.abort();
      await expect(asked).rejects.toThrow();
      await expect.poll(() => listLockWaits(t.sql, counts)).toEqual([]);
      // The statement's own limit would have ended it, too, and without this request.
      expect(await canceling()).toBeGreaterThan(0);
    } finally {
      await locks`ROLLBACK`;
      locks.release();
    }
    expect((await count(german)).body).toMatchObject({ count: 2 });
  });
});

/** The connections whose last statement canceled another one. */
async function canceling(): Promise<number> {
  const [row] = await t.sql<{ count: number }[]>`
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%SELECT pg_cancel_backend(pid)%' AND pid <> pg_backend_pid()`;
  return row?.count ?? 0;
}

describe('values for a condition', () => {
  const values = async (query: string) => (await member.send('GET', at(`/values?${query}`))).body.data;

  it('are those that devices have, the most frequent first, and those that begin with a text', async () => {
    expect(await values('field=country')).toEqual(['DE', 'FR']);
    expect(await values('field=country&q=f')).toEqual(['FR']);
    expect(await values('field=properties.plan&q=P')).toEqual(['pro']);
    expect(await values('field=properties.age&q=3')).toEqual([30]);
    expect(await values('field=device.platform')).toEqual(['web']);
    expect(await values('field=device.identified')).toEqual([true, false]);
    expect(await values('field=created_at')).toEqual([]);
    expect(await values('field=first_name&q=a')).toEqual(['Ada']);
    expect(await values('field=external_id&q=U-')).toEqual(['u-1', 'u-2', 'u-3']);
    expect((await viewer.send('GET', at('/values?field=country'))).status).toBe(403);
    for (const field of ['properties.unknown', 'toString', 'properties.']) {
      expect((await member.send('GET', at(`/values?field=${field}`))).status).toBe(400);
    }
  });

  it('contain none of an erased person', async () => {
    await server.post('/v1/users', {
      external_id: 'gone-1',
      first_name: 'Zacharias',
      device_id: await deviceOf(),
      properties: { mail: 'zacharias@shop.example' },
    });
    expect(await values('field=properties.mail')).toEqual(['zacharias@shop.example']);
    await server.delete('/v1/users/gone-1');
    expect(await values('field=properties.mail')).toEqual([]);
    expect(await values('field=first_name&q=zach')).toEqual([]);
    expect(await values('field=external_id&q=gone')).toEqual([]);
  });
});
