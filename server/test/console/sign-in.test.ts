// How people get into the console: the set-up link, password and second factor, invitations,
// resets, and what happens to those who guess..
import { describe, expect, it } from 'vitest';
import { createInvite, createResetLink, createSetupLink } from '../../src/teams/accounts/links.ts';
import { type Bundle, type Response, setup } from '../setup.ts';
import { codeOf } from './authenticator.ts';
import { cookieName, firstOrganisationId, origin, type Send, senderOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const visitor = senderOf(t, {});

const cookieOf = ({ headers }: Response, name = cookieName): string => {
  const line = headers.getSetCookie().find((each) => each.startsWith(`${name}=`)) ?? '';
  return line.split(';')[0] ?? '';
};
const withCookie = (cookie: string, of: Bundle = t): Send => senderOf(of, { cookie });

const owner = { email: 'Anna@shop.example', password: 'a long password' };
const setUp = (secret: string) => ({ secret, organisation: 'Bells', name: 'Anna', ...owner });
await visitor('POST', '/setup', setUp((await createSetupLink(t, firstOrganisationId)).secret));

describe('R-53 the set-up link', () => {
  it('makes the first owner once, and names the organisation', async () => {
    const empty = await setup({ workers: false });
    const visitor = senderOf(empty, {});
    expect((await visitor('GET', '/welcome')).body).toMatchObject({
      can_sign_in: true,
      needs_setup: true,
      password: true,
    });
    const { secret } = await createSetupLink(empty, firstOrganisationId);
    expect((await visitor('POST', '/link', { secret })).body).toMatchObject({ kind: 'setup', role: 'owner' });
    const body = setUp(secret);
    const answers = await Promise.all([visitor('POST', '/setup', body), visitor('POST', '/setup', body)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const entered = answers.find(({ status }) => status === 200);
    if (!entered) throw new Error('nobody was let in');
    const session = await withCookie(cookieOf(entered), empty)('GET', '/session');
    expect(session.body).toMatchObject({ role: 'owner', organisation: { name: 'Bells' } });
    expect((await visitor('POST', '/setup', body)).status).toBe(404);
    expect((await visitor('GET', '/welcome')).body.needs_setup).toBe(false);
    await expect(createSetupLink(empty, firstOrganisationId)).rejects.toThrow('There is an owner already.');
  });
});

describe('signing in', () => {
  it('answers a cookie that only the browser reads, in any spelling of the address', async () => {
    const answer = await visitor('POST', '/login', owner);
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { next: 'signed_in' } });
    const [line = ''] = answer.headers.getSetCookie();
    expect(line).toMatch(/^__Host-carillon_session=[\w%.-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800$/);
    expect((await withCookie(cookieOf(answer))('GET', '/apps')).status).toBe(200);
  });

  it('R-50 begins each session with a token of its own, and the database has no token', async () => {
    const [first, second] = [await visitor('POST', '/login', owner), await visitor('POST', '/login', owner)];
    expect(cookieOf(first)).not.toBe(cookieOf(second));
    const fixed = await withCookie(cookieOf(first))('POST', '/login', owner);
    expect(cookieOf(fixed)).not.toBe(cookieOf(first));
    const token = decodeURIComponent(cookieOf(first).slice(cookieName.length + 1)).split('.')[0] ?? '';
    expect(token.length).toBeGreaterThanOrEqual(22);
    const rows = await t.sql`SELECT s::text AS text FROM account_sessions s`;
    expect(rows.length).toBeGreaterThan(2);
    expect(JSON.stringify(rows)).not.toContain(token);
    // A row as text shows its bytes in hexadecimal.
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(token, 'base64url').toString('hex'));
  });

  it('R-50 a session ends after twelve hours without a request, and seven days after the sign-in', async () => {
    const person = await signIn(t, 'viewer');
    const hours = (count: number): void => t.clock.advance(count * 3_600_000);
    for (let day = 0; day < 13; day++) {
      hours(11.9);
      expect((await person.send('GET', '/session')).status).toBe(200);
      // The use is noted beside the answer.
      await expect
        .poll(
          async () =>
            (
              await t.sql`
        SELECT FROM account_sessions WHERE account_id = ${person.accountId} AND last_used_at > ${t.clock.now} - interval '1 minute'`
            ).length,
        )
        .toBe(1);
    }
    hours(11.9);
    expect((await person.send('GET', '/session')).status).toBe(200);
    hours(1.5);
    expect((await person.send('GET', '/session')).status).toBe(401);
    const idle = await signIn(t, 'viewer');
    hours(12.1);
    expect((await idle.send('GET', '/session')).status).toBe(401);
  });

  it('R-50 a session ends by signing out, by being ended elsewhere, and by a new password', async () => {
    const [first, second] = [await visitor('POST', '/login', owner), await visitor('POST', '/login', owner)];
    const [one, two] = [withCookie(cookieOf(first)), withCookie(cookieOf(second))];
    const { body } = await one('GET', '/sessions');
    const other = (await two('GET', '/session')).body.session_id;
    expect(body.data.filter(({ is_present }: { is_present: boolean }) => is_present)).toHaveLength(1);
    expect((await one('DELETE', `/sessions/${other}`)).status).toBe(200);
    expect((await two('GET', '/session')).status).toBe(401);
    const third = withCookie(cookieOf(await visitor('POST', '/login', owner)));
    const changed = await one('POST', '/password', { current: owner.password, next: 'another password' });
    expect(changed.status).toBe(200);
    expect((await one('GET', '/session')).status).toBe(401);
    expect((await third('GET', '/session')).status).toBe(401);
    const fresh = withCookie(cookieOf(changed));
    expect((await fresh('POST', '/password', { current: 'another password', next: owner.password })).status).toBe(200);
    const last = await visitor('POST', '/login', owner);
    expect((await withCookie(cookieOf(last))('POST', '/logout')).headers.getSetCookie()[0]).toMatch(/=; .*Max-Age=0/);
    expect((await withCookie(cookieOf(last))('GET', '/session')).status).toBe(401);
  });

  it('R-52 answers a known and an unknown address alike', async () => {
    const known = await visitor('POST', '/login', { ...owner, password: 'wrong' });
    const unknown = await visitor('POST', '/login', { email: 'nobody@shop.example', password: 'wrong' });
    const { request_id: _known, ...a } = known.body;
    const { request_id: _unknown, ...b } = unknown.body;
    expect(a).toEqual({ error: 'wrong_credentials', message: 'The e-mail address, password or code is wrong.' });
    expect({ status: unknown.status, body: b }).toEqual({ status: known.status, body: a });
  });

  it.each(['known@shop.example', 'unknown@shop.example'])(
    'R-52 makes %s wait after ten failures, and a reset ends the wait',
    async (email) => {
      if (email.startsWith('known')) {
        const { secret } = await createInvite(t, { organisationId: firstOrganisationId, email, role: 'viewer' });
        expect((await visitor('POST', '/join', { secret, name: 'Known', password: owner.password })).status).toBe(200);
      }
      const attempt = async (password: string): Promise<Response> => visitor('POST', '/login', { email, password });
      for (let failures = 0; failures < 10; failures++) expect((await attempt('wrong')).status).toBe(401);
      const delayed = await attempt(owner.password);
      expect({ status: delayed.status, error: delayed.body.error }).toEqual({ status: 429, error: 'rate_limited' });
      expect(Number(delayed.headers.get('retry-after'))).toBe(1);
      t.clock.advance(1100);
      expect((await attempt('wrong')).status).toBe(401);
      const second = await attempt('wrong');
      expect(second.body.retry_after_ms).toBeGreaterThan(1000);
      expect(second.body.retry_after_ms).toBeLessThanOrEqual(2000);
      if (!email.startsWith('known')) return;
      const { secret } = await createResetLink(t, email);
      expect((await visitor('POST', '/reset', { secret, password: 'a third password' })).status).toBe(200);
      expect((await attempt('a third password')).status).toBe(200);
      expect((await visitor('POST', '/reset', { secret, password: 'a fourth password' })).status).toBe(404);
    },
  );
});

describe('invitations', () => {
  it('let one person in, once, within 72 hours', async () => {
    const invite = { organisationId: firstOrganisationId, email: 'Ben@shop.example', role: 'member' } as const;
    const { secret } = await createInvite(t, invite);
    const body = { secret, name: 'Ben', password: 'a long password' };
    const answers = await Promise.all([visitor('POST', '/join', body), visitor('POST', '/join', body)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const entered = answers.find(({ status }) => status === 200);
    const session = entered && (await withCookie(cookieOf(entered))('GET', '/session'));
    expect(session?.body).toMatchObject({ role: 'member', account: { email: 'ben@shop.example' } });
    const late = await createInvite(t, { ...invite, email: null });
    t.clock.advance(72 * 3_600_000 + 1000);
    expect((await visitor('POST', '/join', { ...body, secret: late.secret, email: 'c@x.de' })).status).toBe(404);
  });

  it('set nobody else’s password', async () => {
    const { secret } = await createInvite(t, { organisationId: firstOrganisationId, email: null, role: 'owner' });
    const taken = await visitor('POST', '/join', {
      secret,
      name: 'Mallory',
      email: owner.email,
      password: 'mine now!',
    });
    expect({ status: taken.status, code: taken.body.issues?.[0].code }).toEqual({ status: 400, code: 'name_taken' });
    expect((await visitor('POST', '/login', owner)).status).toBe(200);
  });
});

describe('the second factor', () => {
  it('is asked for after the password, takes a code or a recovery code once, and is removed by the password', async () => {
    // Codes are judged by the service's clock, whatever the host's shows.
    t.clock.advance(10 * 60_000);
    const begin = withCookie(cookieOf(await visitor('POST', '/login', owner)));
    expect((await begin('POST', '/2fa/enable', { password: 'wrong' })).status).toBe(401);
    const made = await begin('POST', '/2fa/enable', { password: owner.password });
    expect(made.status).toBe(200);
    expect(made.body.recovery_codes).toHaveLength(10);
    expect((await begin('POST', '/2fa/verify', { code: '000000' })).status).toBe(401);
    const confirmed = await begin('POST', '/2fa/verify', { code: codeOf(made.body.uri, t.clock) });
    expect(confirmed.status).toBe(200);
    // The session has a new token, and the former one has ended.
    expect((await begin('GET', '/session')).status).toBe(401);
    const settled = withCookie(cookieOf(confirmed));
    expect((await settled('GET', '/session')).body.account.two_factor).toBe(true);

    const password = await visitor('POST', '/login', owner);
    expect(password.body).toEqual({ next: 'second_factor' });
    expect(cookieOf(password)).toBe('');
    const step = cookieOf(password, '__Host-carillon_step');
    expect(step).not.toBe('');
    // The step opens nothing.
    expect((await withCookie(step.replace('step', 'session'))('GET', '/session')).status).toBe(401);
    const second = (code: string, is_recovery = false): Promise<Response> =>
      withCookie(step)('POST', '/login/second-factor', { code, is_recovery });
    expect((await second('000000')).status).toBe(401);
    const entered = await second(codeOf(made.body.uri, t.clock, 1));
    expect(entered.body).toEqual({ next: 'signed_in' });
    expect((await withCookie(cookieOf(entered))('GET', '/apps')).status).toBe(200);
    expect((await second(codeOf(made.body.uri, t.clock, 1))).status).toBe(401);

    const [recovery] = made.body.recovery_codes;
    const again = cookieOf(await visitor('POST', '/login', owner), '__Host-carillon_step');
    const byRecovery = { code: recovery, is_recovery: true };
    expect((await withCookie(again)('POST', '/login/second-factor', byRecovery)).status).toBe(200);
    const third = cookieOf(await visitor('POST', '/login', owner), '__Host-carillon_step');
    expect((await withCookie(third)('POST', '/login/second-factor', byRecovery)).status).toBe(401);

    const renewed = await settled('POST', '/2fa/recovery-codes', { password: owner.password });
    expect(renewed.body.recovery_codes).toHaveLength(10);
    const stored = await t.sql`SELECT f::text AS text FROM second_factors f`;
    const seed = new URL(made.body.uri).searchParams.get('secret') ?? '';
    for (const secret of [seed, ...renewed.body.recovery_codes]) expect(JSON.stringify(stored)).not.toContain(secret);
    expect((await settled('POST', '/2fa/disable', { password: owner.password })).status).toBe(200);
    expect((await visitor('POST', '/login', owner)).body).toEqual({ next: 'signed_in' });
    const actions = await t.sql<{ action: string }[]>`
      SELECT DISTINCT action FROM audit_entries WHERE actor_name = 'anna@shop.example' ORDER BY action`;
    expect(actions.map(({ action }) => action)).toEqual(
      expect.arrayContaining([
        ...['session.begin', 'two_factor.disable', 'two_factor.enable', 'two_factor.renew_codes'],
        'two_factor.use_code',
      ]),
    );
  });
});

describe('plain http', () => {
  it('gives no session to another machine, and says why', async () => {
    const far = await setup({ workers: false, environment: { PUBLIC_URL: 'http://push.shop.example' } });
    const send: Send = (method, path, body) =>
      far.request(method, `/console/api${path}`, {
        headers: { origin: 'http://push.shop.example' },
        ...(body !== undefined && { body }),
      });
    expect((await send('GET', '/welcome')).body.can_sign_in).toBe(false);
    const answer = await send('POST', '/login', owner);
    expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 403, error: 'https_required' });
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it('gives a strict cookie on this machine', async () => {
    const near = await setup({ workers: false, environment: { PUBLIC_URL: 'http://127.0.0.1:8080' } });
    const { secret } = await createSetupLink(near, firstOrganisationId);
    const body = setUp(secret);
    const answer = await near.request('POST', '/console/api/setup', {
      headers: { 'sec-fetch-site': 'same-origin', origin: near.url },
      body,
    });
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^carillon_session=[\w%.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
    );
  });
});

it('R-51 signing in is refused from elsewhere', async () => {
  const answer = await t.request('POST', '/console/api/login', {
    headers: { origin: 'https://evil.example' },
    body: owner,
  });
  expect(answer.status).toBe(403);
  expect(origin).not.toBe('https://evil.example');
});
