// Signing in to the console by OpenID Connect, against a real provider (contract 19): the way there
// and back, who is let in, how an identity is linked, and what hostile answers come to.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { beforeEach, describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createInvite, createResetLink, createSetupLink } from '../../src/teams/accounts/links.ts';
import { isOfDomain } from '../../src/teams/accounts/oidc-sign-in.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Bundle, type Response, setup } from '../setup.ts';
import { cookieName, firstOrganisationId, origin, type Send, senderOf, signIn } from './console.ts';

interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
}

const clientSecret = 'secret-of-carillon';
/** The values that a sign-in uses once: cookies, codes, states, and the provider's tokens. */
const usedOnce = new Set<string>();
const redirectUri = `${origin}/console/api/oidc/callback`;
const people = new Map<string, Person>();

/** A provider at which each person signs in by naming the own subject. */
async function startProvider(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'carillon', client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_ctx: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ ...(people.get(sub) ?? { sub }) }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ['key of the test'] },
    features: { devInteractions: { enabled: true } },
  });
  provider.use(async (ctx, next) => {
    await next();
    const { access_token: access, id_token: identity } = (ctx.path === '/token' && ctx.body) || {};
    for (const token of [access, identity]) if (typeof token === 'string') usedOnce.add(token);
  });
  server.on('request', provider.callback());
  whenDone(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return issuer;
}

const issuer = await startProvider();
const environment = {
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: 'carillon',
  OIDC_CLIENT_SECRET: clientSecret,
  OIDC_DOMAINS: 'shop.example',
  OIDC_ROLE: 'member',
};
const lines: string[] = [];
const logTo = { write: (line: string) => void lines.push(line) };
const t = await setup({ workers: false, environment: { ...environment, LOG_LEVEL: 'trace' }, logTo });
const only = await setup({ workers: false, environment: { ...environment, OIDC_ONLY: '1' } });

// A second has room for fifty requests of one address, and the clock stands still.
beforeEach(() => {
  for (const { clock } of [t, only]) clock.advance(1000);
});

/**
 * Goes through the provider's pages as a browser does; returns the address that it sends the
 * browser to.
 */
async function atProvider(address: string, sub: string): Promise<URL> {
  const jar = new Map<string, string>();
  let [url, form]: [string, URLSearchParams | null] = [address, null];
  for (let steps = 0; steps < 12; steps++) {
    const answer: Awaited<ReturnType<typeof fetch>> = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    const location = answer.headers.get('location');
    const text = await answer.text();
    if (location?.startsWith(redirectUri)) return new URL(location);
    if (location) {
      [url, form] = [new URL(location, url).href, null];
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
    if (!action || !prompt)
      throw new Error(`an unexpected page of the provider: ${answer.status} ${text.slice(0, 500)}`);
    [url, form] = [new URL(action, url).href, new URLSearchParams({ prompt, login: sub, password: 'any' })];
  }
  throw new Error('the provider leads nowhere');
}

const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .map((pair) => {
      usedOnce.add(pair.slice(pair.indexOf('=') + 1));
      return pair;
    })
    .join('; ');
const visit = (path: string, cookie = '', of: Bundle = t): Promise<Response> =>
  of.request('GET', path, { headers: { cookie, 'sec-fetch-site': 'cross-site' } });
const wordOf = ({ headers }: Response): string => headers.get('location') ?? '';

interface Attempt {
  readonly cookie: string;
  readonly callback: URL;
}

async function attempt(person: Person, of: Bundle = t): Promise<Attempt> {
  people.set(person.sub, person);
  const start = await visit('/console/api/oidc/start', '', of);
  expect(start.status).toBe(303);
  const callback = await atProvider(wordOf(start), person.sub);
  for (const name of ['code', 'state']) usedOnce.add(callback.searchParams.get(name) ?? '');
  return { cookie: cookiesOf(start), callback };
}

async function comeIn(person: Person, of: Bundle = t): Promise<Response> {
  const { cookie, callback } = await attempt(person, of);
  return visit(callback.pathname + callback.search, cookie, of);
}

async function sessionOf(entered: Response, of: Bundle = t): Promise<Response['body']> {
  const session = await senderOf(of, { cookie: cookiesOf(entered) })('GET', '/session');
  expect(session.status).toBe(200);
  return session.body;
}

const actionsOf = async (email: string, of: Bundle = t): Promise<unknown[]> =>
  (
    await of.sql<{ action: string; after: unknown }[]>`
      SELECT action, after FROM audit_entries WHERE actor_name = ${email} ORDER BY id`
  ).map(({ action, after }) => ({ action, after }));

let made = 0;
const someone = (fields: Partial<Person> = {}): Person => ({
  sub: `person-${++made}`,
  email: `oidc-${made}@shop.example`,
  email_verified: true,
  name: 'Olga',
  ...fields,
});
const invite = (email: string | null, of: Bundle = t) =>
  createInvite(of, { organisationId: firstOrganisationId, email, role: 'admin' });

describe('the way in by OpenID Connect', () => {
  it('is offered on the sign-in page, with state, nonce and PKCE', async () => {
    const { body } = await senderOf(t, {})('GET', '/welcome');
    expect(body).toMatchObject({ oidc: '127.0.0.1', password: true });
    const start = await visit('/console/api/oidc/start');
    const [line = ''] = start.headers.getSetCookie();
    expect(line).toMatch(/^__Host-carillon_oidc=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/);
    const address = new URL(wordOf(start));
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: 'carillon',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      state: expect.any(String),
      nonce: expect.any(String),
    });
  });

  it('makes a person of a domain a member of the first organisation, with audit entries', async () => {
    const person = someone();
    const entered = await comeIn(person);
    expect(wordOf(entered)).toBe('/console/');
    expect(entered.headers.getSetCookie().map((line) => line.split('=')[0])).toEqual([
      cookieName,
      '__Host-carillon_browser',
      '__Host-carillon_oidc',
    ]);
    expect(await sessionOf(entered)).toMatchObject({ role: 'member', account: { email: person.email, name: 'Olga' } });
    expect(await actionsOf(person.email ?? '')).toEqual([
      { action: 'member.join', after: { role: 'member', by: 'oidc' } },
      { action: 'session.begin', after: { by: 'oidc' } },
    ]);
  });

  it('lets an invited address in, with the role of the invitation, and uses the invitation up', async () => {
    const person = someone({ email: 'Guest@elsewhere.example' });
    await invite('guest@elsewhere.example');
    expect(await sessionOf(await comeIn(person))).toMatchObject({
      role: 'admin',
      account: { email: 'guest@elsewhere.example' },
    });
    const [link] = await t.sql`SELECT used_at FROM account_links WHERE email = 'guest@elsewhere.example'`;
    expect(link?.['usedAt']).not.toBeNull();
  });

  it('keeps a removed member out although another invitation for the address was open', async () => {
    const email = 'left@elsewhere.example';
    await invite(email);
    await invite(email);
    const person = someone({ email });
    const { account } = await sessionOf(await comeIn(person));
    const owner = await signIn(t, 'owner');
    expect((await owner.send('DELETE', `/team/${account.id}`)).status).toBe(200);
    expect(wordOf(await comeIn(person))).toBe('/console/sign-in?oidc=not_invited');
  });

  it('knows the person by issuer and subject, whatever the address is later', async () => {
    const person = someone();
    const first = await sessionOf(await comeIn(person));
    const renamed = { ...person, email: 'renamed@elsewhere.example' };
    expect((await sessionOf(await comeIn(renamed))).account).toEqual(first.account);
  });

  it('accepts an invitation without an address by its link', async () => {
    const person = someone({ email: 'by-link@elsewhere.example' });
    people.set(person.sub, person);
    const { secret } = await invite(null);
    const start = await senderOf(t, {})('POST', '/oidc/start', { secret });
    expect(start.status).toBe(200);
    const callback = await atProvider(start.body.url, person.sub);
    const entered = await visit(callback.pathname + callback.search, cookiesOf(start));
    expect((await sessionOf(entered)).role).toBe('admin');
  });
});

describe('people that the provider does not admit', () => {
  const cases: readonly (readonly [name: string, fields: Partial<Person>, word: string])[] = [
    ['an address that is not verified', { email_verified: false }, 'unverified'],
    ['an address that is verified as a text', { email_verified: 'true' }, 'unverified'],
    ['an address without a word about it', { email_verified: undefined }, 'unverified'],
    ['no address', { email: undefined as never }, 'unverified'],
    ['a foreign domain', { email: 'eve@evil.example' }, 'not_invited'],
    ['a domain that ends in ours', { email: 'eve@evilshop.example' }, 'not_invited'],
    ['a domain below ours', { email: 'eve@sub.shop.example' }, 'not_invited'],
    ['a domain that begins with ours', { email: 'eve@shop.example.evil.example' }, 'not_invited'],
    ['two addresses in one', { email: 'eve@evil.example@shop.example' }, 'unverified'],
    ['our domain in a quoted name', { email: '"eve@shop.example"@evil.example' }, 'unverified'],
    ['a comment behind our domain', { email: 'eve@shop.example(evil.example)' }, 'unverified'],
    ['a dot behind our domain', { email: 'eve@shop.example.' }, 'unverified'],
  ];
  it.each(cases)('are those with %s', async (_name, fields, word) => {
    const person = someone(fields);
    const answer = await comeIn(person);
    expect(wordOf(answer)).toBe(`/console/sign-in?oidc=${word}`);
    expect(answer.headers.getSetCookie().some((line) => line.startsWith(cookieName))).toBe(false);
    const rows = await t.sql`SELECT FROM account_logins WHERE subject = ${`${issuer} ${person.sub}`}`;
    expect(rows).toHaveLength(0);
  });

  it('compares domains exactly, after the last @', () => {
    const domains = ['shop.example'];
    expect(isOfDomain('anna@shop.example', domains)).toBe(true);
    for (const email of [
      'shop.example',
      '@shop.example',
      'a@xshop.example',
      'a@shop.example@x.example',
      'a@x.shop.example',
    ])
      expect({ email, isLetIn: isOfDomain(email, domains) }).toEqual({ email, isLetIn: false });
  });
});

describe('hostile answers', () => {
  const refused = '/console/sign-in?oidc=failed';

  it('with another state, without one, or without the cookie of the attempt are refused', async () => {
    const { cookie, callback } = await attempt(someone());
    const other = await visit('/console/api/oidc/start');
    const forged = new URL(callback);
    forged.searchParams.set('state', 'forged');
    const bare = new URL(callback);
    bare.searchParams.delete('state');
    for (const [name, url, cookies] of [
      ['another state', forged, cookie],
      ['no state', bare, cookie],
      ['no cookie', callback, ''],
      ['the cookie of another attempt', callback, cookiesOf(other)],
      ['an altered cookie', callback, `${cookie.slice(0, -4)}AAAA`],
    ] as const) {
      const answer = await visit(url.pathname + url.search, cookies);
      expect({ name, to: wordOf(answer) }).toEqual({ name, to: refused });
    }
    // The code itself was good, and still is.
    expect(wordOf(await visit(callback.pathname + callback.search, cookie))).toBe('/console/');
  });

  it('with a code of another attempt fail by PKCE and nonce', async () => {
    const [mine, theirs] = [await attempt(someone()), await attempt(someone())];
    const injected = new URL(mine.callback);
    injected.searchParams.set('code', theirs.callback.searchParams.get('code') ?? '');
    expect(wordOf(await visit(injected.pathname + injected.search, mine.cookie))).toBe(refused);
  });

  it('with a code that was used before are refused', async () => {
    const { cookie, callback } = await attempt(someone());
    expect(wordOf(await visit(callback.pathname + callback.search, cookie))).toBe('/console/');
    expect(wordOf(await visit(callback.pathname + callback.search, cookie))).toBe(refused);
  });

  it('of another issuer, or more than ten minutes later, are refused', async () => {
    const { cookie, callback } = await attempt(someone());
    const mixed = new URL(callback);
    mixed.searchParams.set('iss', 'https://evil.example');
    expect(wordOf(await visit(mixed.pathname + mixed.search, cookie))).toBe(refused);
    t.clock.advance(601_000);
    expect(wordOf(await visit(callback.pathname + callback.search, cookie))).toBe(refused);
  });

  it('that say no lead back to the sign-in page', async () => {
    const { cookie, callback } = await attempt(someone());
    const state = callback.searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state, iss: issuer });
    expect(wordOf(await visit(`${callback.pathname}?${query}`, cookie))).toBe('/console/sign-in?oidc=cancelled');
  });
});

describe('an account that has the address already', () => {
  const password = 'a long password';
  const join = async (email: string): Promise<void> => {
    const { secret } = await invite(email);
    const joined = await senderOf(t, {})('POST', '/join', { secret, name: 'Pat', password });
    expect(joined.status).toBe(200);
  };

  it('is opened by the provider only after its person proved the password', async () => {
    const person = someone({ email: 'pat@shop.example' });
    await join('pat@shop.example');
    const answer = await comeIn(person);
    expect(wordOf(answer)).toBe('/console/sign-in?oidc=confirm');
    expect(answer.headers.getSetCookie().some((line) => line.startsWith(cookieName))).toBe(false);
    const waiting = cookiesOf(answer);
    const login = await senderOf(t, {})('POST', '/login', { email: person.email, password });
    const linked = await senderOf(t, { cookie: `${cookiesOf(login)}; ${waiting}` })('POST', '/oidc/link');
    expect({ status: linked.status, body: linked.body }).toEqual({ status: 200, body: { done: true } });
    expect(await sessionOf(await comeIn(person))).toMatchObject({ role: 'admin', account: { email: person.email } });
    expect(await actionsOf('pat@shop.example')).toContainEqual({ action: 'oidc.link', after: { issuer } });
  });

  it('and was made a moment ago, by a transaction under way, is to be confirmed as well', async () => {
    const person = someone({ email: 'rae@shop.example' });
    await invite('rae@shop.example');
    let coming: ReturnType<typeof comeIn> | undefined;
    await t.sql.begin(async (tx) => {
      await tx`
        INSERT INTO accounts (id, email, name, created_at, updated_at)
        VALUES (gen_random_uuid(), 'rae@shop.example', 'Rae', now(), now())`;
      coming = comeIn(person);
      await untilLockWaits(t.sql, 1, { text: 'accounts' });
    });
    if (!coming) throw new Error('nobody came in');
    expect(wordOf(await coming)).toBe('/console/sign-in?oidc=confirm');
  });

  it('is not linked by a session of before, of another person, or with an altered identity', async () => {
    const person = someone({ email: 'quinn@shop.example' });
    await join('quinn@shop.example');
    const before = cookiesOf(await senderOf(t, {})('POST', '/login', { email: person.email, password }));
    t.clock.advance(1000);
    const waiting = cookiesOf(await comeIn(person));
    const after = cookiesOf(await senderOf(t, {})('POST', '/login', { email: person.email, password }));
    const link = (session: string, identity: string): Promise<Response> =>
      senderOf(t, { cookie: `${session}; ${identity}` })('POST', '/oidc/link');
    expect((await link(before, waiting)).status).toBe(400);
    expect((await link((await signIn(t, 'owner')).cookie, waiting)).status).toBe(400);
    expect((await link(after, `${waiting.slice(0, -4)}AAAA`)).status).toBe(404);
    expect((await link(after, '')).status).toBe(404);
    expect(wordOf(await comeIn(person))).toBe('/console/sign-in?oidc=confirm');
  });
});

describe('a second factor', () => {
  it('is left to the provider: its people need none of ours', async () => {
    const person = someone();
    await t.sql`UPDATE organisations SET require_two_factor = true`;
    const cookie = cookiesOf(await comeIn(person));
    const byPassword = await signIn(t, 'viewer');
    expect((await senderOf(t, { cookie })('GET', '/apps')).status).toBe(200);
    expect((await byPassword.send('GET', '/apps')).body.error).toBe('second_factor_required');
    await t.sql`UPDATE organisations SET require_two_factor = false`;
  });
});

describe('OIDC_ONLY', () => {
  const visitor: Send = senderOf(only, {});
  const password = 'a long password';

  it('refuses set-up, join, sign-in and second factors by password, and says so', async () => {
    expect((await visitor('GET', '/welcome')).body).toMatchObject({ password: false, oidc: '127.0.0.1' });
    const { secret } = await createSetupLink(only, firstOrganisationId);
    const person = await signIn(only, 'owner');
    const asked: readonly (readonly [Send, string, object])[] = [
      [visitor, '/setup', { secret, organisation: 'Bells', name: 'Anna', email: 'anna@shop.example', password }],
      [visitor, '/join', { secret, name: 'Anna', password }],
      [visitor, '/login', { email: person.email, password }],
      [person.send, '/password', { current: password, next: password }],
      [person.send, '/2fa/enable', { password }],
      [person.send, '/2fa/verify', { code: '123456' }],
      [person.send, '/2fa/disable', { password }],
      [person.send, '/2fa/recovery-codes', { password }],
    ];
    for (const [send, path, body] of asked) {
      const { status, body: answer } = await send('POST', path, body);
      expect({ path, status, error: answer.error }).toEqual({ path, status: 403, error: 'password_off' });
    }
  });

  it('lets a reset by the operator open a session, and its password for an hour', async () => {
    const person = await signIn(only, 'owner');
    const { secret } = await createResetLink(only, person.email);
    const reset = await visitor('POST', '/reset', { secret, password });
    expect(reset.body).toEqual({ next: 'signed_in' });
    expect((await visitor('POST', '/login', { email: person.email, password })).status).toBe(200);
    only.clock.advance(3_601_000);
    expect((await visitor('POST', '/login', { email: person.email, password })).body.error).toBe('password_off');
  });
});

describe('a service without a provider', () => {
  it('has no route to a provider and none back', async () => {
    const none = await setup({ workers: false });
    for (const path of ['start', 'callback', 'callback?code=a&state=b']) {
      expect((await visit(`/console/api/oidc/${path}`, '', none)).status).toBe(404);
    }
    expect((await senderOf(none, {})('GET', '/welcome')).body.oidc).toBeNull();
  });
});

describe('a provider that does not answer', () => {
  it('leads back to the sign-in page, and the password still works', async () => {
    const dead = await setup({ workers: false, environment: { ...environment, OIDC_ISSUER: 'http://127.0.0.1:1' } });
    expect(wordOf(await visit('/console/api/oidc/start', '', dead))).toBe('/console/sign-in?oidc=unavailable');
    expect((await senderOf(dead, {})('GET', '/welcome')).body.password).toBe(true);
  });
});

it('R-80 no secret of a sign-in is in the log at its most detailed level, or in a table', async () => {
  // The log tells the failures above, without their secrets.
  expect(lines.join('')).toContain('a sign-in by OpenID Connect failed');
  expect(usedOnce.size).toBeGreaterThan(50);
  const tables = await t.sql<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')`;
  const rows = await Promise.all(tables.map(({ name }) => t.sql`SELECT r::text AS text FROM ${t.sql(name)} r`));
  const stored = JSON.stringify(rows);
  for (const secret of [clientSecret, ...usedOnce]) {
    expect(secret.length).toBeGreaterThan(10);
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    expect(stored.includes(secret)).toBe(false);
  }
});
