// The limits of guesses, codes and links of the console, from outside: whose failures count, what a
// success forgets, and what ends with a member..
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import { createInvite, createResetLink } from '../../src/teams/accounts/links.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Response, setup } from '../setup.ts';
import { codeOf } from './authenticator.ts';
import { cookieName, firstOrganisationId, makeOrganisation, origin, type Send, senderOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const visitor = senderOf(t, {});
const owner = await signIn(t, 'owner');
const password = 'a long password';
const app = encodeId('app', t.app.id);

const browserName = '__Host-carillon_browser';
const cookieOf = ({ headers }: Response, name = cookieName): string => {
  const line = headers.getSetCookie().find((each) => each.startsWith(`${name}=`)) ?? '';
  return line.split(';')[0] ?? '';
};
const withCookie = (cookie: string): Send => senderOf(t, { cookie });
const stepOf = (answer: Response): Send => withCookie(cookieOf(answer, '__Host-carillon_step'));
const statusesOf = (answers: readonly Response[]): number[] => answers.map(({ status }) => status);
const sendingTimes = async (count: number, send: () => Promise<Response>): Promise<number[]> => {
  const answers: Response[] = [];
  for (let sent = 0; sent < count; sent++) answers.push(await send());
  return statusesOf(answers);
};

/** Guesses until the account waits for more than a minute. */
async function besiege(guess: () => Promise<Response>): Promise<void> {
  expect(await sendingTimes(10, guess)).toEqual(Array(10).fill(401));
  for (let waitMs = 1000; waitMs < 64_000; waitMs *= 2) {
    t.clock.advance(waitMs + 100);
    expect((await guess()).status).toBe(401);
  }
}

/** A person who joined with a password, and the cookie of the first session. */
async function join(email: string, role: 'viewer' | 'admin' = 'viewer'): Promise<Send> {
  const { secret } = await createInvite(t, { organisationId: firstOrganisationId, email, role });
  const entered = await visitor('POST', '/join', { secret, name: 'Person', password });
  expect(entered.status).toBe(200);
  return withCookie(cookieOf(entered));
}

/** Turns the second factor on; answers the seed's URI and the person's new session. */
async function withSecondFactor(send: Send): Promise<{ readonly uri: string; readonly send: Send }> {
  const { body } = await send('POST', '/2fa/enable', { password });
  const confirmed = await send('POST', '/2fa/verify', { code: codeOf(body.uri, t.clock) });
  expect(confirmed.status).toBe(200);
  return { uri: body.uri, send: withCookie(cookieOf(confirmed)) };
}

describe('R-52 guesses', () => {
  it('of a code count for the account of the first step, and the caller cannot name another', async () => {
    const email = 'guessed-code@shop.example';
    await withSecondFactor(await join(email));
    const signInAgain = (): Promise<Response> => visitor('POST', '/login', { email, password });
    const named = await stepOf(await signInAgain())('POST', '/login/second-factor', {
      email: 'x@y.de',
      code: '000000',
    });
    expect(named.status).toBe(400);
    for (let round = 0; round < 5; round++) {
      const guess = stepOf(await signInAgain());
      expect(await sendingTimes(2, () => guess('POST', '/login/second-factor', { code: '000000' }))).toEqual([
        401, 401,
      ]);
    }
    expect((await signInAgain()).status).toBe(429);
  });

  it('of another account are not forgotten by a good second step', async () => {
    const [good, guessed] = ['good-step@shop.example', 'not-forgotten@shop.example'];
    const { uri } = await withSecondFactor(await join(good));
    const guess = (): Promise<Response> => visitor('POST', '/login', { email: guessed, password: 'wrong' });
    await besiege(guess);
    const step = stepOf(await visitor('POST', '/login', { email: good, password }));
    expect((await step('POST', '/login/second-factor', { code: codeOf(uri, t.clock, 1) })).status).toBe(200);
    expect((await guess()).status).toBe(429);
  });

  it('at the same time are ten at most', async () => {
    const guess = (): Promise<Response> =>
      visitor('POST', '/login', { email: 'parallel@shop.example', password: 'wrong' });
    const statuses = statusesOf(await Promise.all(Array.from({ length: 16 }, guess)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  });

  it('before a whole sign-in are forgotten by it', async () => {
    const email = 'forgetful@shop.example';
    await join(email);
    const attempt = (word: string): Promise<Response> => visitor('POST', '/login', { email, password: word });
    for (let round = 0; round < 2; round++) {
      expect(await sendingTimes(9, () => attempt('wrong'))).toEqual(Array(9).fill(401));
      expect((await attempt(password)).status).toBe(200);
    }
  });

  it('of strangers keep no signed-in person from changing their password', async () => {
    const email = 'besieged@shop.example';
    // The network's failures of the tests above are over.
    t.clock.advance(16 * 60_000);
    const person = await join(email);
    const guess = (): Promise<Response> => visitor('POST', '/login', { email, password: 'wrong' });
    await besiege(guess);
    expect((await guess()).status).toBe(429);
    const own = (current: string): Promise<Response> =>
      person('POST', '/password', { current, next: 'a new password' });
    expect((await own(password)).status).toBe(200);
  });

  it('of strangers keep no person out of a browser that they signed in with before', async () => {
    const email = 'known-browser@shop.example';
    // The network's failures of the tests above are over.
    t.clock.advance(16 * 60_000);
    const { secret } = await createInvite(t, { organisationId: firstOrganisationId, email, role: 'viewer' });
    const joined = await visitor('POST', '/join', { secret, name: 'Person', password });
    const known = withCookie(cookieOf(joined, browserName));
    const login = (send: Send, word = password): Promise<Response> => send('POST', '/login', { email, password: word });
    await besiege(() => login(visitor, 'wrong'));
    expect((await login(visitor)).status).toBe(429);
    expect((await login(known)).status).toBe(200);
    // The success of the person makes nothing easier for strangers.
    expect((await login(visitor)).status).toBe(429);
    // The browser has a count of its own, whichever of its cookies it shows.
    const again = withCookie(cookieOf(await login(known), browserName));
    expect(await sendingTimes(5, () => login(known, 'wrong'))).toEqual(Array(5).fill(401));
    expect(await sendingTimes(6, () => login(again, 'wrong'))).toEqual([...Array(5).fill(401), 429]);
    const reset = await createResetLink(t, email);
    const entered = await visitor('POST', '/reset', { secret: reset.secret, password: 'another password' });
    expect((await login(withCookie(cookieOf(entered, browserName)), 'another password')).status).toBe(200);
  });

  it('with the cookie of another person, of another time or without our signature count with strangers', async () => {
    const email = 'foreign-browser@shop.example';
    t.clock.advance(16 * 60_000);
    await join('neighbour@shop.example');
    const neighbour = await visitor('POST', '/login', { email: 'neighbour@shop.example', password });
    await join(email);
    const own = cookieOf(await visitor('POST', '/login', { email, password }), browserName);
    expect(own).not.toBe('');
    const guess = (cookie: string): Promise<Response> =>
      withCookie(cookie)('POST', '/login', { email, password: 'wrong' });
    const cookies = [cookieOf(neighbour, browserName), `${own.slice(0, -8)}AAAAA%3D`, own.replace(/=.*/, '=browser')];
    for (let round = 0; round < 10; round++) expect((await guess(cookies[round % 3] ?? '')).status).toBe(401);
    for (const cookie of cookies) expect((await guess(cookie)).status).toBe(429);
    expect((await guess(own)).status).toBe(401);
  });

  it('leave an audit entry that names the account, and nothing that was typed', async () => {
    const email = 'audited@shop.example';
    t.clock.advance(16 * 60_000);
    const person = await join(email);
    const { uri, send } = await withSecondFactor(person);
    const { body } = await send('GET', '/session');
    const step = stepOf(await visitor('POST', '/login', { email, password }));
    await visitor('POST', '/login', { email, password: 'typed' });
    await step('POST', '/login/second-factor', { code: '000000' });
    await step('POST', '/login/second-factor', { code: 'typed', is_recovery: true });
    await send('POST', '/2fa/disable', { password: 'typed' });
    await step('POST', '/login/second-factor', { code: codeOf(uri, t.clock, 1) });
    const listed = await owner.send('GET', `/audit?q=${body.account.id}`);
    const refused = listed.body.data.filter(({ action }: { action: string }) => action === 'session.refuse');
    expect(refused.map(({ after }: { after: unknown }) => after).reverse()).toEqual([
      { by: 'password' },
      { by: 'code' },
      { by: 'recovery_code' },
      { by: 'password' },
    ]);
    expect(refused[0]).toMatchObject({ actor: { kind: 'service', name: 'sign-in' }, address: '127.0.0.1' });
    expect(JSON.stringify(refused)).not.toContain('typed');
  });

  it('at addresses without an account leave one audit entry a minute for each network', async () => {
    t.clock.advance(16 * 60_000);
    const count = async (): Promise<number> =>
      (await t.sql`SELECT FROM audit_entries WHERE action = 'session.refuse' AND target IS NULL`).length;
    const before = await count();
    const guess = (name: string): Promise<Response> =>
      visitor('POST', '/login', { email: `${name}@nowhere.example`, password: 'wrong' });
    for (const name of ['one', 'two', 'three']) expect((await guess(name)).status).toBe(401);
    expect(await count()).toBe(before + 1);
    expect(JSON.stringify(await t.sql`SELECT * FROM audit_entries`)).not.toContain('nowhere.example');
  });

  it('within a session make that session wait', async () => {
    const person = await join('own-session@shop.example');
    const guess = (): Promise<Response> => person('POST', '/2fa/enable', { password: 'wrong' });
    expect(await sendingTimes(11, guess)).toEqual([...Array(10).fill(401), 429]);
  });

  it('keep nobody waiting for as long as the database was set back afterwards (R-100)', async () => {
    const email = 'set-back@shop.example';
    await join(email);
    await besiege(() => visitor('POST', '/login', { email, password: 'wrong' }));
    expect((await visitor('POST', '/login', { email, password })).status).toBe(429);
    t.clock.advance(-2 * 60 * 60_000);
    expect((await visitor('POST', '/login', { email, password })).status).toBe(200);
    t.clock.advance(2 * 60 * 60_000);
  });

  it('of a network are counted within fifteen minutes, and not added up for days', async () => {
    const guess = (count: number): Promise<Response> =>
      visitor('POST', '/login', { email: `many-${count}@shop.example`, password: 'wrong' });
    // Failures of the tests above are over.
    t.clock.advance(16 * 60_000);
    expect((await guess(1)).status).toBe(401);
    const subject = createHash('sha256').update('network:127.0.0.1').digest();
    const counted = await t.sql`UPDATE login_failures SET failures = 99 WHERE subject = ${subject}`;
    expect(counted.count).toBe(1);
    t.clock.advance(16 * 60_000);
    expect(await sendingTimes(3, () => guess(2))).toEqual([401, 401, 401]);
    await t.sql`UPDATE login_failures SET failures = 110 WHERE subject = ${subject}`;
    expect((await guess(3)).status).toBe(429);
    t.clock.advance(16 * 60_000);
  });
});

describe('a code of an authenticator', () => {
  it('opens one session, also when two requests race', async () => {
    const email = 'once@shop.example';
    const { uri } = await withSecondFactor(await join(email));
    const steps = [
      stepOf(await visitor('POST', '/login', { email, password })),
      stepOf(await visitor('POST', '/login', { email, password })),
    ];
    const code = codeOf(uri, t.clock, 1);
    const answers = await Promise.all(steps.map((step) => step('POST', '/login/second-factor', { code })));
    expect(statusesOf(answers).sort()).toEqual([200, 401]);
    const earlier = stepOf(await visitor('POST', '/login', { email, password }));
    expect((await earlier('POST', '/login/second-factor', { code: codeOf(uri, t.clock) })).status).toBe(401);
  });

  it('for a second factor that counts already is refused with a reason', async () => {
    const { uri, send } = await withSecondFactor(await join('twice@shop.example'));
    const again = await send('POST', '/2fa/verify', { code: codeOf(uri, t.clock, 1) });
    expect({ status: again.status, code: again.body.issues?.[0].code }).toEqual({ status: 400, code: 'in_use' });
  });

  it('is no wrong code when the database fails, and the call is undone', async () => {
    const email = 'failing@shop.example';
    const { uri } = await withSecondFactor(await join(email));
    const step = stepOf(await visitor('POST', '/login', { email, password }));
    await t.sql`ALTER TABLE audit_entries ADD CONSTRAINT no_sessions CHECK (action <> 'session.begin') NOT VALID`;
    try {
      expect((await step('POST', '/login/second-factor', { code: codeOf(uri, t.clock, 1) })).status).toBe(500);
    } finally {
      await t.sql`ALTER TABLE audit_entries DROP CONSTRAINT no_sessions`;
    }
    expect((await step('POST', '/login/second-factor', { code: codeOf(uri, t.clock, 1) })).status).toBe(200);
  });
});

describe('the beginning of a second factor', () => {
  it('stands in the audit log', async () => {
    const email = 'beginner@shop.example';
    await (await join(email))('POST', '/2fa/enable', { password });
    const rows = await t.sql`SELECT FROM audit_entries WHERE actor_name = ${email} AND action = 'two_factor.begin'`;
    expect(rows).toHaveLength(1);
  });
});

describe('R-53 a member who is removed or demoted', () => {
  const invite = async (send: Send): Promise<string> =>
    (await send('POST', '/team/invites', { role: 'viewer' })).body.link.split('#')[1];
  const joinBy = (secret: string, email: string): Promise<Response> =>
    visitor('POST', '/join', { secret, name: 'Kept', email, password });

  it('leaves no invitation that still works', async () => {
    const [removed, demoted] = [await signIn(t, 'admin'), await signIn(t, 'admin')];
    const links = [await invite(removed.send), await invite(demoted.send)];
    expect((await owner.send('DELETE', `/team/${encodeId('acc', removed.accountId)}`)).status).toBe(200);
    const { body } = await owner.send('GET', '/team');
    const id = encodeId('acc', demoted.accountId);
    const { updated_at } = body.members.find((each: { id: string }) => each.id === id);
    expect((await owner.send('PATCH', `/team/${id}`, { role: 'viewer', updated_at })).status).toBe(200);
    for (const [at, secret] of links.entries()) expect((await joinBy(secret, `kept-${at}@x.de`)).status).toBe(404);
  });

  it.each([
    ['removed', (id: string) => owner.send('DELETE', `/team/${id}`)],
    [
      'demoted',
      async (id: string) => {
        const { body } = await owner.send('GET', '/team');
        const { updated_at } = body.members.find((each: { id: string }) => each.id === id);
        return owner.send('PATCH', `/team/${id}`, { role: 'admin', updated_at });
      },
    ],
  ])('and was an owner leaves operator tokens that are offered for revoking: %s', async (what, leave) => {
    const leaving = await signIn(t, 'owner');
    const name = `script of the ${what}`;
    const made = await leaving.send('POST', '/tokens', { name, role: 'viewer' });
    await owner.send('DELETE', `/tokens/${(await leaving.send('POST', '/tokens', { name, role: 'viewer' })).body.id}`);
    expect(made.body).toMatchObject({ is_orphaned: false });
    const left = await leave(encodeId('acc', leaving.accountId));
    expect({ status: left.status, tokens: left.body.tokens.map(({ id }: { id: string }) => id) }).toEqual({
      status: 200,
      tokens: [made.body.id],
    });
    const listed = async (): Promise<{ is_orphaned: boolean; revoked_at: string | null }[]> =>
      (await owner.send('GET', `/tokens?q=${made.body.id}`)).body.data;
    expect(await listed()).toMatchObject([{ is_orphaned: true, revoked_at: null }]);
    expect((await t.request('GET', '/console/api/apps', { key: made.body.token })).status).toBe(200);
    await owner.send('DELETE', `/tokens/${made.body.id}`);
    expect((await t.request('GET', '/console/api/apps', { key: made.body.token })).status).toBe(401);
  });

  it('can be invited again', async () => {
    const email = 'comes-back@shop.example';
    const { body } = await (await join(email))('GET', '/session');
    expect((await owner.send('DELETE', `/team/${body.account.id}`)).status).toBe(200);
    expect((await visitor('POST', '/login', { email, password })).status).toBe(401);
    expect((await (await join(email))('GET', '/session')).body.role).toBe('viewer');
  });
});

describe('an address of e-mail', () => {
  it('that cannot sign in gets no account', async () => {
    expect((await owner.send('POST', '/team/invites', { email: 'admin@localhost', role: 'viewer' })).status).toBe(400);
    const { body } = await owner.send('POST', '/team/invites', { role: 'viewer' });
    const secret = body.link.split('#')[1];
    const joined = await visitor('POST', '/join', { secret, name: 'A', email: 'admin@localhost', password });
    expect(joined.status).toBe(400);
    expect((await visitor('POST', '/login', { email: 'admin@localhost', password })).status).toBe(400);
  });
});

describe('the audit log of the organisation', () => {
  it('shows resets and pauses', async () => {
    const email = 'resets@shop.example';
    await join(email);
    const { secret } = await createResetLink(t, email);
    expect((await visitor('POST', '/reset', { secret, password: 'another password' })).status).toBe(200);
    await owner.send('POST', '/system/pause');
    await owner.send('POST', '/system/resume');
    const { body } = await owner.send('GET', '/audit?limit=10');
    const actions = body.data.map(({ action }: { action: string }) => action);
    // Entries of one millisecond are in no order.
    expect(actions.slice(0, 5).sort()).toEqual([
      ...['link.create', 'password.reset', 'service.pause', 'service.resume', 'session.begin'],
    ]);
  });

  it('gets one refusal a minute of each caller and route', async () => {
    const viewer = await signIn(t, 'viewer');
    await sendingTimes(5, () => viewer.send('GET', '/team'));
    await viewer.send('GET', '/audit');
    const rows = await t.sql`SELECT FROM audit_entries WHERE actor_name = ${viewer.email} AND action = 'access.refuse'`;
    expect(rows).toHaveLength(2);
  });
});

describe('one person', () => {
  it('has one key of an app for their own browser in each session', async () => {
    const member = await signIn(t, 'member');
    const make = (): Promise<Response> => member.send('POST', `/apps/${app}/session-key`);
    expect(statusesOf(await Promise.all([make(), make(), make()]))).toEqual([200, 200, 200]);
    expect(await t.sql`SELECT FROM keys WHERE session_id IS NOT NULL`).toHaveLength(1);
  });

  it('asks at most sixty times a second in a session', async () => {
    const viewer = await signIn(t, 'viewer');
    const statuses = statusesOf(await Promise.all(Array.from({ length: 300 }, () => viewer.send('GET', '/session'))));
    expect(statuses).toContain(429);
    expect(statuses).toContain(200);
  });

  it('without a session sends no large body', async () => {
    const headers = { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
    const raw = JSON.stringify({ email: 'a@b.de', password }) + ' '.repeat(5000);
    const answer = await t.request('POST', '/console/api/login', { headers, raw });
    expect(answer.body.error).toBe('body_too_large');
  });
});

describe('a step between password and second factor', () => {
  const email = 'step@shop.example';
  const next = 'a third long password';
  const endings: readonly (readonly [string, (send: Send) => Promise<Response>])[] = [
    ['a change of the password', (send) => send('POST', '/password', { current: password, next })],
    [
      'a reset of the password',
      async () => {
        const { secret } = await createResetLink(t, email);
        return visitor('POST', '/reset', { secret, password: next });
      },
    ],
    [
      'a new role',
      async () => {
        const { body } = await owner.send('GET', '/team');
        const { id, updated_at } = body.members.find((each: { email: string }) => each.email === email);
        return owner.send('PATCH', `/team/${id}`, { role: 'member', updated_at });
      },
    ],
    [
      'the removal of the person from one of two organisations',
      async (send) => {
        const { body } = await send('GET', '/session');
        const accountId = decodeId('acc', body.account.id) ?? '';
        const organisationId = await makeOrganisation(t, 'Second');
        await t.sql`INSERT INTO members (org_id, account_id, role) VALUES (${organisationId}, ${accountId}, 'viewer')`;
        return owner.send('DELETE', `/team/${body.account.id}`);
      },
    ],
    ['the removal of the second factor', (send) => send('POST', '/2fa/disable', { password })],
  ];

  it.each(endings)('ends with %s', async (_what, end) => {
    await t.sql`DELETE FROM accounts WHERE email = ${email}`;
    t.clock.advance(16 * 60_000);
    const { uri, send } = await withSecondFactor(await join(email));
    const step = stepOf(await visitor('POST', '/login', { email, password }));
    expect((await end(send)).status).toBe(200);
    const code = codeOf(uri, t.clock, 1);
    expect((await step('POST', '/login/second-factor', { code })).status).toBe(401);
  });

  it('ends after three minutes', async () => {
    const { uri } = await withSecondFactor(await join('slow@shop.example'));
    const step = stepOf(await visitor('POST', '/login', { email: 'slow@shop.example', password }));
    t.clock.advance(181_000);
    expect((await step('POST', '/login/second-factor', { code: codeOf(uri, t.clock) })).status).toBe(401);
  });
});

it('a link that resets a password ends when the password is changed', async () => {
  const email = 'linked@shop.example';
  const person = await join(email);
  const { secret } = await createResetLink(t, email);
  expect((await person('POST', '/password', { current: password, next: 'a fourth long password' })).status).toBe(200);
  const reset = await visitor('POST', '/reset', { secret, password: 'a fifth long password' });
  expect(reset.status).toBe(404);
});

describe('a sign-in beside a change of the password', () => {
  it('opens nothing by the former password once the change is done', async () => {
    const email = 'racing@shop.example';
    const person = await join(email);
    const account = (await t.sql<{ id: string }[]>`SELECT id FROM accounts WHERE email = ${email}`)[0]?.id ?? '';
    let racing: Promise<Response> | undefined;
    await t.sql.begin(async (tx) => {
      await tx`SELECT FROM accounts WHERE id = ${account} FOR UPDATE`;
      racing = visitor('POST', '/login', { email, password });
      await untilLockWaits(t.sql, 1, { text: 'FROM accounts' });
      await tx`UPDATE account_logins SET password_hash = 'scrypt$1$a$b' WHERE account_id = ${account}`;
    });
    expect((await racing)?.status).toBe(401);
    expect((await person('GET', '/session')).status).toBe(200);
  });
});

describe('R-52 the most common passwords', () => {
  const common = ['password', 'Password', '12345678', 'ILOVEYOU', 'trustno1', 'ｐａｓｓｗｏｒｄ'];
  it.each(common)('are refused: %s, by a link and by a change', async (word) => {
    const email = `common-${common.indexOf(word)}@shop.example`;
    const invited = await createInvite(t, { organisationId: firstOrganisationId, email, role: 'viewer' });
    const refused = await visitor('POST', '/join', { secret: invited.secret, name: 'A', password: word });
    expect({ status: refused.status, path: refused.body.issues?.[0].path }).toEqual({
      status: 400,
      path: ['password'],
    });
    expect(refused.body.issues[0].message).toContain('10000 most common');
    // The link is not used up.
    const person = await join(email);
    const changed = await person('POST', '/password', { current: password, next: word });
    expect({ status: changed.status, path: changed.body.issues?.[0].path }).toEqual({ status: 400, path: ['next'] });
    const reset = await createResetLink(t, email);
    expect((await visitor('POST', '/reset', { secret: reset.secret, password: word })).status).toBe(400);
  });
});

describe('plain http through a proxy', () => {
  it('gives no session, also when the proxy says Host: 127.0.0.1', async () => {
    const near = await setup({ workers: false, environment: { PUBLIC_URL: 'http://127.0.0.1:8080' } });
    const welcome = (headers: Record<string, string>): Promise<Response> =>
      near.request('GET', '/console/api/welcome', { headers });
    expect((await welcome({})).body.can_sign_in).toBe(true);
    expect((await welcome({ 'x-forwarded-for': '192.0.2.7' })).body.can_sign_in).toBe(false);
  });

  it.each([
    ['from this very machine', '', {}, true],
    ['from a proxy that nobody trusts', '', { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' }, false],
    ['from a trusted proxy by https', '127.0.0.1/32', { 'x-forwarded-proto': 'https' }, true],
    ['from a trusted proxy by http', '127.0.0.1/32', { 'x-forwarded-proto': 'http' }, false],
    ['from a trusted proxy by http to another proxy', '127.0.0.1/32', { 'x-forwarded-proto': 'http, https' }, false],
    ['from a trusted proxy that names no protocol', '127.0.0.1/32', { 'x-forwarded-for': '192.0.2.7' }, true],
  ])('with an https address a request %s is given a session: %s %j %s', async (_what, proxies, headers, isGiven) => {
    const far = await setup({ workers: false, environment: { TRUSTED_PROXIES: proxies } });
    const send = senderOf(far, headers);
    expect((await send('GET', '/welcome')).body.can_sign_in).toBe(isGiven);
    const answer = await send('POST', '/login', { email: 'nobody@shop.example', password: 'any' });
    expect(answer.body.error).toBe(isGiven ? 'wrong_credentials' : 'https_required');
    const { cookie } = await signIn(far, 'viewer');
    expect((await senderOf(far, { ...headers, cookie })('GET', '/session')).status).toBe(isGiven ? 200 : 401);
  });
});

it('R-52 a browser is known for 90 days', async () => {
  const email = 'long-ago@shop.example';
  t.clock.advance(16 * 60_000);
  await join(email);
  const known = withCookie(cookieOf(await visitor('POST', '/login', { email, password }), browserName));
  const guess = (send: Send): Promise<Response> => send('POST', '/login', { email, password: 'wrong' });
  for (const [days, status] of [
    [89, 401],
    [2, 429],
  ] as const) {
    t.clock.advance(days * 86_400_000);
    expect(await sendingTimes(11, () => guess(visitor))).toEqual([...Array(10).fill(401), 429]);
    expect((await guess(known)).status).toBe(status);
  }
});
