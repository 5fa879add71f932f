// A provider of OpenID Connect is believed by its published keys alone, over verified connections,
// and it leads the service to no private address (contract 19).
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { takeEveryCertificate } from '../lax-certificates.ts';
import { type Bundle, setup } from '../setup.ts';
import { origin } from './console.ts';

interface Claims {
  readonly [name: string]: unknown;
}
/** Makes the id token of an answer. */
type Sign = (claims: Claims) => Promise<string>;

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function makeKey(kid: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
}
const signBy =
  ({ privateKey }: Key, kid: string): Sign =>
  (claims) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const [first, second, foreign] = [await makeKey('first'), await makeKey('second'), await makeKey('first')];
let published: readonly Key[] = [first];
let sign: Sign = signBy(first, 'first');
let nonce = '';
let asked: string[] = [];
/** Endpoints of the description that lead elsewhere. */
let elsewhere: Record<string, string> = {};
let people = 0;

async function listen(secure: boolean, answer: RequestListener): Promise<number> {
  const tls = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const server = secure ? createTlsServer(tls, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A provider that signs as the test says; its people come in at once. */
async function startProvider(secure: boolean): Promise<string> {
  let issuer = '';
  const port = await listen(secure, async (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const json = (value: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path === '/.well-known/openid-configuration') {
      json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
        ...elsewhere,
      });
    } else if (path === '/keys') json({ keys: published.map(({ jwk }) => jwk) });
    else {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: 'carillon', sub: `sub-${people}`, iat: now, exp: now + 300, nonce };
      const person = { email: `signed-${people}@shop.example`, email_verified: true };
      json({ access_token: 'a', token_type: 'bearer', id_token: await sign({ ...claims, ...person }) });
    }
  });
  issuer = secure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return issuer;
}

const environmentOf = (issuer: string) => ({
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: 'carillon',
  OIDC_CLIENT_SECRET: 'secret-of-carillon',
  OIDC_DOMAINS: 'shop.example',
});
const issuer = await startProvider(false);
const t = await setup({ workers: false, environment: environmentOf(issuer) });

beforeEach(() => {
  [published, sign, asked, elsewhere] = [[first], signBy(first, 'first'), [], {}];
});

/** Goes to the provider and back. Returns the address that the browser is led to. */
async function comeIn(of: Bundle = t): Promise<string | null> {
  people++;
  of.clock.advance(1000);
  const visit = (path: string, cookie = '') =>
    of.request('GET', path, { headers: { cookie, 'sec-fetch-site': 'cross-site' } });
  const start = await visit('/console/api/oidc/start');
  const address = new URL(start.headers.get('location') ?? '', origin);
  if (!address.pathname.endsWith('/authorize')) return address.pathname + address.search;
  nonce = address.searchParams.get('nonce') ?? '';
  const query = new URLSearchParams({ code: 'c', state: address.searchParams.get('state') ?? '' });
  const cookie = (start.headers.getSetCookie()[0] ?? '').split(';')[0];
  return (await visit(`/console/api/oidc/callback?${query}`, cookie)).headers.get('location');
}

const refused = '/console/sign-in?oidc=failed';

describe('an id token', () => {
  it('that a published key signed lets its person in', async () => {
    expect(await comeIn()).toBe('/console/');
    expect(asked).toContain('/keys');
  });

  it.each<[string, Sign]>([
    ['that a foreign key signed under the name of a published one', signBy(foreign, 'first')],
    ['whose signature is text', async (claims) => (await signBy(first, 'first')(claims)).replace(/[^.]+$/, 'signed')],
    ['without a signature', async (claims) => (await signBy(first, 'first')(claims)).replace(/[^.]+$/, '')],
    ['with the algorithm none', async (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`],
    ['that names a key which is not published', signBy(first, 'unknown')],
    ['that names another published key', signBy(first, 'second')],
    [
      'that is signed by HS256 with the public key as its secret',
      async (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'first' })
          .sign(Buffer.from(await exportSPKI(first.publicKey))),
    ],
    [
      'that is signed by HS256 with the secret of the client',
      async (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from('secret-of-carillon')),
    ],
    [
      'whose claims were changed after the signature',
      async (claims) => {
        const [head, , signature] = (await signBy(first, 'first')(claims)).split('.');
        return `${head}.${encode({ ...claims, sub: 'somebody-else' })}.${signature}`;
      },
    ],
  ])('%s lets nobody in', async (_what, given) => {
    published = [first, second];
    sign = given;
    expect(await comeIn()).toBe(refused);
    expect(await t.sql`SELECT FROM accounts WHERE email = ${`signed-${people}@shop.example`}`).toHaveLength(0);
  });

  it('that a new key signed lets its person in at once, and the withdrawn key nobody', async () => {
    expect(await comeIn()).toBe('/console/');
    [published, sign] = [[second], signBy(second, 'second')];
    expect(await comeIn()).toBe('/console/');
    sign = signBy(first, 'first');
    expect(await comeIn()).toBe(refused);
  });
});

describe('the way to the provider', () => {
  it('is verified, also where Node is told to take every certificate', async () => {
    const secure = await startProvider(true);
    const trusting = await setup({ workers: false, environment: environmentOf(secure) });
    expect(await comeIn(trusting)).toBe('/console/');
    takeEveryCertificate();
    const without = { ...environmentOf(secure), OUTBOUND_CA_FILE: '' };
    const strict = await setup({ workers: false, environment: without });
    asked = [];
    expect(await comeIn(strict)).toBe('/console/sign-in?oidc=unavailable');
    expect(asked).toEqual([]);
  });

  it.each(['token_endpoint', 'jwks_uri'])('leads to no private address by its %s', async (name) => {
    let reached = 0;
    const port = await listen(true, (_request, response) => {
      reached++;
      response.end('{}');
    });
    const closed = { OUTBOUND_ALLOW_CIDRS: '', OUTBOUND_RESOLVE: '' };
    const guarded = await setup({ workers: false, environment: { ...environmentOf(issuer), ...closed } });
    onTestFinished(() => guarded.close());
    elsewhere = { [name]: `https://localhost:${port}/inside` };
    expect(await comeIn(guarded)).toBe('/console/sign-in?oidc=unavailable');
    expect(reached).toBe(0);
    elsewhere = { [name]: `http://127.0.0.1:${port}/inside` };
    const again = await setup({ workers: false, environment: { ...environmentOf(issuer), ...closed } });
    onTestFinished(() => again.close());
    expect(await comeIn(again)).toBe('/console/sign-in?oidc=unavailable');
    expect(reached).toBe(0);
  });
});
