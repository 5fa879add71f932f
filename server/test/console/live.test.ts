// The console's live feeds: figures of messages, states of channels and webhooks, and events as
// they arrive, the same from every API process (contract 19). Two processes share the database.
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { type Followed, follow, makeOrganisation, type Person, scriptOf, senderOf, signIn } from './console.ts';

const receiver = await startWebhookReceiver();
const database = await createTestDatabase();
const environment = { OUTBOUND_ALLOW_PORTS: String(receiver.port) };
const t = await setup({ database, environment });
const other = await setup({ database, environment, workers: false });
const owner = await signIn(t, 'owner');
const viewer = await signIn(t, 'viewer');
const appId = encodeId('app', t.app.id);
const live = `/apps/${appId}/live`;

const followAs = ({ cookie }: Person, path = live, process = t): Promise<Followed> => follow(process, path, { cookie });
const isOf =
  (type: string) =>
  (event: { type?: string }): boolean =>
    event.type === type;
const sale = { audience: { all: true }, content: { title: 'Sale', url: 'https://shop.example/' } };

describe('R-60 the live feed of an app', () => {
  it('begins with the whole state, the same from each process, and is no answer that may be kept', async () => {
    await t.registerDevice();
    const { body } = await t.server.post('/v1/messages', { ...sale, name: 'First' });
    const [one, two] = [await followAs(viewer), await followAs(viewer, live, other)];
    expect(one.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(one.headers.get('cache-control')).toBe('no-store');
    expect(one.headers.get('x-request-id')).toMatch(/^req_/);
    const state = await one.until(isOf('state'));
    expect(state).toMatchObject({
      messages: [{ id: body.id, name: 'First', status: 'sent', report: { accepted: 1, sent: 1 } }],
      channels: [{ channel: 'webpush', current: true, health: 'ok' }],
      webhooks: [],
      paused: false,
    });
    expect(state.messages[0]).not.toHaveProperty('content');
    expect(await two.until(isOf('state'))).toEqual(state);
    const [{ text }] = [{ text: JSON.stringify(state) }];
    expect(text).not.toContain(t.app.vapidPrivateKey);
    one.leave();
    two.leave();
  });

  it('tells every process of a message from its beginning to its end, and of its clicks', async () => {
    const feeds = [await followAs(viewer), await followAs(viewer, live, other)];
    for (const feed of feeds) await feed.until(isOf('state'));
    const { body } = await t.server.post('/v1/messages', { ...sale, name: 'Second' });
    for (const feed of feeds) {
      const { message } = await feed.until(
        ({ type, message: one }) => type === 'message' && one['id'] === body.id && one['status'] === 'sent',
      );
      expect(message).toMatchObject({ name: 'Second', title: 'Sale', report: { accepted: 1, sent: 1 } });
    }
    await t.sql`UPDATE batches SET clicked = 1 WHERE message_id IN (SELECT id FROM messages WHERE name = 'Second')`;
    for (const feed of feeds) {
      const { message } = await feed.until(({ type }) => type === 'message');
      expect(message).toMatchObject({ id: body.id, engagement: { clicked: 1 } });
      feed.leave();
    }
  });

  it('tells of channels, webhooks and the pause, and a new connection has them all', async () => {
    const feed = await followAs(viewer, live, other);
    await feed.until(isOf('state'));
    await owner.send('POST', `/apps/${appId}/channels/webpush`, { subject: 'https://shop.example' });
    const { channel } = await feed.until(({ type, channel: one }) => type === 'channel' && one['current'] === true);
    expect(channel).toMatchObject({ public: { subject: 'https://shop.example' } });
    const made = await owner.send('POST', `/apps/${appId}/webhooks`, { endpoint: receiver.endpoint });
    expect((await feed.until(isOf('webhook'))).webhook).toMatchObject({ id: made.body.id, state: 'enabled' });
    await owner.send('POST', `/webhooks/${made.body.id}/disable`);
    expect((await feed.until(isOf('webhook'))).webhook).toMatchObject({ state: 'disabled' });
    await owner.send('POST', '/system/pause');
    expect(await feed.until(isOf('pause'))).toEqual({ type: 'pause', paused: true });
    feed.leave();
    const again = await followAs(viewer);
    expect(await again.until(isOf('state'))).toMatchObject({ webhooks: [{ state: 'disabled' }], paused: true });
    await owner.send('POST', '/system/resume');
    expect(await again.until(isOf('pause'))).toEqual({ type: 'pause', paused: false });
    await owner.send('DELETE', `/webhooks/${made.body.id}`);
    expect(await again.until(isOf('webhook_removed'))).toEqual({ type: 'webhook_removed', id: made.body.id });
    again.leave();
  });

  it('shows nothing of another app', async () => {
    const feed = await followAs(viewer);
    await feed.until(isOf('state'));
    const theirs = await t.newApp({ name: 'Theirs' });
    await t.registerDevice({}, theirs);
    await t.clientOf(theirs.serverKey).post('/v1/messages', { ...sale, name: 'Theirs' });
    await t.server.post('/v1/messages', { ...sale, name: 'Third' });
    await feed.until(({ type, message }) => type === 'message' && message['name'] === 'Third');
    expect(JSON.stringify(feed.events)).not.toContain('Theirs');
    feed.leave();
    const stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Strangers'));
    expect((await followAs(stranger)).status).toBe(404);
  });
});

describe('R-50, R-53 a feed ends', () => {
  it('with its session', async () => {
    const person = await signIn(t, 'viewer');
    const feed = await followAs(person, live, other);
    await feed.until(isOf('state'));
    await person.send('POST', '/logout');
    await feed.ended;
    expect((await followAs(person)).status).toBe(401);
  });

  it('when the person is removed, or the role is too low now', async () => {
    const [gone, lowered] = [await signIn(t, 'member'), await signIn(t, 'member')];
    const path = `${live}/events`;
    const feeds = [await followAs(gone, path), await followAs(lowered, path)];
    for (const feed of feeds) await feed.until(isOf('recent'));
    await t.sql`DELETE FROM members WHERE account_id = ${gone.accountId}`;
    await t.sql`UPDATE members SET role = 'viewer' WHERE account_id = ${lowered.accountId}`;
    for (const feed of feeds) await feed.ended;
    expect((await followAs(lowered, path)).status).toBe(403);
    const still = await followAs(lowered);
    await still.until(isOf('state'));
    still.leave();
  });

  it('when the organisation asks for a second factor that the person lacks', async () => {
    const person = await signIn(t, 'viewer');
    const feed = await followAs(person);
    await feed.until(isOf('state'));
    await t.sql`UPDATE organisations SET require_two_factor = true`;
    await feed.ended;
    expect((await followAs(person)).status).toBe(403);
    await t.sql`UPDATE organisations SET require_two_factor = false`;
  });

  it('with its operator token', async () => {
    const made = await owner.send('POST', '/tokens', { name: 'watcher', role: 'viewer' });
    const headers = { authorization: `Bearer ${made.body.token}` };
    const feed = await follow(other, live, headers);
    await feed.until(isOf('state'));
    await owner.send('DELETE', `/tokens/${made.body.id}`);
    await feed.ended;
    expect((await follow(t, live, headers)).status).toBe(401);
  });

  it('with its app', async () => {
    const doomed = (await owner.send('POST', '/apps', { name: 'Doomed' })).body.id;
    const feed = await followAs(viewer, `/apps/${doomed}/live`);
    await feed.until(isOf('state'));
    await owner.send('DELETE', `/apps/${doomed}`, { name: 'Doomed' });
    await feed.ended;
    expect((await followAs(viewer, `/apps/${doomed}/live`)).status).toBe(404);
  });

  it('with its process, which closes although somebody reads', async () => {
    const third = await setup({ database, environment, workers: false });
    const feed = await followAs(viewer, live, third);
    await feed.until(isOf('state'));
    await third.close();
    await feed.ended;
  });
});

describe('R-62 open feeds', () => {
  it('of one caller are at most ten, and hold neither a turn nor a connection', async () => {
    const person = await signIn(t, 'viewer');
    const feeds = await Promise.all(Array.from({ length: 10 }, () => followAs(person)));
    for (const feed of feeds) await feed.until(isOf('state'));
    const refused = await person.send('GET', `${live}?`);
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    // Reads of this app have three turns, and the pool for reads four connections.
    const answers = await Promise.all(Array.from({ length: 8 }, () => person.send('GET', `/apps/${appId}/messages`)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    for (const feed of feeds) feed.leave();
    for (;;) {
      const feed = await followAs(person);
      feed.leave();
      if (feed.status === 200) break;
    }
  });

  it('of one organisation are at most 250, of many people together, and others still open theirs', async () => {
    const people = await Promise.all(Array.from({ length: 25 }, () => signIn(t, 'viewer')));
    const feeds: Followed[] = [];
    for (const one of people) feeds.push(...(await Promise.all(Array.from({ length: 10 }, () => followAs(one)))));
    expect(feeds.map(({ status }) => status)).toEqual(feeds.map(() => 200));
    const script = await scriptOf(t, 'viewer');
    expect(await script('GET', live)).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    const guest = await signIn(t, 'owner', await makeOrganisation(t, 'Many feeds'));
    const { body: own } = await guest.send('POST', '/apps', { name: 'Shop' });
    const theirs = await followAs(guest, `/apps/${own.id}/live`);
    expect(theirs.status).toBe(200);
    for (const feed of [...feeds, theirs]) feed.leave();
  });

  it('are answered to HEAD without a feed', async () => {
    const response = await fetch(`${t.url}/console/api${live}`, { method: 'HEAD', headers: { cookie: viewer.cookie } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect((await senderOf(t, {})('GET', live)).status).toBe(401);
    expect((await (await scriptOf(t, 'viewer'))('GET', `${live}/events`)).status).toBe(403);
  });
});

describe('the tail of events', () => {
  it('begins with the last ones and tells of each once as it arrives, from each process', async () => {
    const member = await signIn(t, 'member');
    await t.server.post('/v1/events', { external_id: 'ada', name: 'signed_up', properties: { plan: 'pro' } });
    const feeds = [await followAs(member, `${live}/events`), await followAs(member, `${live}/events`, other)];
    for (const feed of feeds) {
      const { events } = await feed.until(isOf('recent'));
      expect(events).toMatchObject([
        { name: 'signed_up', external_id: 'ada', device_id: null, properties: { plan: 'pro' } },
      ]);
    }
    await t.server.post('/v1/events', { external_id: 'bob', name: 'looked' });
    await t.server.post('/v1/events', { external_id: 'bob', name: 'bought', properties: { item: 'bell' } });
    for (const feed of feeds) {
      await feed.until(({ type, events }) => type === 'arrived' && JSON.stringify(events).includes('bell'));
      const arrived = feed.events.flatMap(({ type, events }) => (type === 'arrived' ? events : []));
      expect(arrived.map(({ name }: { name: string }) => name).sort()).toEqual(['bought', 'looked']);
      feed.leave();
    }
  });

  it('shows no event of an erased person, also before a worker has cleared it', async () => {
    const member = await signIn(t, 'member');
    await t.server.post('/v1/events', { external_id: 'gone', name: 'left', properties: { secret: 'of gone' } });
    await t.server.post('/v1/users', { external_id: 'gone' });
    await t.server.delete('/v1/users/gone');
    const feed = await followAs(member, `${live}/events?name=left`);
    expect((await feed.until(isOf('recent'))).events).toEqual([]);
    feed.leave();
  });

  it('has one name alone where one is asked for', async () => {
    const member = await signIn(t, 'member');
    const feed = await followAs(member, `${live}/events?name=looked`);
    expect((await feed.until(isOf('recent'))).events).toHaveLength(1);
    await t.server.post('/v1/events', { external_id: 'eve', name: 'bought' });
    await t.server.post('/v1/events', { external_id: 'eve', name: 'looked' });
    await feed.until(isOf('arrived'));
    const names = feed.events.flatMap(({ events }) => events.map(({ name }: { name: string }) => name));
    expect(names).toEqual(['looked', 'looked']);
    feed.leave();
  });
});
