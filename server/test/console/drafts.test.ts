// Drafts and templates of the console: shared in the app, never overwritten unseen, and cleared
// with the app.
import { describe, expect, it } from 'vitest';
import { encodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { setup } from '../setup.ts';
import { makeOrganisation, signIn } from './console.ts';

const t = await setup({ workers: false });
const app = encodeId('app', t.app.id);
const anna = await signIn(t, 'member');
const ben = await signIn(t, 'member');
const at = (path: string): string => `/apps/${app}${path}`;
const actionsOf = async (target: string): Promise<string[]> =>
  (await t.sql<{ action: string }[]>`SELECT action FROM audit_entries WHERE target = ${target} ORDER BY id`).map(
    ({ action }) => action,
  );

describe('drafts', () => {
  it('are kept as their author left them, valid or not, with names such as __proto__', async () => {
    const raw = '{"name":"Autumn","message":{"content":{"title":"Hi {{first","data":{"__proto__":"x"}},"audience":{}}}';
    const made = await t.request('POST', `/console/api${at('/drafts')}`, {
      raw,
      headers: {
        cookie: anna.cookie,
        origin: 'https://carillon.test.example',
        'content-type': 'application/json',
      },
    });
    expect(made.status).toBe(200);
    expect(JSON.stringify(made.body.message)).toBe(JSON.stringify(JSON.parse(raw).message));
    expect(made.body).toMatchObject({ name: 'Autumn', title: 'Hi {{first', changed_by: `person ${anna.email}` });
    expect((await ben.send('GET', at(`/drafts/${made.body.id}`))).body).toEqual(made.body);
  });

  it('two people who save the same state: the second hears of the first', async () => {
    const { body: made } = await anna.send('POST', at('/drafts'), { message: { content: { title: 'A' } } });
    const save = (title: string, updated_at: string) => ({ name: '', message: { content: { title } }, updated_at });
    const path = at(`/drafts/${made.id}`);
    const answers = await Promise.all([
      anna.send('PUT', path, save('of Anna', made.updated_at)),
      ben.send('PUT', path, save('of Ben', made.updated_at)),
    ]);
    const won = answers.find(({ status }) => status === 200);
    const lost = answers.find(({ status }) => status === 400);
    expect(lost?.body).toMatchObject({ error: 'changed_meanwhile', present: won?.body });
    expect((await anna.send('GET', path)).body).toEqual(won?.body);
  });

  it('no longer name an erased person, and keep the rest as it was', async () => {
    await t.server.post('/v1/users', { external_id: 'u-gone' });
    const content = { title: 'Hi {{ first' };
    const message = { audience: { external_ids: ['u-here', 'u-gone'] }, content };
    const { body: made } = await anna.send('POST', at('/drafts'), { message });
    expect((await t.server.delete('/v1/users/u-gone')).status).toBe(200);
    const { body } = await anna.send('GET', at(`/drafts/${made.id}`));
    expect(body.message).toEqual({ audience: { external_ids: ['u-here'] }, content: made.message.content });
    expect(body.updated_at).toBe(made.updated_at);
  });

  it('a writer whose answer was lost goes on, and still overwrites nobody else', async () => {
    const { body: made } = await anna.send('POST', at('/drafts'), { message: { content: { title: 'A' } } });
    const path = at(`/drafts/${made.id}`);
    const save = (title: string, more: object) => ({
      message: { content: { title } },
      updated_at: made.updated_at,
      ...more,
    });
    // Saved, and the answer never came.
    await anna.send('PUT', path, save('AB', {}));
    const unanswered = { content: { title: 'AB' } };
    expect((await anna.send('PUT', path, save('ABC', {}))).body).toMatchObject({ error: 'changed_meanwhile' });
    const next = await anna.send('PUT', path, save('ABC', { unanswered }));
    expect(next.body).toMatchObject({ message: { content: { title: 'ABC' } } });
    await ben.send('PUT', path, { ...save('of Ben', {}), updated_at: next.body.updated_at });
    const late = await anna.send('PUT', path, save('ABCD', { unanswered }));
    expect(late.body).toMatchObject({ error: 'changed_meanwhile', present: { title: 'of Ben' } });
  });

  describe('with an id that the writer chose', () => {
    const newId = () => encodeId('drf', mintUuid());
    const make = (id: string, title: string, unanswered?: string) =>
      anna.send('POST', at('/drafts'), {
        id,
        message: { content: { title } },
        ...(unanswered !== undefined && { unanswered: { content: { title: unanswered } } }),
      });
    const titlesOf = async (id: string): Promise<string[]> =>
      (await anna.send('GET', at(`/drafts?q=${id}`))).body.data.map(({ title }: { title: string }) => title);

    it('requests that are sent again make one draft with the newest text, in whatever order they arrive', async () => {
      const [inOrder, overtaken, atOnce] = [newId(), newId(), newId()];
      await make(inOrder, 'A');
      expect((await make(inOrder, 'AB', 'A')).body).toMatchObject({ id: inOrder, title: 'AB' });
      await make(overtaken, 'AB', 'A');
      expect((await make(overtaken, 'A')).body).toMatchObject({ id: overtaken, title: 'AB' });
      await Promise.all([make(atOnce, 'A'), make(atOnce, 'AB', 'A')]);
      for (const id of [inOrder, overtaken, atOnce]) expect(await titlesOf(id)).toEqual(['AB']);
      expect(await actionsOf(overtaken)).toEqual(['draft.create']);
    });

    it('a request whose predecessors were lost on the way goes on, and a colleague is never overwritten', async () => {
      const id = newId();
      await make(id, 'A');
      // AB never arrived, and ABC did, without an answer.
      await make(id, 'ABC', 'AB');
      const { body: last } = await make(id, 'ABCD', 'ABC');
      expect(last).toMatchObject({ title: 'ABCD' });
      const theirs = { name: '', message: { content: { title: 'of Ben' } }, updated_at: last.updated_at };
      const { body: saved } = await ben.send('PUT', at(`/drafts/${id}`), theirs);
      expect((await make(id, 'ABCDE', 'ABCD')).body).toMatchObject({ error: 'changed_meanwhile', present: saved });
      expect(await titlesOf(id)).toEqual(['of Ben']);
    });

    it('is listed by the time of its creation, and an id of another form is refused', async () => {
      await make('drf_7n42DGM5Tflk9n8mt7Fhc7', 'The greatest id');
      const { body: later } = await anna.send('POST', at('/drafts'), { message: {} });
      expect((await anna.send('GET', at('/drafts?limit=1'))).body.data).toMatchObject([{ id: later.id }]);
      expect((await make('drf_short', 'A')).status).toBe(400);
      expect((await make('drf_zzzzzzzzzzzzzzzzzzzzzz', 'A')).status).toBe(404);
    });
  });

  it('are found by the beginning of a name or title, and walked page by page', async () => {
    const names = ['Winter sale', 'winter boots', 'Spring'];
    for (const name of names) await anna.send('POST', at('/drafts'), { name, message: {} });
    const found = (await ben.send('GET', at('/drafts?q=WINTER'))).body.data;
    expect(found.map(({ name }: { name: string }) => name)).toEqual(['winter boots', 'Winter sale']);
    expect(found[0]).not.toHaveProperty('message');
    const page = (await ben.send('GET', at('/drafts?q=winter&limit=1'))).body;
    const next = (await ben.send('GET', at(`/drafts?q=winter&limit=1&cursor=${page.next_cursor}`))).body;
    expect([...page.data, ...next.data]).toEqual(found);
    expect((await ben.send('GET', at(`/templates?cursor=${page.next_cursor}`))).status).toBe(400);
  });

  it('a message that is no object is refused', async () => {
    for (const message of [[], 'text', null, undefined]) {
      expect((await anna.send('POST', at('/drafts'), { message })).status).toBe(400);
    }
  });
});

describe('templates', () => {
  it('a save of other content makes a version, and old versions stay readable', async () => {
    const first = { title: 'Sale', body: 'Now on' };
    const { body: made } = await anna.send('POST', at('/templates'), { name: 'Offer', content: first });
    expect(made).toMatchObject({ name: 'Offer', version: 1, title: 'Sale', content: first });
    const path = at(`/templates/${made.id}`);
    const second = { ...first, locales: { de: { title: 'Ausverkauf' } } };
    const saved = (await ben.send('PUT', path, { name: 'Offer', content: second, updated_at: made.updated_at })).body;
    expect(saved).toMatchObject({ version: 2, content: second, changed_by: `person ${ben.email}` });
    expect(saved.versions.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
    // A new name alone, or nothing new, is no version.
    const renamed = (await ben.send('PUT', path, { name: 'Offers', content: second, updated_at: saved.updated_at }))
      .body;
    expect(renamed).toMatchObject({ name: 'Offers', version: 2 });
    const same = await ben.send('PUT', path, { name: 'Offers', content: second, updated_at: renamed.updated_at });
    expect(same.body).toEqual(renamed);
    expect((await anna.send('GET', `${path}/versions/1`)).body).toMatchObject({ version: 1, content: first });
    expect((await anna.send('GET', `${path}/versions/3`)).status).toBe(404);
    expect((await anna.send('GET', `${path}/versions/x`)).status).toBe(404);
    const late = await anna.send('PUT', path, { name: 'Mine', content: first, updated_at: made.updated_at });
    expect(late.body).toMatchObject({ error: 'changed_meanwhile', present: { version: 2, content: second } });
    expect(await actionsOf(made.id)).toEqual(['template.create', 'template.save', 'template.save']);
    expect((await anna.send('DELETE', path)).status).toBe(200);
    expect((await anna.send('GET', `${path}/versions/1`)).status).toBe(404);
  });

  it('keep the newest hundred versions, and number on', async () => {
    const save = (n: number) => ({ name: 'Often', content: { title: `Sale ${n}` } });
    // Two writers, because a session makes at most 60 requests a second.
    const writers = [await signIn(t, 'member'), await signIn(t, 'member')];
    let { body: last } = await anna.send('POST', at('/templates'), save(1));
    const path = at(`/templates/${last.id}`);
    for (let n = 2; n <= 102; n++) {
      const edit = { ...save(n), updated_at: last.updated_at };
      last = (await writers[n % 2]?.send('PUT', path, edit))?.body;
    }
    expect(last).toMatchObject({ version: 102, content: { title: 'Sale 102' } });
    expect(last.versions.map(({ version }: { version: number }) => version)).toEqual(
      Array.from({ length: 100 }, (_, i) => 102 - i),
    );
    expect((await anna.send('GET', `${path}/versions/2`)).status).toBe(404);
    expect((await anna.send('GET', `${path}/versions/3`)).body).toMatchObject({ content: { title: 'Sale 3' } });
  });

  it('names are unique in the app, and content is content that can be sent', async () => {
    const content = { title: 'Sale' };
    const [one, other] = await Promise.all(
      [0, 1].map(() => anna.send('POST', at('/templates'), { name: 'Twice', content })),
    );
    expect([one?.status, other?.status].sort()).toEqual([200, 400]);
    const wrong = await anna.send('POST', at('/templates'), { name: 'Broken', content: { title: '{{' } });
    expect(wrong.body.issues).toMatchObject([{ path: ['content', 'title'], code: 'template_syntax' }]);
  });
});

it("R-60 another app's drafts and templates are answered like unknown ones, also within the organisation", async () => {
  const owner = await signIn(t, 'owner');
  const { body: other } = await owner.send('POST', '/apps', { name: 'Other' });
  const { body: draft } = await owner.send('POST', `/apps/${other.id}/drafts`, { message: {} });
  const made = { name: 'T', content: { title: 'Sale' } };
  const { body: template } = await owner.send('POST', `/apps/${other.id}/templates`, made);
  const edit = { name: 'x', updated_at: draft.updated_at };
  const asked = [
    ['GET', `/drafts/${draft.id}`],
    ['PUT', `/drafts/${draft.id}`, { ...edit, message: {} }],
    ['DELETE', `/drafts/${draft.id}`],
    ['GET', `/templates/${template.id}`],
    ['GET', `/templates/${template.id}/versions/1`],
    ['PUT', `/templates/${template.id}`, { ...edit, content: made.content }],
    ['DELETE', `/templates/${template.id}`],
  ] as const;
  for (const [method, path, body] of asked) {
    const answers = [];
    for (const id of [path, path.replace(/_\w{22}/, '_02y9GVDsTuJUi2BOoCH5G3')]) {
      const { status, body: answer } = await owner.send(method, at(id), body);
      answers.push({ status, error: answer.error, message: String(answer.message).replace(/_\w{22}/, '') });
    }
    expect({ path, answer: answers[0] }).toEqual({ path, answer: answers[1] });
    expect(answers[0]?.status).toBe(404);
  }
  expect((await owner.send('GET', `/apps/${other.id}/drafts/${draft.id}`)).status).toBe(200);
  const stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Strangers'));
  expect((await stranger.send('GET', at('/drafts'))).status).toBe(404);
});

// Last, because it stops the clock.
it('a sitting at a draft is one entry of the audit log, however often it saves', async () => {
  t.clock.hold(t.clock.date());
  const { body: made } = await anna.send('POST', at('/drafts'), { name: 'Sitting', message: {} });
  const path = at(`/drafts/${made.id}`);
  let { updated_at } = made;
  const save = async (person: typeof anna, title: string): Promise<void> => {
    const answer = await person.send('PUT', path, { name: 'Sitting', message: { content: { title } }, updated_at });
    expect(answer.status).toBe(200);
    // Also within one millisecond a save has an instant of its own.
    expect(answer.body.updated_at > updated_at).toBe(true);
    updated_at = answer.body.updated_at;
  };
  for (const title of ['a', 'ab', 'abc']) await save(anna, title);
  expect(await actionsOf(made.id)).toEqual(['draft.create']);
  t.clock.advance(5);
  for (const title of ['b', 'bc']) await save(ben, title);
  expect(await actionsOf(made.id)).toEqual(['draft.create', 'draft.edit']);
  t.clock.advance(600_010);
  await save(ben, 'bcd');
  expect(await actionsOf(made.id)).toEqual(['draft.create', 'draft.edit', 'draft.edit']);
  t.clock.advance(5);
  expect((await ben.send('DELETE', path)).status).toBe(200);
  expect((await ben.send('DELETE', path)).status).toBe(404);
  expect((await actionsOf(made.id)).at(-1)).toBe('draft.delete');
});
