// The limits of guesses, codes and links of the console, from outside: whose failures count, what a
// success forgets, and what ends with a member..
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createInvite, createResetLink } from '../../src/accounts/links.ts';
import { encodeId } from '../../src/ground/ids.ts';
import { type Response, setup } from '../setup.ts';
import { codeOf } from './authenticator.ts';
import { cookieName, firstOrganisationId, origin, type Send, senderOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const visitor = senderOf(t, {});
const owner = await signIn(t, 'owner');
const password = 'a long password';
const app = encodeId('app', t.app.id);

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
    const person = await join(email);
    const guess = (): Promise<Response> => visitor('POST', '/login', { email, password: 'wrong' });
    await besiege(guess);
    expect((await guess()).status).toBe(429);
    const own = (current: string): Promise<Response> =>
      person('POST', '/password', { current, next: 'a new password' });
    expect((await own(password)).status).toBe(200);
  });

  it('within a session make that session wait', async () => {
    const person = await join('own-session@shop.example');
    const guess = (): Promise<Response> => person('POST', '/2fa/enable', { password: 'wrong' });
    expect(await sendingTimes(11, guess)).toEqual([...Array(10).fill(401), 429]);
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

describe('plain http through a proxy', () => {
  it('gives no session, also when the proxy says Host: 127.0.0.1', async () => {
    const near = await setup({ workers: false, environment: { PUBLIC_URL: 'http://127.0.0.1:8080' } });
    const welcome = (headers: Record<string, string>): Promise<Response> =>
      near.request('GET', '/console/api/welcome', { headers });
    expect((await welcome({})).body.can_sign_in).toBe(true);
    expect((await welcome({ 'x-forwarded-for': '192.0.2.7' })).body.can_sign_in).toBe(false);
  });
});
