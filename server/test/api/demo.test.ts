import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/teams/apps/create-app.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'manifest-src': "'self'",
  'worker-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};
const files = [
  ...readdirSync(fileURLToPath(new URL('../../demo/', import.meta.url))),
  'carillon.js',
  'carillon-sw.js',
].map((name) => `/demo/${name}`);
const demoPages = ['/demo', ...files];
const pages = ['/base.css'];

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
};
/** The service looks for the app Demo at most once in this time. */
const answerHoldsMs = 1000;
const get = (path: string): Promise<Response> => fetch(t.url + path, { redirect: 'manual' });

describe('404 while there is no app Demo', () => {
  it.each(demoPages)('%s', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: 'not_found' });
  });

  it('an app with a similar name does not count', async () => {
    for (const name of ['demo', 'DEMO', 'Demo ', 'Demo shop']) {
      await createApp(t, { name, plan: 'free' });
    }
    expect((await get('/demo')).status).toBe(404);
  });
});

describe('with an app Demo', () => {
  beforeAll(async () => {
    await t.newApp({ name: 'Demo' });
    t.clock.advance(answerHoldsMs);
  });

  it.each([...demoPages, ...pages])('%s is served, under a policy that allows nothing foreign', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    const extension = path === '/demo' ? 'html' : path.slice(path.lastIndexOf('.') + 1);
    expect(response.headers.get('content-type')).toBe(types[extension]);
    expect((await response.arrayBuffer()).byteLength).toBe(Number(response.headers.get('content-length')));
    const given = response.headers.get('content-security-policy') ?? '';
    const directives = given.split('; ').map((directive) => {
      const [name = '', ...values] = directive.split(' ');
      return [name, values.join(' ')] as const;
    });
    expect(Object.fromEntries(directives)).toEqual(policy);
    expect(given).not.toMatch(/unsafe|\*|https?:/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('R-54 /demo contains no script, style or address that the policy would refuse', async () => {
    const html = await (await get('/demo')).text();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/i);
    expect(html).not.toMatch(/<style|\sstyle=|\son[a-z]+=|=\s*["']?javascript:/i);
    const loaded = [...html.matchAll(/<(?:script|link|img|source)\b[^>]*?\s(?:src|href)="([^"]*)"/g)];
    for (const [, address] of loaded) expect(address).toMatch(/^(\/(?!\/)|data:image\/)/);
  });

  it('R-54 a service that is reached by plain http does not forbid it', async () => {
    const plain = await setup({ workers: false, environment: { PUBLIC_URL: 'http://localhost:8080' } });
    const response = await fetch(`${plain.url}/base.css`);
    expect(response.status).toBe(200);
    expect(response.headers.get('strict-transport-security')).toBeNull();
  });

  it('R-54 every file that /demo references exists', async () => {
    const html = await (await get('/demo')).text();
    const named = [...html.matchAll(/(?:src|href)="(\/demo\/[^"]+)"/g)].map(([, address]) => address ?? '');
    expect(named.length).toBeGreaterThan(3);
    for (const address of named) expect((await get(address)).status).toBe(200);
  });

  it('the service worker may govern /demo, and nothing above it', async () => {
    expect((await get('/demo/carillon-sw.js')).headers.get('service-worker-allowed')).toBe('/demo');
    for (const path of demoPages.filter((page) => !page.endsWith('-sw.js'))) {
      expect((await get(path)).headers.get('service-worker-allowed')).toBeNull();
    }
  });

  it('accepts any query, because links may carry anything', async () => {
    for (const query of ['?utm_source=x&utm_source=y', '?', '?%ff=%zz']) {
      expect((await get(`/demo${query}`)).status).toBe(200);
    }
  });

  it.each([
    '/demo/nothing.js',
    '/demo/..%2Fpackage.json',
    '/demo/..%2f..%2fpackage.json',
    '/demo/%2Fetc%2Fpasswd',
    '/demo/../../package.json',
    '/demo/constructor',
    '/demo/__proto__',
    '/demo/index.html%00.js',
    '/demo/carillon.js.map',
    '/demo/index.js',
  ])('serves its own files and no other: %s is 404', async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  it('exists as long as the app does: also while suspended, and not after its deletion', async () => {
    const [app] = await t.sql`SELECT id FROM apps WHERE name = 'Demo'`;
    const id = String(app?.['id']);
    await updateAppSuspension(t.sql, t.clock, id, true);
    expect((await get('/demo')).status).toBe(200);
    await t.sql`UPDATE apps SET name = 'Shop' WHERE id = ${id}`;
    // The answer holds until the next look: at most one request a second costs a statement.
    expect((await get('/demo')).status).toBe(200);
    t.clock.advance(answerHoldsMs);
    expect((await get('/demo')).status).toBe(404);
    for (const page of pages) expect((await get(page)).status).toBe(200);
  });
});
