// The lists of the console that people make by hand: pages by `limit` and `cursor`, and `q`
// (contract 19).
import { beforeEach, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup } from '../setup.ts';
import { makeOrganisation, signIn } from './console.ts';

const t = await setup({ workers: false });
const owner = await signIn(t, 'owner');
const app = encodeId('app', t.app.id);

/** Lets the second pass in which a session may send 60 requests. */
const letSecondPass = (): void => t.clock.advance(1000);
beforeEach(letSecondPass);

interface Row {
  readonly id: string;
}

/** Reads a list page by page, and returns the ids in their order. */
async function walk(path: string, field = 'data'): Promise<string[]> {
  letSecondPass();
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const suffix: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await owner.send('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1${suffix}`);
    expect(status).toBe(200);
    expect(body[field].length).toBeLessThanOrEqual(1);
    expect(body.has_more).toBe(body.next_cursor !== null);
    ids.push(...body[field].map(({ id }: Row) => id));
    cursor = body.next_cursor;
  } while (cursor !== null && ids.length < 50);
  return ids;
}

for (const name of ['Warehouse', 'warning lights', 'Shop floor']) {
  await owner.send('POST', '/apps', { name });
  await owner.send('POST', '/tokens', { name, role: 'viewer' });
  await owner.send('POST', `/apps/${app}/keys`, { scope: 'server', name });
  await owner.send('POST', `/apps/${app}/webhooks`, {
    endpoint: `https://${name.replace(' ', '-')}.shop.example/push`,
  });
  await signIn(t, 'viewer');
}

const lists = [
  { path: '/apps', field: 'data', q: 'war', found: 2 },
  { path: '/tokens', field: 'data', q: 'WAR', found: 2 },
  { path: `/apps/${app}/keys`, field: 'data', q: 'war', found: 2 },
  { path: `/apps/${app}/webhooks`, field: 'data', q: 'https://war', found: 2 },
  { path: '/team', field: 'members', q: owner.email.toUpperCase(), found: 1 },
] as const;

it.each(lists)('$path is walked page by page and searched by an id or the beginning of a text', async (list) => {
  const { path, field, q, found } = list;
  const whole = (await owner.send('GET', `${path}?limit=200`)).body;
  const ids: string[] = whole[field].map(({ id }: Row) => id);
  expect(ids.length).toBeGreaterThanOrEqual(3);
  expect(whole).toMatchObject({ has_more: false, next_cursor: null });
  expect(await walk(path, field)).toEqual(ids);
  const bySearch = await walk(`${path}?q=${encodeURIComponent(q)}`, field);
  expect(bySearch).toHaveLength(found);
  expect(ids).toEqual(expect.arrayContaining(bySearch));
  expect(await walk(`${path}?q=${ids[1]}`, field)).toEqual([ids[1]]);
  expect(await walk(`${path}?q=nothing-begins-so`, field)).toEqual([]);
});

it.each(['/sessions', `/apps/${app}/channels`])('%s is walked page by page', async (path) => {
  const { body } = await owner.send('GET', path);
  const { data } = (await owner.send('GET', `${path}?limit=1`)).body;
  expect(data).toEqual(body.data.slice(0, 1));
  expect((await owner.send('GET', `${path}?limit=0`)).status).toBe(400);
});

it('a cursor fits no other list, organisation or search', async () => {
  const { next_cursor: cursor } = (await owner.send('GET', '/apps?limit=1')).body;
  const stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Strangers'));
  expect((await owner.send('GET', `/apps?limit=1&cursor=${cursor}`)).status).toBe(200);
  for (const [send, path] of [
    [owner.send, '/tokens?'],
    [owner.send, '/apps?q=war&'],
    [stranger.send, '/apps?'],
  ] as const) {
    const { status, body } = await send('GET', `${path}cursor=${cursor}`);
    expect({ path, status, error: body.error }).toEqual({ path, status: 400, error: 'validation_failed' });
  }
});

it('the audit log is searched by an id, an action or a name', async () => {
  const { data } = (await owner.send('GET', '/audit?q=token.cre&limit=200')).body;
  // An entry has an address of its own, which finds it alone.
  expect((await owner.send('GET', `/audit?q=${data[0].id}`)).body.data).toEqual([data[0]]);
  expect(data).toHaveLength(3);
  const [{ target }] = data;
  const byTarget = (await owner.send('GET', `/audit?q=${target}`)).body.data;
  expect(byTarget.map((each: { target: string }) => each.target)).toEqual([target]);
  const byName = (await owner.send('GET', `/audit?q=${encodeURIComponent(owner.email.toUpperCase())}&limit=200`)).body;
  expect(byName.data.length).toBeGreaterThanOrEqual(9);
});
